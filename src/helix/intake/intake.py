"""A request becomes beads, or what a person must answer or settle first (I-1 to I-10).

`take_in` tells the story; what the repository says about a request is read below it, what follows
from that is decided by helix.intake.decision, and helix.intake.filing writes it down.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from ddx.base import changed, listed, value
from ddx.documents import load_graph
from ddx.git import Repository
from ddx.project import read_settings
from ddx.tracker import Tracker, approval
from helix.intake.conflicts.detection import ConflictKind, find_conflicts, statement_of_request
from helix.intake.decision import (
    changes_documents,
    next_question,
    settle,
    unasked,
    work_of,
)
from helix.intake.filing import (
    ANSWER_KEY,
    CONFLICT,
    PART_KEY,
    REQUEST_KEY,
    NameTaken,
    answered,
    close_settled,
    disagreements,
    file_request,
    file_stem,
    known_parts,
    promised_files,
)
from helix.intake.impact import begin, downstream, reach
from helix.intake.parts import (
    MOST_CONFLICTS,
    NEW,
    REQUEST,
    IntakeCase,
    RelevantConflict,
    RepositoryFacts,
)
from helix.intake.request import RequestIntent, parse_request
from helix.passes import area_label
from helix.project import read_slider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.base import Clock
    from ddx.documents import Graph
    from ddx.project import Project, Settings
    from helix.intake.assistance import Advice
    from helix.intake.decision import IntakePlan
    from helix.intake.filing import FiledBeads
    from helix.intake.impact import RequestImpact, RequestStart
    from helix.intake.parts import RequestPart
    from helix.intake.questions import Question
    from helix.intake.request import ParsedRequest
    from helix.project import AutonomySettings

MOST_HITS = 5
"""More documents than a person would go through for one sentence are no help."""
_TEST_FOLDERS = ("tests", "test", "spec", "__tests__")
_TOPS = ("prd", "vision")
_FOR_ALL = frozenset({"adr", "architecture"})
"""What these decide holds for every design, linked or not."""
_BASE_LENGTH = 12
_MOST_LOOKS = 10
"""At the repository, while other terminals file requests at the same time."""


@value
class IntakeContext:
    """Where requests are taken in: the project with its settings, its beads and its slider."""

    project: Project
    settings: Settings
    tracker: Tracker
    slider: AutonomySettings
    clock: Clock


@value
class IntakeOptions:
    """How a request is taken in, and who is asked about it."""

    answers: Mapping[str, bool] = {}
    """What a person has answered beforehand, by the ids of the questions."""
    ask: Callable[[Question], bool] | None = None
    """None: nobody is there to answer."""
    advise: Callable[[ParsedRequest, Sequence[RequestPart]], Advice] | None = None
    """An agent that proposes better words; None: none does."""
    by_default: bool = False
    """Every question is answered by its default."""
    dry_run: bool = False
    """Nothing is written and nobody is asked."""


@value
class TakenRequest:
    """What was found out about a request, what follows from it, and what was done."""

    case: IntakeCase
    plan: IntakePlan
    beads: FiledBeads | None
    """None: it was a rehearsal."""
    remarks: tuple[str, ...] = ()


@value
class Filed:
    """Everything that the request leads to is filed."""

    taken: TakenRequest


@value
class Asked:
    """A person must answer first; what does not depend on the answers is filed."""

    taken: TakenRequest
    questions: tuple[Question, ...]


@value
class Unsettled:
    """Documents contradict each other and neither has more authority: their paths wait."""

    taken: TakenRequest
    conflicts: tuple[RelevantConflict, ...]


IntakeOutcome: TypeAlias = Filed | Asked | Unsettled


def open_intake(
    project: Project,
    *,
    clock: Clock,
    tell: Callable[[str], None],
    autonomy: str | None = None,
    keep: bool = True,
) -> IntakeContext:
    """The project as it stands; without `keep` not even a cache of its settings is written."""
    slider = read_slider(project, clock=clock, autonomy=autonomy, keep=keep)
    approve = approval(project, tell=tell)
    tracker = Tracker(project, clock=clock, command="helix input", tell=tell, approve=approve)
    settings = read_settings(project, clock=clock)
    tracker.snapshot()  # where there is none, nothing is looked for and no cache is made
    return IntakeContext(project, settings, tracker, slider=slider, clock=clock)


def take_in(context: IntakeContext, request: str, options: IntakeOptions) -> IntakeOutcome:
    """What became of the request; all of it is filed or, where that is refused, nothing."""
    wish = parse_request(request)
    for _ in range(_MOST_LOOKS):
        with suppress(NameTaken):
            return _take_in_once(context, wish, options)
    return _take_in_once(context, wish, options)


def _take_in_once(
    context: IntakeContext, wish: ParsedRequest, options: IntakeOptions
) -> IntakeOutcome:
    """By the repository as it stands now; a name may be taken before all is filed."""
    case = look_into(context, wish)
    advice = _advice(case, options)
    if advice and advice.candidates:
        case = look_into(context, wish, besides=advice.candidates)
    plan = settle(case, _answers(context, case, options))
    if advice:
        plan = changed(plan, parts=tuple(map(advice.improved, plan.parts)))
    beads = None if options.dry_run else file_request(context, wish, plan)
    over = () if options.dry_run else _over_by_now(context)
    vain = [f"nothing was asked by the id {it}" for it in unasked(case, options.answers)]
    remarks = (*case.remarks, *(advice.remarks if advice else ()), *over, *vain)
    taken = TakenRequest(case, plan, beads, remarks=remarks)
    if plan.questions:
        return Asked(taken, plan.questions)
    if plan.is_stopped:
        return Unsettled(taken, tuple(it for it in case.conflicts if it.is_physics))
    return Filed(taken)


def _answers(context: IntakeContext, case: IntakeCase, options: IntakeOptions) -> dict[str, bool]:
    """Those of earlier looks, those given beforehand, and those that somebody gives now."""
    answers = {**remembered(context, case.wish), **options.answers}
    while (question := next_question(case, answers)) is not None:
        if options.by_default:
            answers[question.key] = question.default
        elif options.ask is not None and not options.dry_run:
            answers[question.key] = options.ask(question)
        else:
            break
    return answers


def _advice(case: IntakeCase, options: IntakeOptions) -> Advice | None:
    """What an agent proposes, if one is to be asked; a rehearsal would leave a record of it."""
    if options.advise is None:
        return None
    if not options.dry_run:
        return options.advise(case.wish, work_of(case))
    from helix.intake.assistance import Advice

    return Advice(remarks=("no agent was asked: a rehearsal leaves nothing behind",))


def _over_by_now(context: IntakeContext) -> list[str]:
    """Conflicts and gaps that are over since the documents were changed (I-5)."""
    if not any(disagreements(context.tracker.snapshot(), "open")):
        return []
    graph = load_graph(context.project, context.settings.document_roots, clock=context.clock)
    return [it.sentence for it in close_settled(context.project, context.tracker, graph)]


def remembered(context: IntakeContext, wish: ParsedRequest) -> dict[str, bool]:
    """What a person has answered before: about this request, or about the same conflict."""
    found: dict[str, bool] = {}
    for bead in answered(context.tracker.snapshot()):
        key, said = bead.text(PART_KEY), bead.text(ANSWER_KEY)
        if said == "yes" and key.startswith(CONFLICT):
            found[key] = True
        elif bead.text(REQUEST_KEY) == wish.key:
            found[key.removeprefix("question:")] = said == "yes"
    return found


# -- what the repository says --------------------------------------------------------------------


def look_into(
    context: IntakeContext, wish: ParsedRequest, *, besides: Sequence[str] = ()
) -> IntakeCase:
    """All that is known about a request; `besides` are documents that somebody proposes as well."""
    slider = context.slider
    graph = load_graph(context.project, context.settings.document_roots, clock=context.clock)
    start = begin(graph, wish, slider)
    hits = _searched(context, graph, wish, start) | _proposed(graph, start, besides)
    impact = reach(graph, start, hits, slider)
    ground = _ground(context, graph, impact, wish)
    met = _conflicts(context, graph, impact, wish)
    physics = [it for it in met if it.is_physics]
    room = max(MOST_CONFLICTS - len(physics), 0)
    kept = (*physics, *[it for it in met if not it.is_physics][:room])
    more = len(met) - MOST_CONFLICTS
    remarks = [f"there are {more} more conflicts than those that are told"] if more > 0 else []
    remarks += [f"{it} asked for the same and is done" for it in _done_before(context, wish)]
    return IntakeCase(
        wish=wish,
        impact=impact,
        ground=ground,
        conflicts=kept,
        freedom=slider,
        remarks=tuple(remarks),
    )


def _searched(
    context: IntakeContext, graph: Graph, wish: ParsedRequest, start: RequestStart
) -> dict[int, str]:
    """Documents that are about the same, where the links tell too little (I-2)."""
    if not start.search_because or not wish.terms:
        return {}
    from ddx.documents import search

    # Of another technology: where the old one stands, however many documents name it.
    terms = wish.replaced or wish.terms
    found = search(context.project, graph, terms, clock=context.clock, telling=not wish.replaced)
    hits = found.related(named=start.named)
    return {
        hit.n: f"it holds {listed(hit.terms)} (line {hit.excerpt.line})"
        for hit in (hits if wish.replaced else hits[:MOST_HITS])
    }


def _proposed(graph: Graph, start: RequestStart, names: Sequence[str]) -> dict[int, str]:
    places = (graph.find(name) for name in names)
    fresh = [n for n in places if n is not None and graph.hashes[n] and n not in start.named]
    return dict.fromkeys(fresh, "the agent proposes it")


def _conflicts(
    context: IntakeContext, graph: Graph, impact: RequestImpact, wish: ParsedRequest
) -> tuple[RelevantConflict, ...]:
    """What the documents on the way say against each other, and against the request (I-5)."""
    from helix.intake.conflicts.statements import read_statements

    named = {it.id for it in impact.named}
    touched = [it.id for it in (*impact.named, *impact.documents)]
    is_whole = bool(named) or changes_documents(wish, impact)
    if wish.intent in (RequestIntent.DEFECT, RequestIntent.QUESTION) or not touched:
        return ()
    linked = frozenset((*impact.governing, *touched))
    decided = [it for it, kind in zip(graph.ids, graph.types, strict=True) if kind in _FOR_ALL]
    ids = dict.fromkeys((*impact.governing, *touched, *decided))
    asked = statement_of_request(wish.text)
    found: dict[object, RelevantConflict] = {}
    for conflict in find_conflicts((*read_statements(context.project, graph, ids), asked)):
        sides = (conflict.one, conflict.other)
        by_request = asked in sides
        if conflict.clash is ConflictKind.GAP or not (by_request or is_whole):
            continue
        if linked.isdisjoint(it.document for it in sides):
            continue  # an old quarrel that this request has no part in
        if by_request and named & {it.document for it in sides}:
            continue  # what the request names, it asks to change
        losers = [it.document for it in sides if it.document != conflict.winner]
        met = RelevantConflict(conflict, downstream(graph, losers, context.slider))
        # Of several documents that say the same against the request, the highest speaks for all.
        found.setdefault(conflict.reason if by_request else conflict, met)
    return tuple(found.values())


def _ground(
    context: IntakeContext, graph: Graph, impact: RequestImpact, wish: ParsedRequest
) -> RepositoryFacts:
    root = context.project.root
    folders = [name for name in _TEST_FOLDERS if os.path.isdir(os.path.join(root, name))]
    tops = (n for kind in _TOPS for n, found in enumerate(graph.types) if found == kind)
    features = [name for name in impact.governing if graph.types[graph.place[name]] == "feat"]
    titles = [graph.titles[graph.place[name]] for name in reversed(features)]
    promised = promised_files(context.tracker.snapshot(), but=wish.key)
    words = [*titles, *(it.title for it in impact.named), " ".join(wish.terms[:2])]
    return RepositoryFacts(
        base=Repository(root).commit_id()[:_BASE_LENGTH],
        root=context.settings.document_roots[0].rstrip("/"),
        names=(*graph.ids, *_files(context), *map(file_stem, promised)),
        own=_own(context, wish),
        default_checks=context.settings.default_checks,
        is_valid=not any(it.is_error for it in graph.findings()),
        test_folders=tuple(folders) or _TEST_FOLDERS[:1],
        bead_files=context.slider.bead_files,
        top=next((graph.ids[n] for n in tops), ""),
        top_bead=next((it for path, it in promised.items() if file_stem(path) in _TOPS), ""),
        area=next((label for word in words if (label := area_label(word))), ""),
    )


def _files(context: IntakeContext) -> Iterator[str]:
    """The names of files among the documents, of those that cannot be read too."""
    for documents in context.settings.document_roots:
        for _, _, names in os.walk(os.path.join(context.project.root, documents)):
            yield from (name.rpartition(".")[0] or name for name in names)


def _own(context: IntakeContext, wish: ParsedRequest) -> dict[str, tuple[str, ...]]:
    """What the beads of this request are about to write, if it was made before."""
    snapshot = context.tracker.snapshot()
    found = known_parts(snapshot, wish.key).items()
    return {part: snapshot.bead(bead).paths for part, bead in found if part.startswith(NEW)}


def _done_before(context: IntakeContext, wish: ParsedRequest) -> Iterator[str]:
    """Closed epics of the same request, unless it is open again."""
    snapshot = context.tracker.snapshot()
    columns = snapshot.columns
    if REQUEST in known_parts(snapshot, wish.key):
        return
    requests = (n for n, labels in enumerate(columns.labels) if f"kind:{REQUEST}" in labels)
    for n in (n for n in requests if columns.statuses[n] == "closed"):
        if snapshot.bead(columns.ids[n]).text(REQUEST_KEY) == wish.key:
            yield columns.ids[n]
