"""Setting a run up and seeing it through: flags into values, signals, the answer."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer
from ddx.errors import UsageError
from ddx.execution.orders import Orders
from ddx.execution.work import open_site
from ddx.process import started_at
from ddx.supervision import StopRequest
from ddx.text import shown
from ddx.values import changed
from helix.actions.scope import REPO, resolve_scope
from helix.cli.input_dialogue import has_person
from helix.cli.live import open_view
from helix.cli.opening import make_desk, typed_line
from helix.meter import Meter
from helix.policy.model import Rules
from helix.settings import read_helix_settings
from helix.slider import read_slider
from helix.supervisor import controls
from helix.supervisor.journal import Journal, Mode
from helix.supervisor.loop import Loop
from helix.supervisor.notify import Bell
from helix.supervisor.run import Plan, Run
from helix.supervisor.state import RunState, StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.execution.model import Happening
    from ddx.execution.work import Site
    from ddx.harnesses.base import Reply
    from ddx.project import Project
    from helix.cli.live import View
    from helix.desk import Desk
    from helix.settings import HelixSettings
    from helix.supervisor.run import RunEnd

CLOCK = SYSTEM_CLOCK
_INTERRUPTED, _TERMINATED = 130, 143
_FLAGS = {
    "agent": "agent",
    "review_agent": "review_agent",
    "run.review_every": "review_every",
    "run.review_threshold": "review_threshold",
    "run.max_attempts": "max_attempts",
    "run.batch_size": "batch",
}


def supervise(project: Project, given: dict[str, Any], *, name: str) -> int:
    """One run, which others know by this name; the exit code as C-2 has it."""
    gc.enable()  # quick commands do without; this one may run all night
    settings = with_flags(read_helix_settings(project, clock=CLOCK), given)
    stop = StopRequest()
    heard: list[Any] = []
    view = open_view(project, given, CLOCK, lambda: _so_far(run))

    def on_event(happening: Happening) -> None:
        for hear in heard:
            hear(happening)

    def is_over() -> bool:
        stopped = controls.is_asked(project, controls.Wish.STOP)
        return run.winding_down or bool(stop.asked) or stopped

    def open_one() -> Site:
        return open_site(project, on_event, stop=stop, clock=CLOCK, tell=view.tell)

    site = open_one()
    desk = make_desk(site, settings, model=given["model"], effort=given["effort"])
    plan = plan_of(desk, given)
    meter = Meter(plan.orders, CLOCK)
    desk = changed(desk, on_call=lambda action, reply: _note_call(run.desk, meter, action, reply))
    scope = resolve_scope(site, given["scope"] or REPO)
    desk.pages.read_all()
    controls.forget_others(project, run=name)
    journal = Journal(
        project.root, clock=CLOCK, masker=site.masker, tell=view.tell, mode=mode_of(given)
    )
    heard += (meter.hear, journal.hear, view.hear)
    state = StateFile(project, CLOCK, _first_state(plan, desk, journal))
    run: Run = Run(
        desk,
        plan,
        journal=journal,
        meter=meter,
        state=state,
        open_site=open_one,
        scope=scope,
        confirm=_confirming(view, is_over) if has_person() else None,
        bell=Bell(
            settings.routes,
            root=project.root,
            note=journal.note,
            max_cost_usd=settings.max_cost_usd,
            max_tokens=given["max_tokens"],
        ),
    )
    with interruptible(run, stop, view.tell) as codes, view:
        end = Loop(run).work()
    code = codes[-1] if codes else end.exit_code
    if code != end.exit_code:
        run.write(phase="ended", exit_code=code)
    journal.close()
    if given["json"]:
        answer(_row(run, end, code))
    return code


# -- flags into values ---------------------------------------------------------------------


def with_flags(settings: HelixSettings, given: dict[str, Any]) -> HelixSettings:
    """Flag over environment over file (C-6)."""
    typed: dict[str, tuple[str, Any]] = {
        name: (f"--{flag.replace('_', '-')}", given[flag]) for name, flag in _FLAGS.items()
    }
    cost = given["max_cost"]
    if cost is not None:
        try:
            typed["run.max_cost_usd"] = ("--max-cost", float(cost))
        except ValueError:
            raise UsageError(f"--max-cost must be a number of US dollars, not {cost!r}") from None
    if given["no_auto_review"]:
        typed["review.enabled"] = ("--no-auto-review", False)
    if given["no_auto_align"]:
        typed["align.auto"] = ("--no-auto-align", False)
    return settings.with_flags(typed)


def plan_of(desk: Desk, given: dict[str, Any], *, keep: bool = True) -> Plan:
    site, settings = desk.site, desk.settings
    workers = given["workers"] or 1
    orders = Orders(
        desk.builder.harness,
        workers=workers,
        watch=given["watch"],
        limits=desk.limits,
        max_cost_usd=settings.max_cost_usd,
        max_tokens=given["max_tokens"],
        on_limit=given["on_limit"] or site.settings.limits.on_limit,
        alternate=site.settings.limits.alternate,
    )
    slider = read_slider(site.project, clock=CLOCK, autonomy=given["autonomy"], keep=keep)
    rules = Rules(
        autonomy=slider.autonomy,
        max_cycles=given["max_cycles"] or 0,
        review_every=settings.review_every,
        auto_align=settings.aligns,
        batch=1 if workers > 1 else settings.batch_size,
        max_attempts=settings.max_attempts,
        backoff_s=settings.backoff_s,
        always_ask=given["check"] == "always-agent",
        scope=given["scope"] or REPO,
    )
    return Plan(
        rules,
        orders,
        slider,
        settings.reviews,
        settings.review_threshold,
        settings.orphan_threshold_s,
        given["watch"],
        workers,
    )


def mode_of(given: dict[str, Any]) -> Mode:
    if given["summary"]:
        return Mode.SUMMARY
    return Mode.QUIET if given["quiet"] else Mode.PLAIN


def _note_call(desk: Desk, meter: Meter, action: str, reply: Reply) -> None:
    agent = desk.reviewer if action == "review" else desk.builder
    meter.called(agent.harness, reply)


# -- before and after ------------------------------------------------------------------------


def _first_state(plan: Plan, desk: Desk, journal: Journal) -> RunState:
    pid = os.getpid()
    return RunState(
        os.path.basename(journal.path).removesuffix(".log"),
        pid,
        started_at(pid),
        CLOCK.stamp(),
        agent=desk.builder.harness,
        autonomy=str(plan.rules.autonomy),
        scope=plan.rules.scope,
        log=os.path.relpath(journal.path, desk.site.project.root),
        journal=os.path.relpath(journal.journal_path, desk.site.project.root),
    )


@contextmanager
def interruptible(run: Run, stop: StopRequest, tell: Callable[[str], None]) -> Iterator[list[int]]:
    """First Ctrl-C: finish what runs. Second, or SIGTERM: stop it, keep its work. Third: kill it.

    Inside, the list says how the command ends because of it.
    """
    codes: list[int] = []

    def on_interrupt(number: int, frame: object) -> None:
        if not run.winding_down:
            run.winding_down = True
            tell("finishing what is running; Ctrl-C again interrupts it and keeps its work")
            return
        codes.append(_INTERRUPTED)
        stop.ask()

    def on_terminate(number: int, frame: object) -> None:
        run.winding_down = True
        codes.append(_TERMINATED)
        stop.ask()

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, on_interrupt),
        signal.SIGTERM: signal.signal(signal.SIGTERM, on_terminate),
        signal.SIGHUP: signal.signal(signal.SIGHUP, on_terminate),
    }
    try:
        yield codes
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _confirming(view: View, is_over: Callable[[], bool]) -> Callable[[str], bool]:
    """A person says yes; everything else is no."""

    def confirm(question: str) -> bool:
        with view.aside():
            print(shown(f"helix: {question} [y/N] "), end="", file=sys.stderr, flush=True)
            return typed_line(is_over).strip().lower() in ("y", "yes")

    return confirm


def _so_far(run: Run) -> RunState:
    """The state of the last boundary, with what calls have used since."""
    usage = run.meter.usage
    return changed(run.state.now, total_tokens=usage.tokens, total_cost_usd=usage.cost_usd)


def _row(run: Run, end: RunEnd, code: int) -> dict[str, Any]:
    state = run.state.now
    return {
        "run_id": state.run_id,
        "reason": end.reason,
        "exit_code": code,
        "decision": end.decision.as_row() if end.decision else None,
        "attempted": run.progress.attempted,
        "completed": run.progress.completed,
        "harness_faults": run.progress.harness_faults,
        "blockers": [it.as_row() for it in run.blockers.values()],
        "usage": run.meter.usage.as_row(),
        "log": state.log,
        "journal": state.journal,
    }
