"""Driving an objective from the command line: flags into values, a person's answers, the end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, say
from ddx.environment import refuse_inside_an_attempt
from ddx.errors import NeedsPerson, UsageError
from ddx.execution.landing import fix_target
from ddx.execution.orders import Orders
from ddx.execution.work import open_site
from ddx.project import find_project
from ddx.text import listed, shown
from ddx.tracker.store import Tracker
from ddx.trust import require_trust
from ddx.values import changed
from helix.cli.control import tell
from helix.cli.input_dialogue import has_person
from helix.cli.opening import hear, open_desk, typed_line
from helix.meter import Meter
from helix.objective.driver import drive
from helix.objective.orphans import CHOICES, IGNORE, find_orphans, settle_orphans
from helix.objective.session import Session, Wishes
from helix.policy.model import Rules
from helix.run_lock import only_run
from helix.supervisor import controls

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.execution.model import Happening
    from ddx.execution.work import Site
    from ddx.project import Project
    from helix.desk import Desk
    from helix.objective.orchestrator import Orchestrator
    from helix.objective.orphans import Orphan
    from helix.objective.session import Choose

CLOCK = SYSTEM_CLOCK
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
    refuse_inside_an_attempt(project, what="working on an objective")
    require_trust(project, to_run="its work")
    fix_target(project)  # where nothing could land, nobody is asked to explore and plan
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
            session = _session(desk, orchestrator, given)
            end = drive(session)
    code = interruption.code or end.exit_code
    if given["json"]:
        usage = session.meter.usage.as_row()
        answer({**orchestrator.status(), "reason": end.reason, "exit_code": code, "usage": usage})
    else:
        say(f"{orchestrator.id}: {end.reason}")
    return code


def _session(desk: Desk, orchestrator: Orchestrator, given: dict[str, Any]) -> Session:
    site, settings = desk.site, _with_flags(desk, given)
    workers = given["workers"] or WORKERS
    orders = Orders(
        desk.builder.harness,
        workers=workers,
        limits=desk.limits,
        max_cost_usd=settings.max_cost_usd,
        max_tokens=given["max_tokens"],
        on_limit=given["on_limit"] or site.settings.limits.on_limit,
        alternate=site.settings.limits.alternate,
    )
    meter = Meter(orders, CLOCK)

    def on_event(happening: Happening) -> None:
        meter.hear(happening)
        hear(happening)

    def open_one() -> Site:
        return open_site(site.project, on_event, stop=site.stop, clock=CLOCK, tell=tell)

    def stop_asked() -> bool:
        return controls.is_asked(site.project, controls.Wish.STOP)

    def pause_asked() -> bool:
        return controls.is_asked(site.project, controls.Wish.PAUSE)

    def is_over() -> bool:
        return bool(site.stop.asked) or stop_asked()

    heard = changed(desk, site=changed(site, on_event=on_event), settings=settings)
    return Session(
        heard,
        orchestrator,
        meter,
        Rules(max_attempts=settings.max_attempts, backoff_s=settings.backoff_s),
        explorers=settings.explorers,
        workers=workers,
        reviews=settings.reviews,
        review_threshold=settings.review_threshold,
        wishes=Wishes(given["on_stall"] or "", given["answer"]),
        open_site=open_one,
        tell=tell,
        choose=_choosing(is_over) if has_person() else None,
        stop_asked=stop_asked,
        pause_asked=pause_asked,
    )


def _with_flags(desk: Desk, given: dict[str, Any]) -> Any:
    """Flag over environment over file (C-6)."""
    cost = given["max_cost"]
    try:
        dollars = None if cost is None else float(cost)
    except ValueError:
        raise UsageError(f"--max-cost must be a number of US dollars, not {cost!r}") from None
    return desk.settings.with_flags(
        {
            "objective.explorers": ("--explorers", given["explorers"]),
            "run.max_attempts": ("--max-attempts", given["max_attempts"]),
            "run.max_cost_usd": ("--max-cost", dollars),
            "review.enabled": ("--no-auto-review", False if given["no_auto_review"] else None),
        }
    )


def _choice_for(
    orphans: tuple[Orphan, ...],
    said: str | None,
    choose: Choose | None,
) -> str:
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
