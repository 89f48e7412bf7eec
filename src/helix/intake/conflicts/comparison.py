"""Can two claims hold at once, and if not, why (I-5)? Who wins is no question here. Pure."""

from __future__ import annotations

from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

from ddx.base import listed, value
from helix.intake.conflicts.parser import Strength
from helix.intake.conflicts.quantities import TIME
from helix.intake.conflicts.vocabulary import NOT_EXCLUSIVE, ONE_FOR_EACH, go_together, idle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix.intake.conflicts.parser import Assertion, QuantityAssertion, TechnologyChoice
    from helix.intake.conflicts.vocabulary import Axis

_LONGER = 2
"""How many times as many words as a ban a wish may have that it is held against."""
_A_LITTLE = 1.1
"""What two limits may differ by: a month has 28 to 31 days."""
ENDS = frozenset({"delet", "expir"})
_LASTS = frozenset({"keep"})
"""Stems of how something comes to its end, and of how long it stays."""
_FEWEST_WORDS = 3
"""A statement of fewer is too short to be called a duplicate."""


class DisagreementKind(StrEnum):
    """What kind of disagreement it is, the gravest first."""

    CONTRADICTION = "contradiction"
    CHOICE = "technology choice"
    DUPLICATE = "duplicate specification"


@value
class Disagreement:
    """Why two claims do not stand side by side."""

    nature: DisagreementKind
    reason: str
    is_hard: bool = False
    """Both insist: no reading satisfies them both."""
    is_vague: bool = False
    """What one of them is about stands somewhere else: in its own document."""
    about: frozenset[str] = frozenset()
    """Stems of what both speak of."""


def disagreement(one: Assertion, other: Assertion) -> Disagreement | None:
    """The gravest one between two claims; the order of the two does not matter."""
    rules = (_contradictions, _choices, _duplicates)
    return min((found for rule in rules for found in rule(one, other)), key=gravity, default=None)


def gravity(found: Disagreement) -> tuple[int, bool, str, list[str]]:
    """What to report of several: small is grave."""
    rank = list(DisagreementKind).index(found.nature)
    return rank, not found.is_hard, found.reason, sorted(found.about)


# -- contradictions ------------------------------------------------------------------------


def _contradictions(one: Assertion, other: Assertion) -> Iterator[Disagreement]:
    is_hard = one.force is other.force is Strength.MUST
    is_vague = one.is_vague or other.is_vague
    for about in _bans(one, other):
        if not is_vague or _is_of_whatever(one, other):
            is_rule = is_hard and (one.is_said or other.is_said)
            reason = "one wants what the other forbids"
            yield Disagreement(
                DisagreementKind.CONTRADICTION, reason, is_rule, is_vague=is_vague, about=about
            )
    if is_vague:
        return
    for about in _numbers(one, other):
        reason = "numbers that do not meet"
        yield Disagreement(DisagreementKind.CONTRADICTION, reason, is_hard, about=about)
    for axis in _opposites(one, other):
        yield Disagreement(DisagreementKind.CONTRADICTION, axis.name, is_hard or axis.is_of_force)
    for about in (*_endless(one, other), *_endless(other, one)):
        reason = "one ends what the other keeps for ever"
        yield Disagreement(DisagreementKind.CONTRADICTION, reason, is_hard, about=about)
    for about in (*_outsiders(one, other), *_outsiders(other, one)):
        reason = "one allows what the other reserves"
        yield Disagreement(DisagreementKind.CONTRADICTION, reason, about=about)
    if _is_waived(one, other) or _is_waived(other, one):
        reason = "one needs what the other does not"
        yield Disagreement(
            DisagreementKind.CONTRADICTION, reason, is_hard=True, about=one.words & other.words
        )


def _is_of_whatever(one: Assertion, other: Assertion) -> bool:
    """ "It must use X" is about whatever the document is about: so is a rule without a subject."""
    return all(claim.is_use and (claim.is_vague or len(claim.words) == 1) for claim in (one, other))


