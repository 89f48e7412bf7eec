"""`helix input`"""

from __future__ import annotations

import os
from contextlib import suppress

from ddx.clock import SYSTEM_CLOCK
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import DdxError, UsageError
from ddx.text import cut, shown_on_one_line
from ddx.values import changed, value
from helix.cli.control import tell
from helix.policy.model import Autonomy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.project import Project
    from helix.actions.advising import Advice
    from helix.actions.requests import Filed, Place
    from helix.cli.input_batch import Asked
    from helix.policy.intake import Case, Settled
    from helix.policy.questions import Question
    from helix.policy.request import Wish

FAILED, PERSON = 1, 4
_LONGEST_SHOWN = 60
_MOST_LOOKS = 10
"""At the repository, while other terminals file requests at the same time."""


@value
class Orders:
    """How requests are taken in."""

    autonomy: str | None
    dry_run: bool
    yes: bool
    assist: bool
    ask: Callable[[Question], bool] | None
    """None: nobody is there to answer."""
    answers: Mapping[str, bool]
    is_batch: bool


@value
class Taken:
    """What became of one request; with an error, nothing was filed for it."""

    wish: Wish
    level: Autonomy
    case: Case | None = None
    settled: Settled | None = None
    filed: Filed | None = None
    remarks: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""

    @property
    def exit_code(self) -> int:
        if self.error or self.settled is None:
            return FAILED
        return self.settled.exit_code


def run(
    *,
    request: tuple[str, ...],
    autonomy: str | None,
    dry_run: bool,
    yes: bool,
    assist: bool,
    batch: str | None,
    answer: tuple[str, ...],
    json: bool,
) -> int:
    from helix.cli.input_dialogue import Dialogue, has_person
    from helix.cli.input_text import as_row, show

    answers = _answers(answer)
    if batch is not None and answers:
        raise UsageError("--answer is for one request, and --batch brings several")
    asked = _asked(request, batch)
    wishes = [_wish(it) for it in asked]
    person = Dialogue().ask if not json and has_person() else None
    orders = Orders(autonomy, dry_run, yes, assist, person, answers, batch is not None)
    taken = _take_all(wishes, asked, orders)
    code = _exit_code(taken)
    if json:
        from ddx.console.screen import answer as print_json

        rows = [as_row(it) for it in taken]
        print_json({"dry_run": dry_run, "exit_code": code, "requests": rows})
    else:
        show(taken, dry_run=dry_run)
    return 0 if dry_run and code == PERSON else code


