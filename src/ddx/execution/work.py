"""The one way in which work is done: pick, claim, attempt, land, close (X-1, LAYOUT seam 1)."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK
from ddx.environment import for_children, refuse_inside_an_attempt
from ddx.errors import ChangedFirst, DdxError, Refused
from ddx.execution.attempt import Task, intent_of, run_attempt
from ddx.execution.claims import Claims, Drifted
from ddx.execution.keeping import find_kept
from ddx.execution.landing import fix_target
from ddx.execution.model import (
    Bead,
    Boundary,
    Drift,
    Failed,
    Idle,
    Outcome,
    Preserved,
    Status,
)
from ddx.execution.record import Record, new_attempt_id
from ddx.execution.results import masked, result_row
from ddx.execution.selecting import ReadyBeads
from ddx.execution.settling import settle
from ddx.execution.site import Site as Site
from ddx.execution.workspace import workspace_path
from ddx.harnesses.registry import find_harness
from ddx.masking import Masker
from ddx.settings import read_settings
from ddx.supervision import StopRequest
from ddx.text import listed
from ddx.tracker.hooks import approval
from ddx.tracker.model import typed
from ddx.tracker.pending import PENDING, held_by_pending
from ddx.tracker.queue import blockers, ready_for_execution
from ddx.tracker.store import Tracker
from ddx.trust import require_trust
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.clock import Clock
    from ddx.execution.model import OnEvent, Policy
    from ddx.harnesses.base import Harness
    from ddx.project import Project
    from ddx.settings import Settings


def open_site(
    project: Project,
    on_event: OnEvent,
    *,
    stop: StopRequest | None = None,
    clock: Clock = SYSTEM_CLOCK,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Site:
    """A repository that its operator trusts, and from outside of any attempt (X-5, X-22)."""
    refuse_inside_an_attempt(project, what="handing work to agents")
    require_trust(project, to_run="its work")
    tracker = Tracker(
        project, clock=clock, command="ddx agent", tell=tell, approve=approval(project, tell=tell)
    )
    settings = read_settings(project, clock=clock)
    return Site(
        project,
        settings,
        tracker,
        clock,
        Masker(_known_to_children(settings)),
        stop or StopRequest(),
        on_event,
    )


def _known_to_children(settings: Settings) -> dict[str, str]:
    """Every variable that an agent may see and print."""
    configured = (harness.env for harness in settings.harnesses.values())
    return {name: text for env in (for_children(), *configured) for name, text in env.items()}


def work_one(
    site: Site,
    policy: Policy,
    *,
    from_rev: str = "",
    merge: bool = True,
    supervisory: bool = False,
) -> Outcome | Idle:
    """One attempt on what the policy picks, from the claim to the close; Idle if there is none.

    Whatever goes wrong inside the attempt is its outcome. What goes wrong with the tracker itself
    is raised: it would meet the next bead as well (X-18). A `supervisory` bead is not for the queue
    to hand out, and is proven by what its preparation says (A-10).
    """
    beads = _picked(site, policy, supervisory=supervisory)
    if not beads:
        return Idle("nothing is ready")
    attempt = new_attempt_id(site.clock)
    preparation = policy.prepare(beads, attempt)
    harness = find_harness(preparation.harness, site.settings)
    target = fix_target(site.project, from_rev, merge=merge)
    task = Task(
        site.project,
        site.settings,
        tuple(beads),
        attempt,
        preparation,
        target,
        workspace_path(site.project, site.settings, attempt),
        harness.homes,
        merge,
    )
    claims = Claims.planned(site.tracker, beads)
    record = Record.begin(
        site.project,
        attempt,
        _intent(task, claims),
        clock=site.clock,
        masker=site.masker,
        on_event=site.on_event,
    )
    try:
        claims.take()
    except (ChangedFirst, Refused, Drifted) as lost:
        record.discard()
        return Idle(lost.message, again=True)
    except BaseException:
        record.leave()
        raise
    record.tell("claimed", listed(bead.id for bead in beads))
    outcome = _attempted(site, task, harness, record, _boundary(claims, policy, beads))
    outcome = settle(site, masked(outcome, site.masker), claims, record)
    record.finish(result_row(outcome), leftover=task.workspace)
    return outcome


_FOR_SUPERVISION = frozenset({"not-execution-eligible", "no-success-criteria", "epic-only"})
"""What keeps a bead from the queue, and not from an action that is about it."""


def _picked(site: Site, policy: Policy, *, supervisory: bool) -> list[Bead]:
    """What the policy wants, if all of it may be handed out now."""
    snapshot = site.tracker.snapshot()
    around = changed(
        site.tracker.surroundings(has_default_checks=bool(site.settings.default_checks)),
        held=held_by_pending(site.project.ddx(*PENDING)),
    )
    places = ready_for_execution(snapshot.columns, around)
    picked = policy.pick(ReadyBeads(snapshot, places))
    free = {snapshot.columns.ids[n]: n for n in places}
    for bead_id in picked:
        if bead_id in free:
            continue
        snapshot.row(bead_id)
        n = snapshot.columns.place[bead_id]
        in_the_way = blockers(snapshot.columns, n, around)
        if supervisory and all(it.kind in _FOR_SUPERVISION for it in in_the_way):
            free[bead_id] = n
            continue
        held = in_the_way[0] if in_the_way else None
        raise Refused(
            f"{bead_id} cannot be worked on: {held.reason if held else 'it is not ready'}",
            hint=f"ddx bead why {typed(bead_id)}",
        )
    return [ReadyBeads(snapshot, [free[bead_id]])[0] for bead_id in picked]


def _boundary(
    claims: Claims, policy: Policy, beads: Sequence[Bead]
) -> Callable[[Boundary], Drift | None]:
    def look(boundary: Boundary) -> Drift | None:
        return claims.find_drift() or policy.still_valid(beads, boundary)

    return look


def _intent(task: Task, claims: Claims) -> dict[str, object]:
    return {
        "beads": list(claims.tokens),
        "claims": dict(claims.tokens),
        "selected": {bead_id: dict(found) for bead_id, found in claims.selected.items()},
        "titles": {bead.id: bead.title for bead in task.beads},
        "paths": {bead.id: list(bead.paths) for bead in task.beads},
        **intent_of(task),
    }


def _attempted(
    site: Site,
    task: Task,
    harness: Harness,
    record: Record,
    look: Callable[[Boundary], Drift | None],
) -> Outcome:
    """An attempt that breaks down is an outcome like any other; its work is kept already."""
    try:
        return run_attempt(task, harness, record, look=look, clock=site.clock, stop=site.stop)
    except Exception as problem:  # one attempt may fail in any way (STYLE 6)
        reason = _spoken(problem)
        record.write_text("error.txt", traceback.format_exc())
        record.tell("error", reason)
        facts = changed(task.facts, reason=reason, folder=record.folder)
        if kept := find_kept(site.project, task.attempt):
            facts = changed(facts, result=kept.commit, ref=kept.ref)
            return Preserved(facts, Status.HARNESS_FAULT, kept.ref)
        return Failed(facts, Status.HARNESS_FAULT)


def _spoken(problem: Exception) -> str:
    if not isinstance(problem, DdxError):
        return f"our own error: {problem!r}"
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message
