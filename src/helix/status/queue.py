"""The tracker's part of the snapshot: counts, claims, what is blocked, what rests (S-25)."""

from __future__ import annotations

import os
from itertools import islice

from ddx.base import Instant, changed, cut, is_alive
from ddx.project import read_settings
from ddx.tracker import RUNNER, Tracker, typed
from helix.status.model import (
    LONGEST_TEXT,
    MOST_RECENT,
    MOST_ROWS,
    ListedClaim,
    Need,
    QueueStatus,
    WaitingBead,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.base import Clock
    from ddx.project import Project
    from ddx.tracker import Bead, Snapshot, WorkQueue
    from helix.status.model import ProjectStatus, RunStatus


def with_queue(status: ProjectStatus, project: Project, clock: Clock) -> ProjectStatus:
    tracker = Tracker(project, clock=clock)
    view = tracker.snapshot()
    has_checks = bool(read_settings(project, clock=clock).default_checks)
    queue = tracker.queue(view, has_default_checks=has_checks)
    landings = tuple(
        Need(f"attempt {item.attempt} is proven and waits to land: {item.reason}", "git status")
        for item in tracker.pending_landings()
    )
    claims = tuple(_claims(view, now=status.at))
    blocked = tuple(_blocked(view))
    needs = (*status.needs, *landings, *_needs_in(view, blocked), *_orphans(status.run, claims))
    return changed(
        status,
        needs=needs,
        queue=_queue(view, queue),
        claims=claims,
        blocked=blocked,
        parked=tuple(_parked(view, queue)),
    )


def _queue(view: Snapshot, queue: WorkQueue) -> QueueStatus:
    executable = queue.ready_for_execution()
    kinds = queue.blocker_kinds()
    return QueueStatus(
        len(view.columns),
        view.counts(),
        len(queue.ready()),
        ready_for_execution=len(executable),
        not_ready=dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
    )


def _claims(view: Snapshot, *, now: str) -> Iterator[ListedClaim]:
    machine = os.uname().nodename
    for bead in _with_status(view, "in_progress"):
        since = bead.text("claimed-at") or bead.updated_at
        is_here = bead.text("claimed-machine") in ("", machine)
        is_runners = bead.text("owner") == RUNNER
        yield ListedClaim(
            bead.id,
            bead.title,
            bead.holder,
            age_s=Instant(since).seconds_until(now),
            is_orphaned=is_runners and is_here and not _is_held(bead),
        )


def _is_held(bead: Bead) -> bool:
    """By a process that lives; one that names none is given the benefit of the doubt."""
    pid = bead.text("claimed-pid")
    if not pid.isdecimal() or len(pid) > 9:
        return True
    return is_alive(int(pid), bead.text("claimed-pid-start"))


def _blocked(view: Snapshot) -> Iterator[WaitingBead]:
    for bead in _with_status(view, "blocked"):
        reason = bead.blocked_reason or "it does not say why"
        yield WaitingBead(bead.id, bead.title, cut(reason, LONGEST_TEXT))


def _parked(view: Snapshot, queue: WorkQueue) -> Iterator[WaitingBead]:
    """Beads that only have to rest, the first to wake first."""
    for bead in map(view.bead, queue.cooling()[:MOST_ROWS]):
        until = bead.text("retry-after")
        yield WaitingBead(bead.id, bead.title, "it rests after a failed attempt", until=until)


def _needs_in(view: Snapshot, blocked: tuple[WaitingBead, ...]) -> Iterator[Need]:
    for bead_id in view.in_conflict():
        yield Need(f"{bead_id}: two sides of a merge changed it", f"ddx bead why {typed(bead_id)}")
    if blocked:
        first, count = blocked[0], view.counts()["blocked"]
        others = f" and {count - 1} more" if count > 1 else ""
        said = f"{first.id}{others} {'are' if count > 1 else 'is'} blocked"
        yield Need(f"{said}: {first.reason}", f"helix explain {typed(first.id)}")
    for bead in _with_status(view, "open"):
        if bead.type == "decision":
            yield Need(
                f"{bead.id} is to be decided: {bead.title}", f"ddx bead show {typed(bead.id)}"
            )


def _orphans(run: RunStatus | None, claims: tuple[ListedClaim, ...]) -> tuple[Need, ...]:
    """A live run sees to them itself, and a dead one is named already."""
    orphaned = [claim for claim in claims if claim.is_orphaned]
    if not orphaned or (run is not None and run.state != "ended"):
        return ()
    what = ", ".join(claim.id for claim in orphaned[:MOST_RECENT])
    return (Need(f"claimed by a process that is gone: {what}", "helix recover"),)


def _with_status(view: Snapshot, status: str) -> Iterator[Bead]:
    return islice(view.with_status(status, in_queue_order=True), MOST_ROWS)
