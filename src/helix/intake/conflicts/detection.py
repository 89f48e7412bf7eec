"""Which statements of the documents cannot stand side by side, and which of the two wins (I-5).

A technology choice or a duplicate is resolvable: the higher tier wins. A contradiction is physics
where neither side has the higher tier, and resolvable by authority otherwise. Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from enum import StrEnum
from itertools import chain, islice, product
from typing import TYPE_CHECKING

from ddx.base import listed, value
from helix.intake.conflicts.comparison import (
    ENDS,
    DisagreementKind,
    are_apart,
    compete,
    disagreement,
    gravity,
    identity,
    place,
)
from helix.intake.conflicts.parser import claims_of
from helix.intake.conflicts.vocabulary import ONE_FOR_EACH, as_said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from helix.intake.conflicts.comparison import Disagreement
    from helix.intake.conflicts.parser import Assertion

REQUEST = "request"
"""The section, and the document, of a person's request."""
BELOW = ": "
"""Between the section of a statement and the heading below it that it stands under."""
MOST_CONFLICTS = 1_000
"""Nobody reads more; the gravest come first."""
MOST_PAIRS = 100_000
"""That are compared; statements that share more than this are one text with many names."""
_MOST_LOOKS = 1_000_000
"""Pairs of each family that are looked at."""

_NUMBERED = re.compile(r"\b([A-Za-z]{3,}) (\d+(?:\.\d+)*|[A-Z])\b")
_RULE = re.compile(r"\b(?:must|shall|should|may|can|will|is|are|has|have)\b", re.IGNORECASE)


class ConflictKind(StrEnum):
    """The three classes of conflict."""

    RESOLVABLE = "resolvable"
    PHYSICS = "physics"
    GAP = "gap"
    """A missing document: the graph finds those, no comparison of statements does."""


@value
class Statement:
    """One sentence that a document says has to hold, and where it stands."""

    document: str
    tier: int | None
    path: str
    line: int
    text: str
    section: str = ""

    @property
    def rank(self) -> tuple[bool, int]:
        """Who has no tier has no authority over anybody who has one (G-4)."""
        return (self.tier is None, self.tier or 0)


@value
class Conflict:
    """Two statements that clash; `one` is never the one with less authority."""

    clash: ConflictKind
    reason: str
    one: Statement
    other: Statement
    nature: DisagreementKind
    winner: str = ""
    """A document's id, or nothing where authority does not settle it."""


def classify(one: Statement, other: Statement) -> Conflict | None:
    """How two statements clash, whichever comes first; None where both can hold."""
    if _order(other) < _order(one):
        one, other = other, one
    return _compared(one, other, _claims(one), _claims(other)) if one != other else None


def find_conflicts(statements: Sequence[Statement]) -> tuple[Conflict, ...]:
    """All conflicts among them, at most MOST_CONFLICTS: physics first, then by authority."""
    ordered = sorted(dict.fromkeys(statements), key=_order)
    claims = [_claims(each) for each in ordered]
    found = [
        conflict
        for n, m in _pairs(claims)
        if (conflict := _compared(ordered[n], ordered[m], claims[n], claims[m])) is not None
    ]
    found.sort(
        key=lambda each: (
            each.clash is ConflictKind.RESOLVABLE,
            _order(each.one),
            _order(each.other),
        )
    )
    return tuple(found[:MOST_CONFLICTS])


def statement_of_request(text: str) -> Statement:
    """A person's request as a statement: it has no tier, so documents stand above it.

    What it says to replace ("use postgres instead of sqlite") is what it is about: documents that
    still say so are to be changed and do not clash with it.
    """
    return Statement(
        document=REQUEST, tier=None, path="", line=0, text=" ".join(text.split()), section=REQUEST
    )


def _are_told_apart(one: Statement, other: Statement) -> bool:
    """A first step and a second one are two things, however alike their sentences are."""
    ours, theirs = (dict(_NUMBERED.findall(_before_rule(it.text))) for it in (one, other))
    return any(ours[noun] != theirs[noun] for noun in ours.keys() & theirs.keys())


def _before_rule(text: str) -> str:
    """What a sentence is about, as far as its words tell; nothing where no rule follows."""
    rule = _RULE.search(text)
    return text[: rule.start()] if rule else ""


def _claims(statement: Statement) -> tuple[Assertion, ...]:
    return claims_of(statement.text, statement.section.partition(BELOW)[2])


def _compared(
    one: Statement, other: Statement, claims: tuple[Assertion, ...], others: tuple[Assertion, ...]
) -> Conflict | None:
    """`one` comes first in the order of authority."""
    if _is_the_change(one, other, claims, others) or _are_told_apart(one, other):
        return None
    found = (disagreement(left, right) for left in claims for right in others)
    counted = [
        clash
        for clash in found
        if clash
        and (
            clash.nature is not DisagreementKind.DUPLICATE
            or _is_repeated(one, other, claims, others)
        )
    ]
    return _settled(min(counted, key=gravity), one, other) if counted else None


def _is_repeated(
    one: Statement, other: Statement, claims: tuple[Assertion, ...], others: tuple[Assertion, ...]
) -> bool:
    """All of it stands in another document; a request may say what documents say."""
    are_apart = one.document != other.document and other.section != REQUEST
    return are_apart and set(map(identity, claims)) == set(map(identity, others))


