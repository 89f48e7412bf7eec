"""What `helix run` works with: flags into values, the run set up and seen through or rehearsed."""

from __future__ import annotations

import gc
import os
import sys
from shlex import join
from typing import TYPE_CHECKING, Any

from ddx.agents import StopRequest
from ddx.attempts import Engine, EngineOptions, OwedReviews, StopControls, UsageMeter, open_site
from ddx.base import Clock, changed, shown, started_at
from ddx.console import Interruption, answer, bold, has_person, say
from helix.cli.context import make_desk, read_dollars, read_wishes, typed_line
from helix.cli.live_view import PlainDisplay, open_view
from helix.passes import REPO, land_waiting, resolve_scope
from helix.project import read_helix_settings, read_slider
from helix.run import (
    ReadOnlyProject,
    RoutingRules,
    Run,
    RunDriver,
    RunJournal,
    RunOptions,
    RunState,
    ScreenMode,
    StateFile,
    work,
)
from helix.run import journal as controls
from helix.run import rehearse as rehearse_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.agents import Reply
    from ddx.attempts import AttemptContext, AttemptEvent, End
    from ddx.project import Project, Settings
    from helix.cli.live_view import RunDisplay
    from helix.project import HelixSettings, PassContext
    from helix.run import DryRun, Notifier

CLOCK = Clock()
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
    controls.forget_others(project, run=name)
    settings = with_flags(read_helix_settings(project, clock=CLOCK), given)
    stop, told = StopRequest(), Telling()
    wishes = read_wishes(project, stop)

    def open_one() -> AttemptContext:
        return open_site(project, told.hear, stop=stop, clock=CLOCK, tell=told.tell)

    site = open_one()
    desk = make_desk(site, settings, model=given["model"], effort=given["effort"])
    plan = plan_of(desk, given)
    meter = UsageMeter(plan.orders, CLOCK)
    desk = changed(desk, on_call=_noting(meter, desk))
    scope = resolve_scope(site, given["scope"] or REPO)
    desk.pages.read_all()
    journal = RunJournal(
        project.root, clock=CLOCK, masker=site.masker, tell=told.tell, mode=mode_of(given)
    )
    state = StateFile(project, CLOCK, _first_state(plan, desk, journal))
    view = open_view(project, given, CLOCK, lambda: _so_far(state, meter))
    told.connect(view, meter.hear, journal.hear)
    journal.remark(_what_proves(site.settings))
    run = Run(
        desk,
        plan,
        journal=journal,
        meter=meter,
        wishes=wishes,
        state=state,
        scope=scope,
        confirm=_confirming(view, wishes) if has_person() else None,
        bell=_bell(project, settings, journal, given),
    )
    engine = Engine(
        RunDriver(run),
        meter,
        wishes,
        site=site,
        open_site=open_one,
        reviews=run.reviews if plan.reviews else None,
        land_waiting=land_waiting,
    )
    with Interruption(stop, wishes=wishes, tell=view.tell) as interruption, view:
        end = work(run, engine)
    code = interruption.code or end.exit_code
    if code != end.exit_code:
        run.write(phase="ended", exit_code=code)
    journal.close()
    if given["json"]:
        answer(_row(run, end, code))
    return code


def _what_proves(settings: Settings) -> str:
    """The first line of a run: what proves work here (R-1)."""
    if settings.checks:
        return f"work is proven by {settings.spoken_checks}, besides the checks of each bead"
    return "no check is set; only a bead's own checks prove it. Next: ddx checks detect"


class Telling:
    """Who is told what happens in a run: its sites come first, who hears of them comes later."""

    def __init__(self) -> None:
        self._view: RunDisplay = PlainDisplay()
        self._hearers: tuple[Callable[[AttemptEvent], None], ...] = ()

    def connect(self, view: RunDisplay, *hearers: Callable[[AttemptEvent], None]) -> None:
        """From now on these hear of everything, and the view shows it."""
        self._view, self._hearers = view, (*hearers, view.hear)

    def tell(self, sentence: str) -> None:
        self._view.tell(sentence)

    def hear(self, happening: AttemptEvent) -> None:
        for hear in self._hearers:
            hear(happening)


# -- flags into values ---------------------------------------------------------------------


def with_flags(settings: HelixSettings, given: dict[str, Any]) -> HelixSettings:
    """Flag over environment over file (C-6)."""
    typed: dict[str, tuple[str, Any]] = {
        name: (f"--{flag.replace('_', '-')}", given[flag]) for name, flag in _FLAGS.items()
    }
    typed["run.max_cost_usd"] = ("--max-cost", read_dollars(given["max_cost"]))
    for name, flag in (("review.enabled", "no_auto_review"), ("align.auto", "no_auto_align")):
        if given[flag]:
            typed[name] = (f"--{flag.replace('_', '-')}", False)
    return settings.with_flags(typed)


