"""What waits for a person: questions about a request, and beads for what is open. Pure.

A question says what, why, what yes means and what no. Conflicts, gaps and questions that nobody
has answered are beads that no agent takes up.
"""

from __future__ import annotations

import hashlib
from shlex import quote
from typing import TYPE_CHECKING

from ddx.base import cut, listed, value
from helix.intake.conflicts.detection import REQUEST as BY_REQUEST
from helix.intake.conflicts.detection import ConflictKind
from helix.intake.parts import ESCALATION, GAP, RequestPart, asked, paragraphs
from helix.intake.request import RequestIntent
from helix.passes import BeadDraft, clean_title

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from helix.intake.conflicts.detection import Conflict, Statement
    from helix.intake.impact import MissingName, TouchedFile
    from helix.intake.parts import IntakeCase
    from helix.intake.request import ParsedRequest

START = "start"
_READS_AS = {
    RequestIntent.NEW_CAPABILITY: "something new",
    RequestIntent.CHANGE: "a change",
    RequestIntent.REPLACE_TECHNOLOGY: "a change of technology",
    RequestIntent.DEFECT: "a defect",
    RequestIntent.QUESTION: "a question",
}
_NO_VERB = "no word of it says whether something is to be added, changed, replaced or mended"
_FOREIGN = "it does not seem to be English, and what it wants is read in English only"
_LONGEST_TEXT = 200
CONFLICT_REQUEST = "conflict-request"
"""On a bead: the request that a document stands against, in its own words."""
_WAITS = "a person settles it"
_BY_HAND = "then close this bead"


@value
class Question:
    """One question of yes and no; what is not answered is never taken for a yes (I-4)."""

    key: str
    what: str
    why: str
    yes: str
    no: str
    default: bool = True

    def as_row(self) -> dict[str, Any]:
        return {("id" if name == "key" else name): said for name, said in self.__dict__.items()}


def typed_yes(wish: ParsedRequest, key: str) -> str:
    """The same request with a question answered; ids of documents may hold anything.

    A long request is not worth copying.
    """
    again = quote(wish.text) if wish.short == wish.text else '"..."'
    return f"helix input {again} --answer {quote(f'{key}=yes')}"


def ask_start(wish: ParsedRequest, parts: Sequence[RequestPart]) -> Question:
    names = listed(part.name for part in parts) or "nothing that an agent could do"
    return Question(
        START,
        f"Shall beads be filed for {wish.short!r}?",
        f"it reads as {_READS_AS[wish.intent]} and leads to {names}",
        yes="each bead is asked about, one by one",
        no="nothing is filed",
    )


def ask_bead(part: RequestPart) -> Question:
    waits = "; what comes after it then waits for what comes before it"
    is_work = part.role not in (ESCALATION, GAP)
    return Question(
        f"bead:{part.key}",
        f"File {part.draft.title!r}?",
        "low autonomy confirms each bead",
        yes="the bead is filed with the others, in one write",
        no=f"it is not filed{waits if is_work else ''}",
    )


def ask_intent(wish: ParsedRequest) -> Question:
    return Question(
        "intent",
        f"Is {wish.short!r} {_READS_AS[wish.intent]}?",
        _FOREIGN if wish.is_foreign else _NO_VERB,
        yes=f"it is taken for {_READS_AS[wish.intent]}",
        no="nothing is filed; say it in English with a verb, such as add, change, replace or fix",
    )


def ask_superseded(old: str, heirs: Sequence[str]) -> Question:
    if not heirs:
        return Question(
            key=f"superseded:{old}",
            what=f"Shall {old} be changed all the same?",
            why=f"{old} is superseded, and nothing says by what",
            yes=f"{old} is changed",
            no="nothing is filed",
            default=False,
        )
    return Question(
        f"superseded:{old}",
        f"Shall {listed(heirs)} be changed in place of {old}?",
        f"{old} is superseded by {listed(heirs)} and has no say any more",
        yes=f"{listed(heirs)} and what follows from it are changed",
        no="nothing is filed",
    )


def ask_hit(it: TouchedFile, followers: Sequence[str]) -> Question:
    more = f" and what follows from it ({listed(followers)})" if followers else ""
    return Question(
        f"hit:{it.id}",
        f"Is {it.id} ({it.title}) to be changed for it?",
        f"no link says so, but search found it: {it.why}",
        yes=f"a bead is filed for {it.id}{more}",
        no=f"{it.id}{more} {'stay as they are' if more else 'stays as it is'}",
    )


