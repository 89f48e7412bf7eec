"""Carrying out what agents are asked to do: signals, the story on stderr, the answer."""

from __future__ import annotations

import gc
import sys
import threading
from typing import TYPE_CHECKING, Any

from ddx.agents import Harnesses, StopRequest
from ddx.attempts import (
    AgentQuestion,
    Engine,
    Idle,
    QueueDriver,
    StopControls,
    UsageMeter,
    land_kept,
    land_pending,
    open_site,
    prepare_plainly,
    reconcile,
    work_one,
)
from ddx.base import ConcurrentChange, NotFound, UsageError, changed, cut, listed, shown, value
from ddx.base import json as fastjson
from ddx.cli.context import CLOCK, respond, settings, tell
from ddx.console import Interruption, answer, dim, say
from ddx.git import uncommitted
from ddx.tracker import commit_tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.agents import Reply
    from ddx.attempts import (
        AttemptContext,
        AttemptEvent,
        Boundary,
        Drift,
        EngineOptions,
        Outcome,
        Preparation,
    )
    from ddx.project import Project
    from ddx.tracker import Bead

FAILED = 1
_LARGEST_MANIFEST = 1 << 20
_MOST_NAMED = 3
_WIDTH = 100
_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
"""Told only where somebody asks for all of it: `ddx agent log`."""


def drain(project: Project, orders: EngineOptions, *, json: bool) -> int:
    """Drain the queue and say what came of it; the exit code as C-2 has it."""
    stop, narrator, meter = StopRequest(), Narrator(), UsageMeter(orders, CLOCK)
    wishes = StopControls(stop)

    def hear(happening: AttemptEvent) -> None:
        meter.hear(happening)
        narrator.hear(happening)

    def open_one() -> AttemptContext:
        return open_site(project, hear, stop=stop, clock=CLOCK, tell=tell)

    site = open_one()
    _prepare(site)
    driver = QueueDriver(site, meter, tell)
    engine = Engine(driver, meter, wishes, site=site, open_site=open_one)
    with Interruption(stop, wishes=wishes, tell=tell) as interruption:
        end = engine.run()
    if settings(project).tracker_commit == "on-stop":
        commit_tracker(project, message="tracker: after a drain")
    completed = sum(it.is_completed for it in driver.outcomes)
    if json:
        answer(
            {
                "ended": end.ended.name.lower() if end.ended else "",
                "reason": end.reason,
                "attempted": len(driver.outcomes),
                "completed": completed,
                "usage": meter.usage.as_row(),
                "relanded": [outcome.as_row() for outcome in driver.relanded],
                "outcomes": [outcome.as_row() for outcome in driver.outcomes],
            }
        )
    else:
        for outcome in (*driver.relanded, *driver.outcomes):
            for line in outcome.in_words():
                say(line)
        say(
            f"{len(driver.outcomes)} attempted, {completed} completed, "
            f"{meter.usage.in_words}; ended: {shown(end.reason)}"
        )
    failed = FAILED if completed < len(driver.outcomes) else 0
    return interruption.code or end.exit_code or failed


def execute(
    project: Project,
    bead_ids: tuple[str, ...],
    orders: EngineOptions,
    manifest: dict[str, Any],
    *,
    json: bool,
) -> int:
    """One attempt on exactly these beads."""

    def work(site: AttemptContext) -> Outcome | Idle:
        for landed in land_pending(site):
            tell(f"{listed(landed.facts.beads)} had waited: {landed.word}")
        policy = _These(site, orders, bead_ids, manifest=manifest)
        return work_one(site, policy, from_rev=orders.from_rev, merge=orders.merge)

    return _carry_out(project, work, json=json)


def land(project: Project, attempt: str, *, json: bool) -> int:
    """Land what is kept of an attempt, because a person says so."""
    return _carry_out(project, lambda site: land_kept(site, attempt), json=json)


def _carry_out(
    project: Project, work: Callable[[AttemptContext], Outcome | Idle], *, json: bool
) -> int:
    stop = StopRequest()
    site = open_site(project, Narrator().hear, stop=stop, clock=CLOCK, tell=tell)
    clean_up(site)
    with Interruption(stop) as interruption:
        done = work(site)
    if isinstance(done, Idle):
        raise ConcurrentChange(done.reason, hint="see what is free: ddx bead ready --execution")
    respond(done.as_row(), *done.in_words(), json=json)
    return interruption.code or (0 if done.is_completed else FAILED)


@value
class _These:
    """The policy of `execute-bead`: these beads and no others."""

    site: AttemptContext
    orders: EngineOptions
    bead_ids: tuple[str, ...]
    manifest: dict[str, Any]

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return self.bead_ids

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        limits = UsageMeter(self.orders, CLOCK).limits(self.site, beads)
        plain = prepare_plainly(self.site, self.orders, self.orders.harness, limits=limits)
        return changed(plain, manifest=self.manifest)

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        return None


def ask_agent(site: AttemptContext, text: str, orders: EngineOptions, *, read_only: bool) -> Reply:
    """One question without a bead; what must stay secret is masked in the answer."""
    question = AgentQuestion(
        text,
        orders.harness,
        read_only,
        model=Harnesses(site.settings).model(orders.harness, orders.model),
        effort=orders.effort,
        limits=orders.limits,
    )
    reply = question.ask(site)
    return changed(reply, text=site.masker.mask(reply.text))


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


def clean_up(site: AttemptContext) -> None:
    """What attempts that died have left, before new ones begin (X-19)."""
    _prepare(site)
    for done in reconcile(site):
        tell(done.sentence)


def _prepare(site: AttemptContext) -> None:
    gc.enable()  # quick commands do without; this one may run all night
    if edited := uncommitted(site.project.root):
        some = listed([*edited[:_MOST_NAMED], *(["more"] if len(edited) > _MOST_NAMED else [])])
        tell(f"agents build on commits: what is not committed here is not part of it ({some})")


class Narrator:
    """One line an event on stderr; several workers take turns."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()

    def hear(self, happening: AttemptEvent) -> None:
        if happening.kind in _QUIET or not happening.text:
            return
        at = happening.at[11:19]
        text = cut(shown(happening.text, one_line=True), _WIDTH)
        with self._mutex:
            name = happening.kind.replace("-", " ")
            print(dim(f"{at} {happening.attempt[-6:]}"), f"{name}: {text}", file=sys.stderr)