def _is_the_change(
    one: Statement, other: Statement, claims: tuple[Assertion, ...], others: tuple[Assertion, ...]
) -> bool:
    """What the document chose is just what the request says to replace."""
    if REQUEST not in (one.section, other.section):
        return False
    asked, said = (claims, others) if one.section == REQUEST else (others, claims)
    dropped = {name for claim in asked if claim.is_dropped or claim.is_ban for name in claim.names}
    chosen = {name for claim in said if not claim.is_ban for name in claim.names}
    return bool(dropped & chosen)


def _settled(clash: Disagreement, one: Statement, other: Statement) -> Conflict:
    winner = one.document if one.rank < other.rank or one.document == other.document else ""
    is_certain = clash.is_hard and (not clash.is_vague or one.document == other.document)
    is_contradiction = clash.nature is DisagreementKind.CONTRADICTION and is_certain
    is_physics = is_contradiction and one.rank == other.rank
    kind = ConflictKind.PHYSICS if is_physics else ConflictKind.RESOLVABLE
    # In the words of the lesser side: of a request they are the same, whoever is against it.
    about = listed(as_said(clash.about, f"{other.text} {other.section} {one.text} {one.section}"))
    reason = ": ".join(filter(None, (clash.nature, clash.reason, about)))
    winner = "" if is_physics else winner
    return Conflict(kind, reason, one, other=other, nature=clash.nature, winner=winner)


def _order(statement: Statement) -> tuple[tuple[bool, int], str, str, int, str, str]:
    return (
        statement.rank,
        statement.document,
        statement.path,
        statement.line,
        statement.text,
        statement.section,
    )


# -- which statements are worth comparing --------------------------------------------------
#
# Those that share a term on which they could clash: comparing each with each would take minutes
# where a project has thousands of statements.


@value
class _Entry:
    """What could clash in a statement, and the words that say where."""

    n: int
    words: frozenset[str]
    thing: Any
    is_general: bool = False
    """Without words of its own it speaks of all that others name."""


def _pairs(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    """Numbers of statements, each pair once and the smaller number first; the gravest first."""
    families = (_bans(statements), _numbers(statements), _opposites(statements))
    seen: set[tuple[int, int]] = set()
    for n, m in chain(*families, _choices(statements), _duplicates(statements)):
        pair = (n, m) if n < m else (m, n)
        if n != m and pair not in seen:
            seen.add(pair)
            yield pair
        if len(seen) >= MOST_PAIRS:
            return


def _bans(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    """A ban and a wish that holds its rarest word, or a general wish and a ban with its own."""
    places: dict[bool, defaultdict[str, list[int]]] = {
        is_ban: defaultdict(list) for is_ban in (True, False)
    }
    count: Counter[str] = Counter()
    for n, claim in _all(statements):
        count.update(claim.words)
        for word in claim.words:
            places[claim.is_ban][word].append(n)

    def found() -> Iterator[tuple[int, int]]:
        for n, claim in _all(statements):
            words = (claim.words - claim.slots - claim.only - ENDS) or claim.words
            against = claim.is_waived or bool(claim.only)
            if words and (claim.is_ban or claim.is_universal or claim.is_need or against):
                rarest = min(words, key=lambda word: (count[word], word))
                yield from ((n, m) for m in places[claim.is_ban == against][rarest])

    return islice(found(), _MOST_LOOKS)


def _numbers(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    by_dimension: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for measure in claim.measures:
            quantity = measure.quantity
            entry = _Entry(n, measure.about, measure, is_general=quantity.is_count)
            by_dimension[quantity.dimension].append(entry)
    return _meeting(by_dimension.values(), lambda one, other: are_apart(one.thing, other.thing))


def _opposites(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    by_axis: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for side in claim.sides:
            is_general = side.axis.is_of_the_whole or claim.is_only
            by_axis[side.axis.name].append(
                _Entry(n, claim.about, side.is_one, is_general=is_general)
            )
    return _meeting(by_axis.values(), lambda one, other: one.thing != other.thing)


def _choices(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    by_kind: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for choice in () if claim.is_ban else claim.choices:
            entry = _Entry(n, place(claim, choice), choice, is_general=True)
            by_kind[choice.kind].append(entry)
            if choice.kind in ONE_FOR_EACH and claim.subject:
                by_kind[f"{choice.kind} of one"].append(_Entry(n, claim.subject, choice))
    return _meeting(by_kind.values(), lambda one, other: compete(one.thing, other.thing))


def _duplicates(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, int]]:
    """Each against the first: of a sentence that stands in a hundred documents one is enough."""
    first: dict[object, int] = {}
    for n, claim in _all(statements):
        m = first.setdefault(identity(claim), n)
        if m != n:
            yield m, n


def _meeting(
    families: Iterable[list[_Entry]], clash: Callable[[_Entry, _Entry], bool]
) -> Iterator[tuple[int, int]]:
    """Each with those that name all it names, and the general ones with all others."""

    def found() -> Iterator[tuple[_Entry, _Entry]]:
        for entries in families:
            by_word: defaultdict[str, list[_Entry]] = defaultdict(list)
            for entry in entries:
                for word in entry.words:
                    by_word[word].append(entry)
            bare = [entry for entry in entries if not entry.words]
            for entry in entries:
                if entry.words:
                    rarest = min(entry.words, key=lambda word: (len(by_word[word]), word))
                    yield from product((entry,), by_word[rarest])
                else:
                    yield from product((entry,), entries if entry.is_general else bare)

    return (
        (one.n, other.n)
        for one, other in islice(found(), _MOST_LOOKS)
        if one.words <= other.words and clash(one, other)
    )


def _all(statements: Sequence[tuple[Assertion, ...]]) -> Iterator[tuple[int, Assertion]]:
    return ((n, claim) for n, claims in enumerate(statements) for claim in claims)
