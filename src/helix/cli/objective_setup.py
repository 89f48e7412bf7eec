"""Driving an objective from the command line: flags into values, a person's answers, the end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.attempts import Engine, EngineOptions, OwedReviews, UsageMeter, open_site
from ddx.base import Clock, NeedsPerson, UsageError, changed, listed, shown
from ddx.console import answer, has_person, say
from ddx.git import Repository
from ddx.project import find_project
from ddx.tracker import Tracker
from helix.cli.context import hear, open_desk, read_dollars, read_wishes, tell, typed_line
from helix.objective import (
    CHOICES,
    IGNORE,
    RESUME,
    ObjectiveDriver,
    Operator,
    find_orphans,
    settle_orphans,
)
from helix.passes import land_waiting
from helix.run import journal as controls
from helix.run import only_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.attempts import AttemptContext, AttemptEvent, End
    from ddx.project import Project
    from helix.objective import Choose, Orchestrator, OrphanedTask
    from helix.project import HelixSettings, PassContext

CLOCK = Clock()
WORKERS = 3
_MOST_WORKERS = 16
_FEWEST_EXPLORERS, _MOST_EXPLORERS = 3, 12
_NAMED = {"max_attempts": 1, "max_tokens": 1, "workers": 1, "explorers": _FEWEST_EXPLORERS}


def open_project(given: dict[str, Any]) -> Project:
    """The one we stand in, if an objective may be worked on here and the flags make sense."""
    for name, least in _NAMED.items():
        if given[name] is not None and given[name] < least:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} must be at least {least}, not {given[name]}")
    for name, most in (("workers", _MOST_WORKERS), ("explorers", _MOST_EXPLORERS)):
        if (given[name] or 0) > most:
            raise UsageError(f"--{name} must be at most {most}, not {given[name]}")
    project = find_project(os.getcwd())
    project.refuse_inside_an_attempt(what="working on an objective")
    project.require_trust(to_run="its work")
    Repository(
        project.root
    ).require_branch()  # where nothing could land, nobody is asked to explore and plan
    return project


def conduct(
    project: Project, id: str, orchestrate: Callable[[], Orchestrator], given: dict[str, Any]
) -> int:
    """On with an objective, alone in its project; the exit code as C-2 has it."""
    with only_run(project, CLOCK, objective=id) as us:
        controls.forget_others(project, run=us.name)
        orchestrator = orchestrate()
        choose = _choosing() if has_person() else None
        orphans = find_orphans(Tracker(project).snapshot(), besides=orchestrator.id)
        choice = _choice_for(orphans, given["orphans"], choose)
        desk_flags = {name: given[name] for name in ("agent", "model", "effort")}
        with open_desk(**desk_flags) as (desk, interruption):
            if orphans:
                settle_orphans(desk.site.tracker, orphans, choice)
            desk = changed(desk, settings=_with_flags(desk, given))
            meter = UsageMeter(_orders(desk, given), CLOCK)
            end = _drive(desk, meter, orchestrator, given)
    code = interruption.code or end.exit_code
    if given["json"]:
        usage = meter.usage.as_row()
        answer({**orchestrator.status(), "reason": end.reason, "exit_code": code, "usage": usage})
    else:
        say(f"{orchestrator.id}: {end.reason}")
    return code


def _orders(desk: PassContext, given: dict[str, Any]) -> EngineOptions:
    limits = desk.site.settings.limits
    return EngineOptions(
        desk.builder.harness,
        workers=given["workers"] or WORKERS,
        limits=desk.limits,
        max_cost_usd=desk.settings.max_cost_usd,
        max_tokens=given["max_tokens"],
        on_limit=given["on_limit"] or limits.on_limit,
        alternate=limits.alternate,
    )


def _drive(
    desk: PassContext, meter: UsageMeter, orchestrator: Orchestrator, given: dict[str, Any]
) -> End:
    """From the state that it is in, until it is done, has failed, or needs a person."""
    project, settings, stop = desk.site.project, desk.settings, desk.site.stop
    wishes = read_wishes(project, stop)

    def on_event(happening: AttemptEvent) -> None:
        meter.hear(happening)
        hear(happening)

    def open_one() -> AttemptContext:
        return open_site(project, on_event, stop=stop, clock=CLOCK, tell=tell)

    site = open_one()
    reviews = OwedReviews(project, threshold=settings.review_threshold)
    operator = Operator(
        tell,
        _choosing(lambda: wishes.is_over) if has_person() else None,
        given["on_stall"] or "",
        answers=given["answer"],
    )
    context = changed(desk, site=site)
    engine = Engine(
        ObjectiveDriver(
            context, orchestrator, operator, meter=meter, wishes=wishes, reviews=reviews
        ),
        meter,
        wishes,
        site=site,
        open_site=open_one,
        reviews=reviews if settings.reviews else None,
        land_waiting=land_waiting,
    )
    end = engine.run()
    return changed(end, reason=f"{end.reason}; {RESUME}") if end.ended else end


def _with_flags(desk: PassContext, given: dict[str, Any]) -> HelixSettings:
    """Flag over environment over file (C-6)."""
    return desk.settings.with_flags(
        {
            "objective.explorers": ("--explorers", given["explorers"]),
            "run.max_attempts": ("--max-attempts", given["max_attempts"]),
            "run.max_cost_usd": ("--max-cost", read_dollars(given["max_cost"])),
            "review.enabled": ("--no-auto-review", False if given["no_auto_review"] else None),
        }
    )


def _choice_for(orphans: tuple[OrphanedTask, ...], said: str | None, choose: Choose | None) -> str:
    """What becomes of tasks that an earlier objective left in progress (O-9)."""
    if not orphans:
        return IGNORE
    names = listed(f"{orphan.bead} ({orphan.title})" for orphan in orphans)
    if not said and choose is not None:
        said = choose(f"{names}: left in progress by an earlier objective", CHOICES)
    if said not in CHOICES:
        raise NeedsPerson(
            f"an earlier objective left in progress: {names}",
            hint="say what shall become of it: --orphans reset, block or ignore",
        )
    return said


def _choosing(is_over: Callable[[], bool] = lambda: False) -> Choose:
    """Asks on the terminal until there is an answer; empty: nobody will give one."""

    def choose(question: str, words: tuple[str, ...]) -> str:
        offered = f" [{'/'.join(words)}]" if words else ""
        while True:
            print(shown(f"helix: {question}{offered} "), end="", file=sys.stderr, flush=True)
            line = typed_line(is_over)
            said = line.strip()
            if not line:
                print(file=sys.stderr)
            if not line or said in words or (said and not words):
                return said

    return choose