def ask_nowhere(wish: ParsedRequest) -> Question:
    return Question(
        "nowhere",
        "Is it a matter of tests and code alone?",
        f"no document speaks of {listed(wish.terms) or 'it'}",
        yes="beads are filed for tests and code, and for no document",
        no="nothing is filed; name the document that is to change",
    )


def ask_conflict(conflict: Conflict) -> Question:
    one, other = conflict.one, conflict.other
    winner = conflict.winner or one.document
    return Question(
        conflict_key(conflict),
        f"Shall {winner} have the last word?",
        f"{conflict.reason}; {said(one)}, but {said(other)}",
        yes=f"work goes on by {winner}, and the conflict is put on record",
        no="nothing is filed for what the conflict affects, until a person has settled it",
    )


def conflict_key(conflict: Conflict) -> str:
    """The same as long as both documents say the same, wherever their lines move to."""
    sides = sorted((it.document, it.text) for it in (conflict.one, conflict.other))
    return f"conflict:{hashlib.sha256(repr(sides).encode()).hexdigest()[:12]}"


def said(statement: Statement) -> str:
    """Who says it, where, and in which words."""
    where = f"{statement.path}:{statement.line}" if statement.path else ""
    who = f"{statement.document} ({where})" if where else f"the {statement.document}"
    return f"{who} says {cut(statement.text, _LONGEST_TEXT)!r}"


# -- beads for what is open ----------------------------------------------------------------


def conflict_part(case: IntakeCase, conflict: Conflict) -> RequestPart:
    """Always filed, whoever wins: nobody shall have to wonder later (I-5)."""
    is_physics = conflict.clash is ConflictKind.PHYSICS
    one, other = conflict.one, conflict.other
    documents = [it.document for it in (one, other) if it.section != BY_REQUEST]
    asked_for = [it.text for it in (one, other) if it.section == BY_REQUEST]
    settled = f"{conflict.winner} has more authority: work goes on by it."
    unsettled = "Neither has more authority: nothing that follows from either is built until then."
    own = (f"conflict:{conflict.clash}",)
    draft = BeadDraft(
        conflict_key(conflict),
        clean_title(f"Conflict: {one.document} and {other.document}: {conflict.reason}"),
        paragraphs(
            f"{said(one)}.",
            f"{said(other)}.",
            unsettled if is_physics else settled if conflict.winner else "",
            f"Met by a request: {case.wish.text}",
            "To settle it, change one of the two and commit it: the next look closes this bead.",
            ""
            if is_physics
            else f"Or let {conflict.winner or one.document} have the last word: "
            f"{typed_yes(case.wish, conflict_key(conflict))}",
        ),
        labels=(*case.labels("frame", ESCALATION), *own),
        priority=1 if is_physics else 2,
        spec_id="".join(documents[:1]),
        refs=tuple(dict.fromkeys(documents[1:])),
        marks={CONFLICT_REQUEST: asked_for[0]} if asked_for else {},
        held=_WAITS,
    )
    return RequestPart(draft, ESCALATION, "a conflict", about=tuple(documents))


def gap_part(case: IntakeCase, missing: MissingName) -> RequestPart:
    where = f"{missing.path}:{missing.line}: " if missing.path else ""
    draft = BeadDraft(
        gap_key(missing.path, missing.what),
        clean_title(f"Gap: {missing.what}"),
        paragraphs(
            f"{where}{missing.what}.",
            f"Met by a request: {case.wish.text}",
            "Write the document, or take the name away; "
            + ("once it is committed, the next look closes this bead" if where else _BY_HAND)
            + ". Until then others go on as if it said nothing.",
        ),
        labels=case.labels("frame", GAP),
        paths=(missing.path,) if missing.path else (),
        held=_WAITS,
    )
    return RequestPart(draft, GAP, "a gap")


def gap_key(path: str, what: str) -> str:
    """The same wherever in the document the name stands."""
    return f"{GAP}:{hashlib.sha256(f'{path} {what}'.encode()).hexdigest()[:12]}"


def question_part(case: IntakeCase, question: Question) -> RequestPart:
    draft = BeadDraft(
        f"question:{question.key}",
        clean_title(question.what),
        paragraphs(
            asked(case.wish),
            f"Why it is asked: {question.why}.",
            f"Yes: {question.yes}.",
            f"No: {question.no}.",
            f"To answer, give the same request again with the answer: "
            f"{typed_yes(case.wish, question.key)}",
        ),
        labels=case.labels("frame", ESCALATION),
        held=_WAITS,
    )
    return RequestPart(draft, ESCALATION, "a question")
