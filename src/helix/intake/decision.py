"""What is filed for a request, and what a person is asked first (I-2, I-4, I-5). Pure.

A case holds all that is known about one request. `next_question` says what to ask, given the
answers so far; `settle` says what is filed, given those that came. The level decides what becomes
of the others: low files nothing, medium leaves them as escalations, high assumes and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import changed, value
from helix.intake.document_parts import new_documents, touched_documents
from helix.intake.impact import declared_only
from helix.intake.parts import (
    DOCUMENT,
    ESCALATION,
    REQUEST,
    RequestPart,
    answer,
    proofs,
    request_draft,
)
from helix.intake.questions import (
    START,
    ask_bead,
    ask_conflict,
    ask_hit,
    ask_intent,
    ask_nowhere,
    ask_start,
    ask_superseded,
    conflict_key,
    conflict_part,
    gap_part,
    question_part,
)
from helix.intake.request import RequestIntent
from helix.project import Autonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix.intake.impact import RequestImpact
    from helix.intake.parts import IntakeCase
    from helix.intake.questions import Question
    from helix.intake.request import ParsedRequest

_LEAST_TIER_OF_BEHAVIOUR = 2
_UNCONFIRMED = "it rests on an assumption that nobody has confirmed"


@value
class IntakePlan:
    """What is to be done: beads to file, escalations that were answered, what is still open."""

    parts: tuple[RequestPart, ...] = ()
    request: RequestPart | None = None
    """The epic above the parts; without one the first part is the request itself."""
    opened: tuple[RequestPart, ...] = ()
    """Conflicts, gaps and questions for a person."""
    answered: Mapping[str, bool] = {}
    """Questions and conflicts that a person has settled, by their keys."""
    assumptions: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    """Those that nobody has answered."""
    is_stopped: bool = False
    """A conflict that no authority settles holds something back."""

    @property
    def all_parts(self) -> tuple[RequestPart, ...]:
        """In the order in which they are filed."""
        return (*filter(None, [self.request]), *self.parts, *self.opened)


def work_of(case: IntakeCase) -> tuple[RequestPart, ...]:
    """All the work that a request leads to, in the order in which it is to be done (I-6)."""
    if not changes_documents(case.wish, case.impact):
        case = changed(case, impact=declared_only(case.impact))
    intent, impact = case.wish.intent, case.impact
    if intent is RequestIntent.QUESTION:
        return (answer(case),)
    if intent is RequestIntent.DEFECT:
        return tuple(proofs(case, ()))
    if impact.is_greenfield:
        return tuple(new_documents(case))
    documents = list(touched_documents(case))
    if intent is RequestIntent.NEW_CAPABILITY and not impact.named:
        documents += new_documents(case)
    touched = (*impact.named, *impact.documents)
    tiers = [it.tier for it in touched if it.tier is not None]
    is_wording = bool(tiers) and max(tiers) < _LEAST_TIER_OF_BEHAVIOUR
    if is_wording and not impact.tests and not impact.code:
        return tuple(documents)
    return (*documents, *proofs(case, documents))


def changes_documents(wish: ParsedRequest, impact: RequestImpact) -> bool:
    """A defect is one of the code, and what is new gets documents of its own."""
    if wish.intent is RequestIntent.NEW_CAPABILITY:
        return bool(impact.named)
    return wish.intent in (RequestIntent.CHANGE, RequestIntent.REPLACE_TECHNOLOGY)


def next_question(case: IntakeCase, answers: Mapping[str, bool]) -> Question | None:
    """What to ask now; None: all that this level asks about is answered."""
    return next((it for it in _questions(case, answers) if it.key not in answers), None)


def all_questions(case: IntakeCase, answers: Mapping[str, bool]) -> tuple[Question, ...]:
    """Every question that is still open, as if each before it were answered by its default."""
    found: list[Question] = []
    given = dict(answers)
    while (question := next_question(case, given)) is not None:
        found.append(question)
        given[question.key] = question.default
    return tuple(found)


def unasked(case: IntakeCase, answers: Mapping[str, bool]) -> tuple[str, ...]:
    """Answers to what nobody asked, so that a mistyped id is not taken for an answer."""
    asked = {it.key for it in (*_questions(case, answers), *_unclear(case))}
    return tuple(key for key in answers if key not in asked)


def settle(case: IntakeCase, answers: Mapping[str, bool]) -> IntakePlan:
    """What is filed, given the answers that came; nothing here asks anybody."""
    level = case.freedom.autonomy
    missing = all_questions(case, answers)
    if level is Autonomy.LOW and missing:
        return IntakePlan(questions=missing)
    if level is Autonomy.LOW and not answers[START]:
        return IntakePlan()
    unclear = _unclear(case)
    agreed = [it for it in unclear if _goes_on(case, it, answers)]
    assumed = [it for it in agreed if it.key not in answers]
    parts = _work(case, unclear, agreed, missing)
    held = {part.key for part in parts if _is_held(case, part, agreed)}
    opened = _opened(case, missing)
    if level is Autonomy.LOW:
        held |= {part.key for part in parts if not answers.get(f"bead:{part.key}", True)}
        opened = [it for it in opened if answers.get(f"bead:{it.key}", True)]
    kept = _without(parts, held)
    kept = [_assuming(case, part, assumed) for part in kept]
    keys = {it.key for it in unclear}
    return IntakePlan(
        parts=tuple(kept),
        request=_request(case, kept),
        opened=tuple(opened),
        answered={key: said for key, said in answers.items() if key in keys},
        assumptions=tuple(
            f"{it.yes}; {it.why}"
            for it in assumed
            if any(_concerns(case, it, part) for part in kept)
        ),
        questions=missing,
        is_stopped=any(met.is_physics for met in case.conflicts),
    )


# -- what is asked -------------------------------------------------------------------------


def _questions(case: IntakeCase, answers: Mapping[str, bool]) -> Iterable[Question]:
    """In the order in which they are asked; which beads there are depends on the answers."""
    level = case.freedom.autonomy
    if level is Autonomy.HIGH:
        return
    unclear = _unclear(case)
    if level is Autonomy.MEDIUM:
        yield from unclear
        return
    yield ask_start(case.wish, work_of(case))
    if not answers.get(START, True):
        return
    yield from unclear
    agreed = [it for it in unclear if answers.get(it.key, it.default)]
    for part in _work(case, unclear, agreed):
        if not _is_held(case, part, agreed):
            yield ask_bead(part)
    yield from map(ask_bead, _opened(case, ()))


def _unclear(case: IntakeCase) -> list[Question]:
    """What links and words alone do not tell, and conflicts that authority could settle."""
    wish, impact = case.wish, case.impact
    found: list[Question] = []
    if wish.is_guess and not impact.is_greenfield and not impact.named:
        found.append(ask_intent(wish))
    found += [ask_superseded(old, heirs) for old, heirs in impact.superseded.items()]
    found += [_about_hit(impact, hit) for hit in _hits(case)]
    if _is_nowhere(wish, impact):
        found.append(ask_nowhere(wish))
    found += [ask_conflict(met.conflict) for met in case.conflicts if not met.is_physics]
    return found


def _hits(case: IntakeCase) -> list[str]:
    """What search found is only worth a question where it would become a bead."""
    if not changes_documents(case.wish, case.impact):
        return []
    return list(dict.fromkeys(it.hit for it in case.impact.documents if it.hit))


def _about_hit(impact: RequestImpact, hit: str) -> Question:
    touched = (*impact.documents, *impact.tests, *impact.code)
    own = next(it for it in impact.documents if it.id == hit)
    return ask_hit(own, [it.id for it in touched if it.hit == hit and it.id != hit])


def _is_nowhere(wish: ParsedRequest, impact: RequestImpact) -> bool:
    changes = wish.intent in (RequestIntent.CHANGE, RequestIntent.REPLACE_TECHNOLOGY)
    return changes and not impact.is_greenfield and not impact.named and not impact.documents


# -- what follows from the answers ---------------------------------------------------------


def _goes_on(case: IntakeCase, question: Question, answers: Mapping[str, bool]) -> bool:
    """Answered by yes; or, where nobody is asked, assumed."""
    return answers.get(question.key, case.freedom.autonomy is Autonomy.HIGH)


def _work(
    case: IntakeCase,
    unclear: Sequence[Question],
    agreed: Sequence[Question],
    missing: Sequence[Question] = (),
) -> list[RequestPart]:
    """The parts, as far as nothing that was not agreed to stands before them."""
    keys = {it.key for it in agreed}
    for question in unclear:
        if question.key not in keys and not question.key.startswith(("hit:", "conflict:")):
            return []
    parts = work_of(_narrowed(case, keys))
    if case.impact.named or not any(it.key.startswith("hit:") for it in missing):
        return list(parts)
    # Nobody builds before it is known which documents change.
    return [part for part in parts if part.role == DOCUMENT]


def _narrowed(case: IntakeCase, agreed: set[str]) -> IntakeCase:
    """The case without what search found and nobody agreed to."""
    refused = {hit for hit in _hits(case) if f"hit:{hit}" not in agreed}
    impact = case.impact
    documents, tests, code = (
        tuple(it for it in touched if it.hit not in refused)
        for touched in (impact.documents, impact.tests, impact.code)
    )
    return changed(case, impact=changed(impact, documents=documents, tests=tests, code=code))


def _is_held(case: IntakeCase, part: RequestPart, agreed: Sequence[Question]) -> bool:
    """By a conflict that nobody has agreed about; about physics nobody is even asked."""
    keys = {it.key for it in agreed}
    return any(met.holds(part) and conflict_key(met.conflict) not in keys for met in case.conflicts)


def _without(parts: Sequence[RequestPart], held: set[str]) -> list[RequestPart]:
    """The others; what waited for one that is held waits for what that one waited for."""
    waits = {part.key: part.draft.depends_on for part in parts}

    def followed(keys: Iterable[str]) -> list[str]:
        found: dict[str, None] = {}
        for key in keys:
            found |= dict.fromkeys(followed(waits[key]) if key in held else (key,))
        return list(found)

    return [
        changed(part, draft=changed(part.draft, depends_on=tuple(followed(waits[part.key]))))
        for part in parts
        if part.key not in held
    ]


def _assuming(case: IntakeCase, part: RequestPart, assumed: Sequence[Question]) -> RequestPart:
    """The assumption is written down, and where none is allowed a person decides (I-3, I-4)."""
    rests_on = [it for it in assumed if _concerns(case, it, part)]
    if not rests_on:
        return part
    free = case.freedom
    said = "\n".join(f"Assumption: {it.yes}; {it.why}." for it in rests_on)
    label = free.speculation_label if free.speculative_allowed else f"kind:{ESCALATION}"
    draft = part.draft
    return changed(
        part,
        draft=changed(
            draft,
            description=f"{draft.description}\n\n{said}",
            labels=(*draft.labels, label),
            held=draft.held if free.speculative_allowed else _UNCONFIRMED,
        ),
    )


def _concerns(case: IntakeCase, question: Question, part: RequestPart) -> bool:
    kind, _, name = question.key.partition(":")
    if kind == "hit":
        return part.hit == name
    if kind == "conflict":
        return any(
            met.holds(part) for met in case.conflicts if conflict_key(met.conflict) == question.key
        )
    return True


def _opened(case: IntakeCase, missing: Sequence[Question]) -> list[RequestPart]:
    """Beads for a person: each conflict, each gap, and each question without an answer (I-5)."""
    conflicts = [conflict_part(case, met.conflict) for met in case.told]
    gaps = [gap_part(case, it) for it in case.impact.missing]
    known = {conflict_key(met.conflict) for met in case.conflicts}
    asked = [question_part(case, it) for it in missing if it.key not in known]
    return [*conflicts, *gaps, *asked]


def _request(case: IntakeCase, parts: Sequence[RequestPart]) -> RequestPart | None:
    """The epic, where more than one bead follows the change of the named document (I-6)."""
    named = case.impact.named
    changes = [part for part in parts if set(part.about) & {it.id for it in named[:1]}]
    if len(parts) - len(changes[:1]) <= 1:
        return None
    spec_id = named[0].id if named else ""
    draft = request_draft(case, parts, spec_id=spec_id)
    return RequestPart(draft, REQUEST, "the request", about=tuple(it.id for it in named[:1]))
