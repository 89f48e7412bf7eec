"""What is filed for a request, and what a person is asked first (I-2, I-4, I-5). Pure.

A case holds all that is known about one request. `next_question` says what to ask, given the
answers so far; `settle` says what is filed, given those that came. The level decides what becomes
of the others: low files nothing, medium leaves them as escalations, high assumes and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.values import changed, value
from helix.policy.conflicts import REQUEST as BY_REQUEST
from helix.policy.conflicts import Clash
from helix.policy.document_parts import new_documents, touched_documents
from helix.policy.impact import declared_only
from helix.policy.model import Autonomy
from helix.policy.open_parts import conflict_part, gap_part, question_part
from helix.policy.parts import DOCUMENT, ESCALATION, REQUEST, Part, request_draft
from helix.policy.proof_parts import answer, proofs
from helix.policy.questions import (
    START,
    ask_bead,
    ask_conflict,
    ask_hit,
    ask_intent,
    ask_nowhere,
    ask_start,
    ask_superseded,
    conflict_key,
)
from helix.policy.request import Intent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix.policy.conflicts import Conflict
    from helix.policy.impact import Impact
    from helix.policy.parts import Ground
    from helix.policy.questions import Question
    from helix.policy.request import Wish

ASKED = 4
"""How intake ends while a person must answer or settle something (C-2)."""
MOST_CONFLICTS = 20
"""Nobody settles more of them for one request; the others hold back their paths all the same."""
_LEAST_TIER_OF_BEHAVIOUR = 2
_UNCONFIRMED = "it rests on an assumption that nobody has confirmed"


@value
class Freedom:
    """The part of the slider that decides who is asked (I-3)."""

    autonomy: Autonomy = Autonomy.MEDIUM
    speculative_allowed: bool = True
    speculation_label: str = "kind:speculative"


@value
class Met:
    """A conflict, and the documents on whose path it lies."""

    conflict: Conflict
    affects: frozenset[str] = frozenset()

    @property
    def is_physics(self) -> bool:
        return self.conflict.clash is Clash.PHYSICS

    def holds(self, part: Part) -> bool:
        """A conflict with the request itself is about everything that follows from it."""
        sides = (self.conflict.one.section, self.conflict.other.section)
        return BY_REQUEST in sides or not self.affects.isdisjoint(part.about)


@value
class Case:
    """All that is known about one request before anything is filed."""

    wish: Wish
    impact: Impact
    ground: Ground
    conflicts: tuple[Met, ...] = ()
    freedom: Freedom = Freedom()
    remarks: tuple[str, ...] = ()


@value
class Settled:
    """What is to be done: beads to file, escalations that were answered, what is still open."""

    parts: tuple[Part, ...] = ()
    request: Part | None = None
    """The epic above the parts; without one the first part is the request itself."""
    opened: tuple[Part, ...] = ()
    """Conflicts, gaps and questions for a person."""
    answered: Mapping[str, bool] = {}
    """Questions and conflicts that a person has settled, by their keys."""
    assumptions: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    """Those that nobody has answered."""
    is_stopped: bool = False
    """A conflict that no authority settles holds something back."""

    @property
    def exit_code(self) -> int:
        return ASKED if self.questions or self.is_stopped else 0


def work_of(wish: Wish, impact: Impact, ground: Ground) -> tuple[Part, ...]:
    """All the work that a request leads to, in the order in which it is to be done (I-6)."""
    if not changes_documents(wish, impact):
        impact = declared_only(impact)
    if wish.intent is Intent.QUESTION:
        return (answer(wish, impact, ground),)
    if wish.intent is Intent.DEFECT:
        return tuple(proofs(wish, impact, ground, ()))
    if impact.is_greenfield:
        return tuple(new_documents(wish, ground, from_the_top=True))
    documents = list(touched_documents(wish, impact, ground))
    if wish.intent is Intent.NEW_CAPABILITY and not impact.named:
        documents += new_documents(wish, ground, impact.related)
    touched = (*impact.named, *impact.documents)
    tiers = [it.tier for it in touched if it.tier is not None]
    is_wording = bool(tiers) and max(tiers) < _LEAST_TIER_OF_BEHAVIOUR
    if is_wording and not impact.tests and not impact.code:
        return tuple(documents)
    return (*documents, *proofs(wish, impact, ground, documents))


def changes_documents(wish: Wish, impact: Impact) -> bool:
    """A defect is one of the code, and what is new gets documents of its own."""
    if wish.intent is Intent.NEW_CAPABILITY:
        return bool(impact.named)
    return wish.intent in (Intent.CHANGE, Intent.REPLACE_TECHNOLOGY)


def next_question(case: Case, answers: Mapping[str, bool]) -> Question | None:
    """What to ask now; None: all that this level asks about is answered."""
    return next((it for it in _questions(case, answers) if it.key not in answers), None)


def all_questions(case: Case, answers: Mapping[str, bool]) -> tuple[Question, ...]:
    """Every question that is still open, as if each before it were answered by its default."""
    found: list[Question] = []
    given = dict(answers)
    while (question := next_question(case, given)) is not None:
        found.append(question)
        given[question.key] = question.default
    return tuple(found)


def unasked(case: Case, answers: Mapping[str, bool]) -> tuple[str, ...]:
    """Answers to what nobody asked, so that a mistyped id is not taken for an answer."""
    asked = {it.key for it in (*_questions(case, answers), *_unclear(case))}
    return tuple(key for key in answers if key not in asked)


def settle(case: Case, answers: Mapping[str, bool]) -> Settled:
    """What is filed, given the answers that came; nothing here asks anybody."""
    level = case.freedom.autonomy
    missing = all_questions(case, answers)
    if level is Autonomy.LOW and missing:
        return Settled(questions=missing)
    if level is Autonomy.LOW and not answers[START]:
        return Settled()
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
    return Settled(
        tuple(kept),
        _request(case, kept),
        tuple(opened),
        {key: said for key, said in answers.items() if key in keys},
        tuple(
            f"{it.yes}; {it.why}"
            for it in assumed
            if any(_concerns(case, it, part) for part in kept)
        ),
        missing,
        any(met.is_physics for met in case.conflicts),
    )


# -- what is asked -------------------------------------------------------------------------


def _questions(case: Case, answers: Mapping[str, bool]) -> Iterable[Question]:
    """In the order in which they are asked; which beads there are depends on the answers."""
    level = case.freedom.autonomy
    if level is Autonomy.HIGH:
        return
    unclear = _unclear(case)
    if level is Autonomy.MEDIUM:
        yield from unclear
        return
    yield ask_start(case.wish, work_of(case.wish, case.impact, case.ground))
    if not answers.get(START, True):
        return
    yield from unclear
    agreed = [it for it in unclear if answers.get(it.key, it.default)]
    for part in _work(case, unclear, agreed):
        if not _is_held(case, part, agreed):
            yield ask_bead(part)
    yield from map(ask_bead, _opened(case, ()))


def _unclear(case: Case) -> list[Question]:
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


def _hits(case: Case) -> list[str]:
    """What search found is only worth a question where it would become a bead."""
    if not changes_documents(case.wish, case.impact):
        return []
    return list(dict.fromkeys(it.hit for it in case.impact.documents if it.hit))


def _about_hit(impact: Impact, hit: str) -> Question:
    touched = (*impact.documents, *impact.tests, *impact.code)
    own = next(it for it in impact.documents if it.id == hit)
    return ask_hit(own, [it.id for it in touched if it.hit == hit and it.id != hit])


def _is_nowhere(wish: Wish, impact: Impact) -> bool:
    changes = wish.intent in (Intent.CHANGE, Intent.REPLACE_TECHNOLOGY)
    return changes and not impact.is_greenfield and not impact.named and not impact.documents


# -- what follows from the answers ---------------------------------------------------------


def _goes_on(case: Case, question: Question, answers: Mapping[str, bool]) -> bool:
    """Answered by yes; or, where nobody is asked, assumed."""
    return answers.get(question.key, case.freedom.autonomy is Autonomy.HIGH)


def _work(
    case: Case,
    unclear: Sequence[Question],
    agreed: Sequence[Question],
    missing: Sequence[Question] = (),
) -> list[Part]:
    """The parts, as far as nothing that was not agreed to stands before them."""
    keys = {it.key for it in agreed}
    for question in unclear:
        if question.key not in keys and not question.key.startswith(("hit:", "conflict:")):
            return []
    parts = work_of(case.wish, _narrowed(case, keys), case.ground)
    if case.impact.named or not any(it.key.startswith("hit:") for it in missing):
        return list(parts)
    # Nobody builds before it is known which documents change.
    return [part for part in parts if part.role == DOCUMENT]


def _narrowed(case: Case, agreed: set[str]) -> Impact:
    """The impact without what search found and nobody agreed to."""
    refused = {hit for hit in _hits(case) if f"hit:{hit}" not in agreed}
    impact = case.impact
    documents, tests, code = (
        tuple(it for it in touched if it.hit not in refused)
        for touched in (impact.documents, impact.tests, impact.code)
    )
    return changed(impact, documents=documents, tests=tests, code=code)


def _is_held(case: Case, part: Part, agreed: Sequence[Question]) -> bool:
    """By a conflict that nobody has agreed about; about physics nobody is even asked."""
    keys = {it.key for it in agreed}
    return any(met.holds(part) and conflict_key(met.conflict) not in keys for met in case.conflicts)


def _without(parts: Sequence[Part], held: set[str]) -> list[Part]:
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


def _assuming(case: Case, part: Part, assumed: Sequence[Question]) -> Part:
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


def _concerns(case: Case, question: Question, part: Part) -> bool:
    kind, _, name = question.key.partition(":")
    if kind == "hit":
        return part.hit == name
    if kind == "conflict":
        return any(
            met.holds(part) for met in case.conflicts if conflict_key(met.conflict) == question.key
        )
    return True


def _opened(case: Case, missing: Sequence[Question]) -> list[Part]:
    """Beads for a person: each conflict, each gap, and each question without an answer (I-5)."""
    area = case.ground.area
    told = case.conflicts[:MOST_CONFLICTS]
    conflicts = [conflict_part(met.conflict, case.wish, area=area) for met in told]
    gaps = [gap_part(it, case.wish, area=area) for it in case.impact.missing]
    known = {conflict_key(met.conflict) for met in case.conflicts}
    asked = [question_part(it, case.wish, area=area) for it in missing if it.key not in known]
    return [*conflicts, *gaps, *asked]


def _request(case: Case, parts: Sequence[Part]) -> Part | None:
    """The epic, where more than one bead follows the change of the named document (I-6)."""
    named = case.impact.named
    changes = [part for part in parts if set(part.about) & {it.id for it in named[:1]}]
    if len(parts) - len(changes[:1]) <= 1:
        return None
    spec_id = named[0].id if named else ""
    draft = request_draft(case.wish, parts, spec_id=spec_id, area=case.ground.area)
    return Part(REQUEST, REQUEST, draft, tuple(it.id for it in named[:1]), name="the request")
