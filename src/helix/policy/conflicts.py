"""Which statements of the documents cannot stand side by side, and which of the two wins (I-5).

A technology choice or a duplicate is resolvable: the higher tier wins. A contradiction is physics
where neither side has the higher tier, and resolvable by authority otherwise. Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.graph.authority import LAST
from ddx.text import listed
from ddx.values import value
from helix.policy.candidates import pairs
from helix.policy.disagreement import Nature, disagreement, gravity, identity
from helix.policy.wording import claims_of
from helix.policy.words import as_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.policy.claims import Claim
    from helix.policy.disagreement import Disagreement

REQUEST = "request"
"""The section, and the document, of a person's request."""
BELOW = ": "
"""Between the section of a statement and the heading below it that it stands under."""
MOST_CONFLICTS = 1_000
"""Nobody reads more; the gravest come first."""

_NUMBERED = re.compile(r"\b([A-Za-z]{3,}) (\d+(?:\.\d+)*|[A-Z])\b")
_RULE = re.compile(r"\b(?:must|shall|should|may|can|will|is|are|has|have)\b", re.IGNORECASE)


class Clash(StrEnum):
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
    def rank(self) -> int:
        """Who has no tier has no authority over anybody who has one (G-4)."""
        return LAST if self.tier is None else self.tier


@value
class Conflict:
    """Two statements that clash; `one` is never the one with less authority."""

    clash: Clash
    reason: str
    one: Statement
    other: Statement
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
        for n, m in pairs(claims)
        if (conflict := _compared(ordered[n], ordered[m], claims[n], claims[m])) is not None
    ]
    found.sort(
        key=lambda each: (each.clash is Clash.RESOLVABLE, _order(each.one), _order(each.other))
    )
    return tuple(found[:MOST_CONFLICTS])


def statement_of_request(text: str) -> Statement:
    """A person's request as a statement: it has no tier, so documents stand above it.

    What it says to replace ("use postgres instead of sqlite") is what it is about: documents that
    still say so are to be changed and do not clash with it.
    """
    return Statement(REQUEST, None, "", 0, " ".join(text.split()), REQUEST)


def _are_told_apart(one: Statement, other: Statement) -> bool:
    """A first step and a second one are two things, however alike their sentences are."""
    ours, theirs = (dict(_NUMBERED.findall(_before_rule(it.text))) for it in (one, other))
    return any(ours[noun] != theirs[noun] for noun in ours.keys() & theirs.keys())


def _before_rule(text: str) -> str:
    """What a sentence is about, as far as its words tell; nothing where no rule follows."""
    rule = _RULE.search(text)
    return text[: rule.start()] if rule else ""


def _claims(statement: Statement) -> tuple[Claim, ...]:
    return claims_of(statement.text, statement.section.partition(BELOW)[2])


def _compared(
    one: Statement, other: Statement, claims: tuple[Claim, ...], others: tuple[Claim, ...]
) -> Conflict | None:
    """`one` comes first in the order of authority."""
    if _is_the_change(one, other, claims, others) or _are_told_apart(one, other):
        return None
    found = (disagreement(left, right) for left in claims for right in others)
    counted = [
        clash
        for clash in found
        if clash
        and (clash.nature is not Nature.DUPLICATE or _is_repeated(one, other, claims, others))
    ]
    return _settled(min(counted, key=gravity), one, other) if counted else None


def _is_repeated(
    one: Statement, other: Statement, claims: tuple[Claim, ...], others: tuple[Claim, ...]
) -> bool:
    """All of it stands in another document; a request may say what documents say."""
    are_apart = one.document != other.document and other.section != REQUEST
    return are_apart and set(map(identity, claims)) == set(map(identity, others))


def _is_the_change(
    one: Statement, other: Statement, claims: tuple[Claim, ...], others: tuple[Claim, ...]
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
    is_contradiction = clash.nature is Nature.CONTRADICTION and is_certain
    is_physics = is_contradiction and one.rank == other.rank
    kind = Clash.PHYSICS if is_physics else Clash.RESOLVABLE
    # In the words of the lesser side: of a request they are the same, whoever is against it.
    about = listed(as_said(clash.about, f"{other.text} {other.section} {one.text} {one.section}"))
    reason = ": ".join(filter(None, (clash.nature, clash.reason, about)))
    return Conflict(kind, reason, one, other, "" if is_physics else winner)


def _order(statement: Statement) -> tuple[int, str, str, int, str, str]:
    return (
        statement.rank,
        statement.document,
        statement.path,
        statement.line,
        statement.text,
        statement.section,
    )
