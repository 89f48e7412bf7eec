"""Carrying out `execute-loop` and `execute-bead`: signals, the story on stderr, the answer."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from ddx import fastjson
from ddx.cli.agent.watching import Narrator, interruptible
from ddx.cli.place import CLOCK, settings, tell
from ddx.console.screen import answer, say
from ddx.errors import DdxError, NotFound, UsageError
from ddx.execution.draining import Drain, prepare_plainly
from ddx.execution.model import Idle, is_completed, word_of
from ddx.execution.orders import Ended, spoken_usage
from ddx.execution.reconciling import reconcile
from ddx.execution.relanding import land_kept, land_pending
from ddx.execution.results import result_row, spoken_outcome
from ddx.execution.work import open_site, work_one
from ddx.git import uncommitted
from ddx.harnesses.base import Usage
from ddx.supervision import StopRequest
from ddx.text import listed, shown
from ddx.tracker.committing import commit_tracker
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.execution.draining import Drained
    from ddx.execution.model import Bead, Boundary, Drift, Outcome, Preparation
    from ddx.execution.orders import Orders
    from ddx.execution.work import Site
    from ddx.project import Project

FAILED, PERSON = 1, 4
_LARGEST_MANIFEST = 1 << 20
_MOST_NAMED = 3


def drain(project: Project, orders: Orders, *, json: bool) -> int:
    """Drain the queue and say what came of it; the exit code as C-2 has it."""
    stop, narrator = StopRequest(), Narrator()

    def open_one() -> Site:
        return open_site(project, narrator.hear, stop=stop, clock=CLOCK, tell=tell)

    clean_up(open_one())
    work = Drain(open_one, orders)
    with interruptible(stop, work.wind_down) as interruption:
        done = work.run()
    if settings(project).tracker_commit == "on-stop":
        commit_tracker(project, message="tracker: after a drain")
    if json:
        answer(
            {
                "ended": done.ended.name.lower(),
                "reason": done.reason,
                "attempted": len(done.outcomes),
                "completed": done.completed,
                "usage": done.usage.as_row(),
                "relanded": [result_row(outcome) for outcome in done.relanded],
                "outcomes": [result_row(outcome) for outcome in done.outcomes],
            }
        )
    else:
        for outcome in (*done.relanded, *done.outcomes):
            _print(outcome)
        _sum_up(done)
    return interruption.code or _exit_code(done)


def execute(
    project: Project,
    bead_ids: tuple[str, ...],
    orders: Orders,
    manifest: dict[str, Any],
    *,
    json: bool,
) -> int:
    """One attempt on exactly these beads."""
    stop, narrator = StopRequest(), Narrator()
    site = open_site(project, narrator.hear, stop=stop, clock=CLOCK, tell=tell)
    clean_up(site)
    with interruptible(stop) as interruption:
        for landed in land_pending(site):
            tell(f"{listed(landed.facts.beads)} had waited: {word_of(landed)}")
        done = work_one(
            site,
            _These(site, orders, bead_ids, manifest),
            from_rev=orders.from_rev,
            merge=orders.merge,
        )
    if isinstance(done, Idle):
        raise _lost(done)
    if json:
        answer(result_row(done))
    else:
        _print(done)
    return interruption.code or (0 if is_completed(done) else FAILED)


def land(project: Project, attempt: str, *, json: bool) -> int:
    """Land what is kept of an attempt, because a person says so."""
    stop, narrator = StopRequest(), Narrator()
    site = open_site(project, narrator.hear, stop=stop, clock=CLOCK, tell=tell)
    clean_up(site)
    with interruptible(stop) as interruption:
        done = land_kept(site, attempt)
    if json:
        answer(result_row(done))
    else:
        _print(done)
    return interruption.code or (0 if is_completed(done) else FAILED)


class _These:
    """The policy of `execute-bead`: these beads and no others."""

    def __init__(
        self, site: Site, orders: Orders, bead_ids: tuple[str, ...], manifest: dict[str, Any]
    ) -> None:
        self._site = site
        self._orders = orders
        self._bead_ids = bead_ids
        self._manifest = manifest

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return self._bead_ids

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        plain = prepare_plainly(self._site, self._orders, self._orders.harness, beads, Usage())
        return changed(plain, manifest=self._manifest)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


def read_manifest(path: str | None) -> dict[str, Any]:
    """A JSON object to keep verbatim with the record."""
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = fastjson.loads(file.read(_LARGEST_MANIFEST))
    except OSError as problem:
        raise NotFound(f"--manifest {path}: {problem.strerror}") from None
    except ValueError as problem:
        raise UsageError(f"--manifest {path}: {problem}") from None
    if not isinstance(found, dict):
        raise UsageError(f"--manifest {path} must be a JSON object")
    return found


def clean_up(site: Site) -> None:
    """What attempts that died have left, before new ones begin (X-19)."""
    gc.enable()  # quick commands do without; this one may run all night
    for done in reconcile(site):
        tell(done.sentence)
    if edited := uncommitted(site.project.root):
        some = listed([*edited[:_MOST_NAMED], *(["more"] if len(edited) > _MOST_NAMED else [])])
        tell(f"agents build on commits: what is not committed here is not part of it ({some})")


def _lost(idle: Idle) -> DdxError:
    from ddx.errors import ChangedFirst

    return ChangedFirst(idle.reason, hint="see what is free: ddx bead ready --execution")


def _print(outcome: Outcome) -> None:
    for line in spoken_outcome(outcome):
        say(line)


def _sum_up(done: Drained) -> None:
    say(
        f"{len(done.outcomes)} attempted, {done.completed} completed, {spoken_usage(done.usage)}; "
        f"ended: {shown(done.reason)}"
    )


def _exit_code(done: Drained) -> int:
    match done.ended:
        case Ended.DENIED:
            return PERSON
        case Ended.BUDGET | Ended.BROKEN | Ended.PARKED:
            return FAILED
        case _:
            return 0 if done.completed == len(done.outcomes) else FAILED