def plan_of(desk: PassContext, given: dict[str, Any], *, keep: bool = True) -> RunOptions:
    site, settings = desk.site, desk.settings
    workers = given["workers"] or 1
    orders = EngineOptions(
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
    rules = RoutingRules(
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
    return RunOptions(
        rules=rules,
        orders=orders,
        slider=slider,
        reviews=settings.reviews,
        review_threshold=settings.review_threshold,
        orphan_threshold_s=settings.orphan_threshold_s,
        watch=given["watch"],
        workers=workers,
    )


def mode_of(given: dict[str, Any]) -> ScreenMode:
    if given["summary"]:
        return ScreenMode.SUMMARY
    return ScreenMode.QUIET if given["quiet"] else ScreenMode.PLAIN


def _noting(meter: UsageMeter, desk: PassContext) -> Callable[[str, Reply], None]:
    def note(action: str, reply: Reply) -> None:
        agent = desk.reviewer if action == "review" else desk.builder
        meter.called(agent.harness, reply)

    return note


# -- before and after ------------------------------------------------------------------------


def _first_state(plan: RunOptions, desk: PassContext, journal: RunJournal) -> RunState:
    pid = os.getpid()
    return RunState(
        run_id=os.path.basename(journal.path).removesuffix(".log"),
        pid=pid,
        pid_start=started_at(pid),
        started_at=CLOCK.stamp(),
        agent=desk.builder.harness,
        autonomy=str(plan.rules.autonomy),
        scope=plan.rules.scope,
        log=os.path.relpath(journal.path, desk.site.project.root),
        journal=os.path.relpath(journal.journal_path, desk.site.project.root),
    )


def _bell(
    project: Project, settings: HelixSettings, journal: RunJournal, given: dict[str, Any]
) -> Notifier | None:
    """Tells people who are not looking; None: no route is configured (S-26a)."""
    if not settings.routes:
        return None
    from helix.run import Notifier

    return Notifier(
        settings.routes,
        root=project.root,
        note=journal.note,
        max_cost_usd=settings.max_cost_usd,
        max_tokens=given["max_tokens"],
    )


def _confirming(view: RunDisplay, wishes: StopControls) -> Callable[[str], bool]:
    """A person says yes; everything else is no."""

    def confirm(question: str) -> bool:
        with view.aside():
            print(shown(f"helix: {question} [y/N] "), end="", file=sys.stderr, flush=True)
            return typed_line(lambda: wishes.is_over).strip().lower() in ("y", "yes")

    return confirm


def _so_far(state: StateFile, meter: UsageMeter) -> RunState:
    """The state of the last boundary, with what calls have used since."""
    usage = meter.usage
    return changed(state.now, total_tokens=usage.tokens, total_cost_usd=usage.cost_usd)


def _row(run: Run, end: End, code: int) -> dict[str, Any]:
    state = run.state.now
    return {
        "run_id": state.run_id,
        "reason": end.reason,
        "exit_code": code,
        "decision": run.decision.as_row() if run.decision else None,
        "attempted": run.progress.attempted,
        "completed": run.progress.completed,
        "harness_faults": run.progress.harness_faults,
        "blockers": [it.as_row() for it in run.blockers.values()],
        "usage": run.meter.usage.as_row(),
        "log": state.log,
        "journal": state.journal,
    }


# -- the same without effect ---------------------------------------------------------------------


def rehearse(project: Project, given: dict[str, Any]) -> int:
    """It ends well whatever it shows: nothing was started and nothing was written."""
    untouched = ReadOnlyProject(project.root, project.repository)
    settings = with_flags(read_helix_settings(untouched, clock=CLOCK, keep=False), given)
    site = open_site(untouched, lambda happening: None, clock=CLOCK)
    desk = make_desk(site, settings, model=given["model"], effort=given["effort"])
    plan = plan_of(desk, given, keep=False)
    desk.pages.read_all()
    owed = (
        OwedReviews(untouched, threshold=plan.review_threshold).read().owed if plan.reviews else ()
    )
    scope = resolve_scope(site, given["scope"] or REPO)
    pending = next(iter(owed), "")
    show_dry_run(rehearse_run(desk, scope, plan.rules, pending_review=pending), json=given["json"])
    return 0


def show_dry_run(found: DryRun, *, json: bool) -> None:
    """The decision, the exact command and the prompt (S-31)."""
    decision = found.decision
    if json:
        row = {"decision": decision.as_row(), "command": list(found.command)}
        answer({**row, "prompt": found.prompt})
        return
    what = " ".join(filter(None, (str(decision.action), *(decision.beads or (decision.target,)))))
    say(bold("Decision: "), what)
    for line in (decision.least_power_explanation, decision.queue_drift_reason, decision.question):
        if line:
            say(f"  {line}")
    if found.command:
        say(bold("Command: "), join(found.command))
        say(bold("Prompt:"))
        say(found.prompt)