def _outsiders(one: Assertion, other: Assertion) -> Iterator[frozenset[str]]:
    """What one reserves for somebody the other lets somebody else do, whom one word names."""
    reserved = one.words - one.only
    if not one.only or other.only or other.is_ban or len(reserved) == 1:
        return
    who = other.words - reserved
    if reserved <= other.words and len(who) == 1 and who.isdisjoint(one.only):
        yield reserved


def _is_waived(one: Assertion, other: Assertion) -> bool:
    """What one says is not needed the other says must be."""
    if not one.is_waived or other.is_waived or one.is_ban or other.is_ban:
        return False
    insists = other.force is Strength.MUST and other.is_said
    return insists and len(one.words) > 1 and _is_nearly_all(one.words, other.words)


def _numbers(one: Assertion, other: Assertion) -> Iterator[frozenset[str]]:
    """Ranges of the same thing that do not meet."""
    for left in one.measures:
        for right in other.measures:
            if _is_same_measure(left, right) and are_apart(left, right):
                yield left.about & right.about or frozenset({left.quantity.dimension})


def _endless(one: Assertion, other: Assertion) -> Iterator[frozenset[str]]:
    """What never ends by one ends after a while by the other."""
    what = one.words - ENDS
    if not one.is_ban or other.is_ban or one.measures or what == one.words or not what:
        return
    ends = any(it.quantity.dimension == TIME and it.quantity.high < inf for it in other.measures)
    is_of_it = what <= other.words and other.core <= what | ENDS | _LASTS
    if ends and is_of_it and not other.words.isdisjoint(ENDS | _LASTS):
        yield what


def are_apart(left: QuantityAssertion, right: QuantityAssertion) -> bool:
    """No number is both; or one allows more than the other's limit."""
    if not left.quantity.meets(right.quantity):
        return True
    if left.is_allowed == right.is_allowed:
        return False
    allowed, limit = (left, right) if left.is_allowed else (right, left)
    return limit.quantity.is_firm and inf > allowed.quantity.high > limit.quantity.high * _A_LITTLE


def _is_same_measure(left: QuantityAssertion, right: QuantityAssertion) -> bool:
    """Of a count ("at most 500 users") the unit says what it is about; of 50 ms it does not."""
    if left.quantity.dimension != right.quantity.dimension:
        return False
    if not left.about or not right.about:
        are_firm = left.quantity.is_firm and right.quantity.is_firm
        return are_firm and (left.about == right.about or left.quantity.is_count)
    return is_one_subject(left.about, right.about)


def _opposites(one: Assertion, other: Assertion) -> Iterator[Axis]:
    if one.is_offer and other.is_offer and not (one.is_only or other.is_only):
        return
    for left in one.sides:
        for right in other.sides:
            if left.axis is not right.axis or left.is_one == right.is_one:
                continue
            if _has_one_bearer(one, other, is_of_the_whole=left.axis.is_of_the_whole):
                yield left.axis


def _has_one_bearer(one: Assertion, other: Assertion, *, is_of_the_whole: bool) -> bool:
    """Do both speak of the same thing, or one of them of everything?"""
    if one.about and other.about:
        return is_one_subject(one.about, other.about)
    general = [claim for claim in (one, other) if not claim.about]
    return is_of_the_whole or len(general) == 2 or any(claim.is_only for claim in general)


def _bans(one: Assertion, other: Assertion) -> Iterator[frozenset[str]]:
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


def _is_covered(ban: Assertion, wish: Assertion) -> bool:
    """A few words of a long sentence are a coincidence, unless one of them is a technology."""
    if _is_the_other_way_round(ban, wish):
        return False
    if ban.names:
        return bool(ban.names & wish.names) and ban.words - ban.slots <= wish.words - wish.slots
    if len(ban.words) == 1:
        is_same_verb = wish.is_use or (wish.is_offer and ban.is_offer)
        return ban.words <= wish.words and len(wish.words) <= _LONGER and is_same_verb
    if ban.words <= wish.words:
        is_of_it = wish.core <= ban.words or ban.core <= wish.core
        return is_of_it and _is_nearly_all(ban.words, wish.words)
    if len(wish.words) == 1 or not wish.words <= ban.words:
        return False
    return (wish.is_universal and ban.banned <= wish.words) or (wish.is_need and ban.is_without)