def _answers(given: Sequence[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for text in given:
        key, _, said = text.rpartition("=")
        if not key or said not in ("yes", "no"):
            raise UsageError(
                f"--answer must be ID=yes or ID=no, not {text!r}", hint="ids come with --json"
            )
        found[key] = said == "yes"
    return found


def _asked(requests: tuple[str, ...], batch: str | None) -> list[Asked]:
    from helix.cli.input_batch import Asked, read_batch

    if len(requests) > 1:
        first, second = (cut(shown_on_one_line(text), _LONGEST_SHOWN) for text in requests[:2])
        raise UsageError(
            f"a request is one text, but after {first!r} comes {second!r}",
            hint='put it in quotes: helix input "add a price list"; several: --batch FILE',
        )
    if bool(requests) == (batch is not None):
        what = "a request or --batch, not both" if requests else "one request or --batch FILE"
        raise UsageError(f"give {what}", hint='for example: helix input "add a price list"')
    return [Asked(requests[0], "")] if requests else read_batch(str(batch))


def _wish(asked: Asked) -> Wish:
    """What is wrong with one of many is told with its place (C-3)."""
    from helix.policy.request import parse_request

    try:
        return parse_request(asked.text)
    except UsageError as problem:
        where = f"{asked.where}: " if asked.where else ""
        raise UsageError(f"{where}{problem.message}", hint=problem.hint) from None


def _take_all(wishes: Sequence[Wish], asked: Sequence[Asked], orders: Orders) -> list[Taken]:
    """One after the other; what one of them files, the next one sees."""
    places = [_open(changed(orders, autonomy=it.autonomy or orders.autonomy)) for it in asked]
    return [_take(place, wish, orders) for place, wish in zip(places, wishes, strict=True)]


def _open(orders: Orders) -> Place:
    """The project as it stands; a rehearsal leaves not even a cache behind."""
    from ddx.environment import refuse_inside_an_attempt
    from ddx.project import find_project
    from ddx.settings import read_settings
    from ddx.tracker.hooks import approval
    from ddx.tracker.store import Tracker
    from helix.actions.requests import Place
    from helix.slider import read_slider

    project: Project = find_project(os.getcwd())
    refuse_inside_an_attempt(project, what="filing work")
    if orders.dry_run:
        from helix.supervisor.rehearsal import Untouched

        project = Untouched(project.root, project.repository)
    slider = read_slider(
        project, clock=SYSTEM_CLOCK, autonomy=orders.autonomy, keep=not orders.dry_run
    )
    tracker = Tracker(
        project,
        clock=SYSTEM_CLOCK,
        command="helix input",
        tell=tell,
        approve=approval(project, tell=tell),
    )
    settings = read_settings(project, clock=SYSTEM_CLOCK)
    tracker.snapshot()  # where there is none, nothing is looked for and no cache is made
    return Place(project, settings, tracker, slider, SYSTEM_CLOCK)


def _take(place: Place, wish: Wish, orders: Orders) -> Taken:
    """All or nothing: an error files nothing of this request; in a batch the others go on."""
    from helix.actions.requests import Overtaken

    try:
        for _ in range(_MOST_LOOKS):
            with suppress(Overtaken):
                return _taken_in(place, wish, orders)
        return _taken_in(place, wish, orders)
    except DdxError as problem:
        if isinstance(problem, UsageError) or not orders.is_batch:
            raise
        return Taken(wish, place.slider.autonomy, error=problem.message, hint=problem.hint)


def _taken_in(place: Place, wish: Wish, orders: Orders) -> Taken:
    from helix.actions.advising import Advice, advised
    from helix.actions.requests import file_request
    from helix.intake import look_into, remembered
    from helix.policy.intake import next_question, settle, unasked

    case = look_into(place, wish)
    advice = _advice(orders, wish, case) if orders.assist else Advice()
    if advice.candidates:
        case = look_into(place, wish, besides=advice.candidates)
    answers = {**remembered(place, wish), **orders.answers}
    while (question := next_question(case, answers)) is not None:
        if orders.yes:
            answers[question.key] = question.default
        elif orders.ask is not None and not orders.dry_run:
            answers[question.key] = orders.ask(question)
        else:
            break
    settled = settle(case, answers)
    settled = changed(settled, parts=tuple(advised(part, advice) for part in settled.parts))
    done = None if orders.dry_run else file_request(place, wish, settled)
    over = [] if orders.dry_run else _reconciled(place)
    vain = [f"nothing was asked by the id {it}" for it in unasked(case, orders.answers)]
    remarks = (*case.remarks, *advice.remarks, *over, *vain)
    return Taken(wish, place.slider.autonomy, case, settled, done, remarks)


def _reconciled(place: Place) -> list[str]:
    """Conflicts and gaps that are over since the documents were changed (I-5)."""
    from ddx.graph.cache import load_graph
    from helix.actions.reconciling import close_settled

    graph = load_graph(place.project, place.settings.document_roots, clock=place.clock)
    return [it.sentence for it in close_settled(place.project, place.tracker, graph)]


def _advice(orders: Orders, wish: Wish, case: Case) -> Advice:
    """A rehearsal asks no agent: that would leave a record."""
    from helix.actions.advising import Advice, advise
    from helix.cli.opening import open_desk
    from helix.policy.intake import work_of

    if orders.dry_run:
        return Advice(remarks=("no agent was asked: a rehearsal leaves nothing behind",))
    parts = work_of(case.wish, case.impact, case.ground)
    with open_desk(agent=None, model=None, effort=None) as (desk, _):
        return advise(desk, wish, parts)


def _exit_code(taken: Sequence[Taken]) -> int:
    codes = {it.exit_code for it in taken}
    return FAILED if FAILED in codes else max(codes)


COMMAND = Command(
    "input",
    "Turn a sentence into beads: for the documents that it touches, for tests and for code.",
    run,
    'helix input "change US-001 acceptance criteria" --autonomy high',
    arguments=(Argument("request", "what is wanted, in a sentence", many=True, required=False),),
    flags=(
        Flag(
            "--autonomy",
            "how often you are asked; without it as in .helix/slider-config.yaml",
            kind="choice",
            choices=tuple(map(str, Autonomy)),
        ),
        Flag("--dry-run", "show what would be filed, and write nothing", kind="switch"),
        Flag("--yes", "answer every question with its default", kind="switch"),
        Flag("--answer", "answer a question: ID=yes or ID=no", many=True),
        Flag("--assist", "have the configured agent propose better words", kind="switch"),
        Flag("--batch", "a file of requests: one a line, or a YAML list"),
        JSON,
    ),
    schema="helix-input",
)
