"""Beads for what is open: conflicts, gaps and questions; they wait for a person. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from helix.policy.conflicts import REQUEST as BY_REQUEST
from helix.policy.conflicts import Clash
from helix.policy.drafts import Draft, clean_title
from helix.policy.parts import ESCALATION, GAP, Part, asked, labels, paragraphs
from helix.policy.questions import conflict_key, said, typed_yes

if TYPE_CHECKING:
    from helix.policy.conflicts import Conflict
    from helix.policy.impact import Missing
    from helix.policy.questions import Question
    from helix.policy.request import Wish

CONFLICT_REQUEST = "conflict-request"
"""On a bead: the request that a document stands against, in its own words."""
_WAITS = "a person settles it"
_BY_HAND = "then close this bead"


def conflict_part(conflict: Conflict, wish: Wish, *, area: str) -> Part:
    """Always filed, whoever wins: nobody shall have to wonder later (I-5)."""
    is_physics = conflict.clash is Clash.PHYSICS
    one, other = conflict.one, conflict.other
    documents = [it.document for it in (one, other) if it.section != BY_REQUEST]
    asked_for = [it.text for it in (one, other) if it.section == BY_REQUEST]
    settled = f"{conflict.winner} has more authority: work goes on by it."
    unsettled = "Neither has more authority: nothing that follows from either is built until then."
    own = (f"conflict:{conflict.clash}",)
    draft = Draft(
        conflict_key(conflict),
        clean_title(f"Conflict: {one.document} and {other.document}: {conflict.reason}"),
        paragraphs(
            f"{said(one)}.",
            f"{said(other)}.",
            unsettled if is_physics else settled if conflict.winner else "",
            f"Met by a request: {wish.text}",
            "To settle it, change one of the two and commit it: the next look closes this bead.",
            ""
            if is_physics
            else f"Or let {conflict.winner or one.document} have the last word: "
            f"{typed_yes(wish, conflict_key(conflict))}",
        ),
        labels=(*labels("frame", ESCALATION, area), *own),
        priority=1 if is_physics else 2,
        spec_id="".join(documents[:1]),
        refs=tuple(dict.fromkeys(documents[1:])),
        marks={CONFLICT_REQUEST: asked_for[0]} if asked_for else {},
        held=_WAITS,
    )
    return Part(draft.key, ESCALATION, draft, tuple(documents), name="a conflict")


def gap_part(missing: Missing, wish: Wish, *, area: str) -> Part:
    where = f"{missing.path}:{missing.line}: " if missing.path else ""
    draft = Draft(
        gap_key(missing.path, missing.what),
        clean_title(f"Gap: {missing.what}"),
        paragraphs(
            f"{where}{missing.what}.",
            f"Met by a request: {wish.text}",
            "Write the document, or take the name away; "
            + ("once it is committed, the next look closes this bead" if where else _BY_HAND)
            + ". Until then others go on as if it said nothing.",
        ),
        labels=labels("frame", GAP, area),
        paths=(missing.path,) if missing.path else (),
        held=_WAITS,
    )
    return Part(draft.key, GAP, draft, name="a gap")


def gap_key(path: str, what: str) -> str:
    """The same wherever in the document the name stands."""
    return f"{GAP}:{hashlib.sha256(f'{path} {what}'.encode()).hexdigest()[:12]}"


def question_part(question: Question, wish: Wish, *, area: str) -> Part:
    draft = Draft(
        f"question:{question.key}",
        clean_title(question.what),
        paragraphs(
            asked(wish),
            f"Why it is asked: {question.why}.",
            f"Yes: {question.yes}.",
            f"No: {question.no}.",
            f"To answer, give the same request again with the answer: "
            f"{typed_yes(wish, question.key)}",
        ),
        labels=labels("frame", ESCALATION, area),
        held=_WAITS,
    )
    return Part(draft.key, ESCALATION, draft, name="a question")