def _is_the_other_way_round(ban: Assertion, wish: Assertion) -> bool:
    """Who must not call whom is no rule for who may call back."""
    are_active = bool(ban.first and wish.first) and ban.first != wish.first
    return are_active and ban.first in wish.words and wish.first in ban.words


def _is_nearly_all(few: frozenset[str], many: frozenset[str]) -> bool:
    return few <= many and 0 < len(many) <= _LONGER * len(few)


# -- choices and duplicates ----------------------------------------------------------------


def _choices(one: Assertion, other: Assertion) -> Iterator[Disagreement]:
    """Both want a technology of one kind in the same place, and not the same one."""
    if one.is_ban or other.is_ban:
        return
    for left in one.choices:
        for right in other.choices:
            if left.kind != right.kind or not compete(left, right):
                continue
            has_room = one.is_offer or other.is_offer or left.kind in NOT_EXCLUSIVE
            if left.names == right.names and left.at_least != right.at_least:
                has_room = False  # who needs a later version has no room for an earlier one
            if has_room and not (one.is_only or other.is_only):
                continue
            if _is_one_place(one, left, other, right):
                against = sorted((_said(left), _said(right)))
                yield Disagreement(
                    DisagreementKind.CHOICE, f"{left.kind}: {against[0]} against {against[1]}"
                )


def _is_one_place(
    one: Assertion, left: TechnologyChoice, other: Assertion, right: TechnologyChoice
) -> bool:
    here, there = place(one, left), place(other, right)
    if not here or not there or is_one_subject(here, there):
        return True
    has_one = left.kind in ONE_FOR_EACH and one.subject and other.subject
    return bool(has_one) and is_one_subject(one.subject, other.subject)


def compete(left: TechnologyChoice, right: TechnologyChoice) -> bool:
    if left.names & right.names:
        return left.names == right.names and not _versions_meet(left, right)
    return not go_together(left.names | right.names)


def _versions_meet(left: TechnologyChoice, right: TechnologyChoice) -> bool:
    """3 means any 3.x; without a version, any."""
    if not left.version or not right.version:
        return True
    ends = [(inf,) if choice.at_least else (*choice.version, inf) for choice in (left, right)]
    return left.version <= ends[1] and right.version <= ends[0]


def _said(choice: TechnologyChoice) -> str:
    version = ".".join(f"{part:g}" for part in choice.version)
    return " ".join(filter(None, (listed(sorted(choice.names), joiner="or"), version)))


def place(claim: Assertion, choice: TechnologyChoice) -> frozenset[str]:
    """Where the technology applies: what is left without its name, its kind and idle words."""
    return claim.words - choice.names - claim.slots - idle()


def _duplicates(one: Assertion, other: Assertion) -> Iterator[Disagreement]:
    if len(one.words) < _FEWEST_WORDS or one.words != other.words:
        return
    if identity(one) == identity(other):
        yield Disagreement(DisagreementKind.DUPLICATE, "both say the same")


def identity(claim: Assertion) -> tuple[object, ...]:
    """Two claims with the same one say the same, however they are worded."""
    ranges = frozenset(measure.quantity.bare for measure in claim.measures)
    kinds = (claim.is_ban, claim.negations, claim.force, claim.is_only, claim.is_dropped)
    return claim.words, *kinds, ranges, claim.choices, claim.sides, claim.exceptions


def is_one_subject(left: frozenset[str], right: frozenset[str]) -> bool:
    """One names no more than the other: where both name something of their own, they differ."""
    return left <= right or right <= left
