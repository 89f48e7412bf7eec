"""Can two claims hold at once, and if not, why (I-5)? Who wins is no question here. Pure."""

from __future__ import annotations

from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

from ddx.text import listed
from ddx.values import value
from helix.policy.technologies import NOT_EXCLUSIVE
from helix.policy.wording import Force
from helix.policy.words import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix.policy.opposites import Axis
    from helix.policy.wording import Choice, Claim, Measure

_LONGER = 2
"""How many times as many words as a ban a wish may have that it is held against."""
_FEWEST_WORDS = 3
"""A statement of fewer is too short to be called a duplicate."""


class Nature(StrEnum):
    """What kind of disagreement it is, the gravest first."""

    CONTRADICTION = "contradiction"
    CHOICE = "technology choice"
    DUPLICATE = "duplicate specification"


@value
class Disagreement:
    """Why two claims do not stand side by side."""

    nature: Nature
    reason: str
    is_hard: bool = False
    """Both insist: no reading satisfies them both."""
    about: frozenset[str] = frozenset()
    """Stems of what both speak of."""


def disagreement(one: Claim, other: Claim) -> Disagreement | None:
    """The gravest one between two claims; the order of the two does not matter."""
    rules = (_contradictions, _choices, _duplicates)
    return min((found for rule in rules for found in rule(one, other)), key=gravity, default=None)


def gravity(found: Disagreement) -> tuple[int, bool, str, list[str]]:
    """What to report of several: small is grave."""
    rank = list(Nature).index(found.nature)
    return rank, not found.is_hard, found.reason, sorted(found.about)


# -- contradictions ------------------------------------------------------------------------


def _contradictions(one: Claim, other: Claim) -> Iterator[Disagreement]:
    if one.is_vague or other.is_vague:
        return
    is_hard = one.force is other.force is Force.MUST
    for about in _numbers(one, other):
        yield Disagreement(Nature.CONTRADICTION, "numbers that do not meet", is_hard, about)
    for about in _bans(one, other):
        is_rule = is_hard and (one.is_said or other.is_said)
        yield Disagreement(Nature.CONTRADICTION, "one wants what the other forbids", is_rule, about)
    for axis in _opposites(one, other):
        yield Disagreement(Nature.CONTRADICTION, axis.name, is_hard or axis.is_of_force)


def _numbers(one: Claim, other: Claim) -> Iterator[frozenset[str]]:
    """Ranges of the same thing that do not meet."""
    for left in one.measures:
        for right in other.measures:
            if _is_same_measure(left, right) and not left.quantity.meets(right.quantity):
                yield left.about & right.about or frozenset({left.quantity.dimension})


def _is_same_measure(left: Measure, right: Measure) -> bool:
    """Of a count ("at most 500 users") the unit says what it is about; of 50 ms it does not."""
    if left.quantity.dimension != right.quantity.dimension:
        return False
    if not left.about or not right.about:
        are_firm = left.quantity.is_firm and right.quantity.is_firm
        return are_firm and (left.about == right.about or left.quantity.is_count)
    return is_one_subject(left.about, right.about)


def _opposites(one: Claim, other: Claim) -> Iterator[Axis]:
    if one.is_offer and other.is_offer and not (one.is_only or other.is_only):
        return
    for left in one.sides:
        for right in other.sides:
            if left.axis is not right.axis or left.is_one == right.is_one:
                continue
            if _has_one_bearer(one, other, is_of_the_whole=left.axis.is_of_the_whole):
                yield left.axis


def _has_one_bearer(one: Claim, other: Claim, *, is_of_the_whole: bool) -> bool:
    """Do both speak of the same thing, or one of them of everything?"""
    if one.about and other.about:
        return is_one_subject(one.about, other.about)
    general = [claim for claim in (one, other) if not claim.about]
    return is_of_the_whole or len(general) == 2 or any(claim.is_only for claim in general)


def _bans(one: Claim, other: Claim) -> Iterator[frozenset[str]]:
    """The same is wanted and banned: the ban names no more than the wish does."""
    if one.is_ban == other.is_ban:
        return
    ban, wish = (one, other) if one.is_ban else (other, one)
    if ban.measures or wish.measures or ban.exceptions & wish.words:
        return
    if any(choice.is_open and len(choice.names) > 1 for choice in wish.choices):
        return
    if _is_covered(ban, wish):
        yield ban.words & wish.words


def _is_covered(ban: Claim, wish: Claim) -> bool:
    """A few words of a long sentence are a coincidence, unless one of them is a technology."""
    if ban.names:
        return bool(ban.names & wish.names) and ban.words - ban.slots <= wish.words - wish.slots
    if len(ban.words) == 1:
        return ban.words <= wish.words and len(wish.words) <= _LONGER and wish.is_use
    if ban.words <= wish.words:
        return 0 < len(wish.words) <= _LONGER * len(ban.words)
    return wish.is_universal and wish.words <= ban.words and len(wish.words) > 1


# -- choices and duplicates ----------------------------------------------------------------


def _choices(one: Claim, other: Claim) -> Iterator[Disagreement]:
    """Both want a technology of one kind in the same place, and not the same one."""
    if one.is_ban or other.is_ban:
        return
    for left in one.choices:
        for right in other.choices:
            if left.kind != right.kind or not compete(left, right):
                continue
            has_room = one.is_offer or other.is_offer or left.kind in NOT_EXCLUSIVE
            if has_room and not (one.is_only or other.is_only):
                continue
            here, there = place(one, left), place(other, right)
            if not here or not there or is_one_subject(here, there):
                against = sorted((_said(left), _said(right)))
                yield Disagreement(Nature.CHOICE, f"{left.kind}: {against[0]} against {against[1]}")


def compete(left: Choice, right: Choice) -> bool:
    if left.names & right.names:
        return left.names == right.names and not _versions_meet(left, right)
    return True


def _versions_meet(left: Choice, right: Choice) -> bool:
    """3 means any 3.x; without a version, any."""
    if not left.version or not right.version:
        return True
    ends = [(inf,) if choice.at_least else (*choice.version, inf) for choice in (left, right)]
    return left.version <= ends[1] and right.version <= ends[0]


def _said(choice: Choice) -> str:
    version = ".".join(f"{part:g}" for part in choice.version)
    return " ".join(filter(None, (listed(sorted(choice.names), joiner="or"), version)))


def place(claim: Claim, choice: Choice) -> frozenset[str]:
    """Where the technology applies: what is left without its name, its kind and idle words."""
    return claim.words - choice.names - claim.slots - IDLE


def _duplicates(one: Claim, other: Claim) -> Iterator[Disagreement]:
    if len(one.words) < _FEWEST_WORDS or one.words != other.words:
        return
    if identity(one) == identity(other):
        yield Disagreement(Nature.DUPLICATE, "both say the same")


def identity(claim: Claim) -> tuple[object, ...]:
    """Two claims with the same one say the same, however they are worded."""
    ranges = frozenset(measure.quantity.bare for measure in claim.measures)
    kinds = (claim.is_ban, claim.negations, claim.force, claim.is_only, claim.is_dropped)
    return claim.words, *kinds, ranges, claim.choices, claim.sides, claim.exceptions


def is_one_subject(left: frozenset[str], right: frozenset[str]) -> bool:
    """One names no more than the other: where both name something of their own, they differ."""
    return left <= right or right <= left
