"""The tracker's part of the snapshot: counts, claims, what is blocked, what rests (S-25)."""

from __future__ import annotations

import os

from ddx.instants import seconds_between, sort_key
from ddx.process import is_alive
from ddx.settings import read_settings
from ddx.text import cut
from ddx.tracker.columns import IN_CONFLICT
from ddx.tracker.model import RUNNER, STATUSES, holder_of, text_of, typed
from ddx.tracker.queue import blocker, in_queue_order, ready, ready_for_execution, unfinished
from ddx.tracker.store import Tracker
from ddx.values import changed
from helix.status.model import LONGEST_TEXT, MOST_RECENT, MOST_ROWS, Claim, Held, Need, Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.tracker.model import Row
    from ddx.tracker.queue import Surroundings
    from ddx.tracker.snapshot import Snapshot
    from helix.status.model import Run, Status

_PENDING = ("state", "pending")


def with_queue(status: Status, project: Project, clock: Clock) -> Status:
    tracker = Tracker(project, clock=clock)
    view = tracker.snapshot()
    has_checks = bool(read_settings(project, clock=clock).default_checks)
    around = tracker.surroundings(has_default_checks=has_checks)
    landings: tuple[Need, ...] = ()
    if os.path.isdir(project.ddx(*_PENDING)):  # nearly never, so what reads it is not even loaded
        from ddx.tracker.pending import held_by_pending, read_pending

        around = changed(around, held=held_by_pending(project.ddx(*_PENDING)))
        landings = tuple(
            Need(f"attempt {item.attempt} is proven and waits to land: {item.reason}", "git status")
            for item in read_pending(project.ddx(*_PENDING))
        )
    claims = tuple(_claims(view, now=status.at))
    blocked = tuple(_blocked(view))
    needs = (*status.needs, *landings, *_needs_in(view, blocked), *_orphans(status.run, claims))
    return changed(
        status,
        needs=needs,
        queue=_queue(view, around),
        claims=claims,
        blocked=blocked,
        parked=tuple(_parked(view, around)),
    )


def _queue(view: Snapshot, around: Surroundings) -> Queue:
    columns = view.columns
    words = sorted({*columns.statuses}.difference(STATUSES))
    counts = {word: columns.statuses.count(word) for word in (*STATUSES, *words)}
    executable = ready_for_execution(columns, around)
    kinds: dict[str, int] = {}
    for n in {*unfinished(columns)}.difference(executable):
        held = blocker(columns, n, around)
        if held is not None:
            kinds[held.kind] = kinds.get(held.kind, 0) + 1
    return Queue(
        len(columns),
        {word: count for word, count in counts.items() if count},
        len(ready(columns, around)),
        len(executable),
        dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
    )


def _claims(view: Snapshot, *, now: str) -> Iterator[Claim]:
    machine = os.uname().nodename
    for n in _with_status(view, "in_progress"):
        row = view.row(view.columns.ids[n])
        since = text_of(row, "claimed-at") or text_of(row, "updated_at")
        is_here = text_of(row, "claimed-machine") in ("", machine)
        is_runners = text_of(row, "owner") == RUNNER
        yield Claim(
            view.columns.ids[n],
            view.columns.titles[n],
            holder_of(row),
            seconds_between(since, now),
            is_runners and is_here and not _is_held(row),
        )


def _is_held(row: Row) -> bool:
    """By a process that lives; one that names none is given the benefit of the doubt."""
    pid = text_of(row, "claimed-pid")
    if not pid.isdecimal() or len(pid) > 9:
        return True
    return is_alive(int(pid), text_of(row, "claimed-pid-start"))


def _blocked(view: Snapshot) -> Iterator[Held]:
    for n in _with_status(view, "blocked"):
        row = view.row(view.columns.ids[n])
        reason = text_of(row, "blocked-reason") or "it does not say why"
        yield Held(view.columns.ids[n], view.columns.titles[n], cut(reason, LONGEST_TEXT))


def _parked(view: Snapshot, around: Surroundings) -> Iterator[Held]:
    """Beads that only have to rest, the first to wake first."""
    columns = view.columns
    found = [
        n
        for n, until in enumerate(columns.retry_after)
        if until > around.now and columns.statuses[n] == "open"
    ]
    for n in sorted(found, key=columns.retry_after.__getitem__)[:MOST_ROWS]:
        until = text_of(view.row(columns.ids[n]), "retry-after")
        known = until if sort_key(until) == columns.retry_after[n] else ""
        yield Held(columns.ids[n], columns.titles[n], "it rests after a failed attempt", known)


def _needs_in(view: Snapshot, blocked: tuple[Held, ...]) -> Iterator[Need]:
    columns = view.columns
    for n, marks in enumerate(columns.marks):
        if marks & IN_CONFLICT:
            bead_id = columns.ids[n]
            yield Need(
                f"{bead_id}: two sides of a merge changed it", f"ddx bead why {typed(bead_id)}"
            )
    if blocked:
        first, count = blocked[0], columns.statuses.count("blocked")
        others = f" and {count - 1} more" if count > 1 else ""
        said = f"{first.id}{others} {'are' if count > 1 else 'is'} blocked"
        yield Need(f"{said}: {first.reason}", f"helix explain {typed(first.id)}")
    for n in _with_status(view, "open"):
        if columns.types[n] == "decision":
            bead_id = columns.ids[n]
            yield Need(
                f"{bead_id} is to be decided: {columns.titles[n]}",
                f"ddx bead show {typed(bead_id)}",
            )


def _orphans(run: Run | None, claims: tuple[Claim, ...]) -> tuple[Need, ...]:
    """A live run sees to them itself, and a dead one is named already."""
    orphaned = [claim for claim in claims if claim.is_orphaned]
    if not orphaned or (run is not None and run.state != "ended"):
        return ()
    what = ", ".join(claim.id for claim in orphaned[:MOST_RECENT])
    return (Need(f"claimed by a process that is gone: {what}", "helix recover"),)


def _with_status(view: Snapshot, status: str) -> list[int]:
    found = [n for n, word in enumerate(view.columns.statuses) if word == status]
    return in_queue_order(view.columns, found)[:MOST_ROWS]
