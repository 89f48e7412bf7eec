"""What programs do with the beads of a project, and the rows that they answer with (T-19).

The commands of `ddx bead` print these rows with --json, and the tools of `helix mcp` give them as
they are.
"""

from __future__ import annotations

import os

from ddx.base import NotFound, login, variable
from ddx.tracker.queue import blockers, ready, ready_for_execution
from ddx.tracker.row import RUNNER, decode, events_of, id_prefix, status_of, text_of
from ddx.tracker.tracker import open_tracker, queue_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ddx.project import Project
    from ddx.tracker.changeset import ChangeSet
    from ddx.tracker.edits import BeadPatch
    from ddx.tracker.lifecycle import BeadClosure, Claimant
    from ddx.tracker.queue import QueueContext
    from ddx.tracker.row import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.tracker import ChangeResult, Tracker


# -- rows ------------------------------------------------------------------------------------


def ready_rows(tracker: Tracker, *, limit: int) -> list[Row]:
    """The beads that can be worked on now, the next one first, as every list shows them."""
    view = tracker.snapshot()
    columns = view.columns
    return [
        {
            **decode(view.line(n)),
            **({"assignee": columns.owners[n]} if columns.owners[n] else {}),
            "revision": columns.revisions[n],
        }
        for n in ready(columns, queue_context(tracker))[:limit]
    ]


def full_row(tracker: Tracker, view: Snapshot, bead_id: str, around: QueueContext) -> Row:
    """Everything known of a bead: its row, its kept events, and its place among the others."""
    from ddx.tracker.changeset import joined
    from ddx.tracker.explanation import shown_blocker

    row = view.row(bead_id)
    n = view.columns.place.get(bead_id)
    owner = text_of(row, "owner") or text_of(row, "assignee")
    events = joined(tracker.attachments.events(bead_id), events_of(row))
    finished = n is None or status_of(row) in ("closed", "cancelled")
    held = () if n is None or finished else blockers(view.columns, n, around)
    return {
        **row,
        **({"events": list(events)} if events else {}),
        **({"assignee": owner} if owner else {}),
        "revision": view.revision(bead_id),
        "archived": n is None,
        "ready": n is not None and n in ready(view.columns, around),
        "blockers": [shown_blocker(view, n, item) for item in held if n is not None],
        "children": list(view.children(bead_id)),
        "dependents": list(view.dependents(bead_id)),
    }


def changed_row(applied: ChangeResult, bead_id: str) -> Row:
    """A row as a command that changed it shows it."""
    return _with_computed(applied.rows[bead_id], applied.revisions[bead_id])


def row_after(tracker: Tracker, applied: ChangeResult, bead_id: str) -> Row:
    """The same, for a command that may have found nothing to change."""
    if bead_id in applied.rows:
        return changed_row(applied, bead_id)
    view = tracker.snapshot()
    return _with_computed(view.row(bead_id), view.revision(bead_id))


def created_rows(applied: ChangeResult) -> dict[str, Any]:
    ids = list(applied.created)
    return {"ids": ids, "beads": [changed_row(applied, bead_id) for bead_id in ids]}


def _with_computed(row: Row, revision: str) -> Row:
    owner = row.get("owner")
    return {
        **dict(sorted(row.items())),
        **({"assignee": owner} if owner else {}),
        "revision": revision,
    }


# -- changes ---------------------------------------------------------------------------------


def create_beads(tracker: Tracker, drafts: Sequence[Mapping[str, Any]], *, by: str) -> ChangeResult:
    """All of the drafts as beads, or none."""
    from ddx.project import read_settings
    from ddx.tracker.edits import create

    settings = read_settings(tracker.project, clock=tracker.clock)
    draw_id = id_maker(tracker.project, prefix=settings.bead_prefix)
    return tracker.change(lambda view, now: create(view, drafts, now=now, by=by, draw_id=draw_id))


def update_bead(
    tracker: Tracker, bead_id: str, patch: BeadPatch, *, by: str, if_revision: str = ""
) -> ChangeResult:
    """With `if_revision` only if nobody has changed it meanwhile."""
    from ddx.tracker.edits import update

    return tracker.change(
        lambda view, now: update(view, bead_id, patch, now=now, by=by),
        expect={bead_id: if_revision} if if_revision else None,
    )


def claim_bead(
    tracker: Tracker, bead_id: str, who: Claimant, *, claim_id: str = "", if_revision: str = ""
) -> ChangeResult:
    """Make the bead theirs; one that somebody holds is a conflict."""
    from ddx.tracker.lifecycle import claim

    ticket = claim_id or _new_claim_id()
    return tracker.change(
        lambda view, now: claim(view, bead_id, who, claim_id=ticket, now=now),
        expect={bead_id: if_revision} if if_revision else None,
    )


def take_next(tracker: Tracker, who: Claimant) -> ChangeResult:
    """Claim the next bead that is ready for execution, in one step."""
    from ddx.tracker.lifecycle import claim

    around = queue_context(tracker)

    def decide(view: Snapshot, now: str) -> ChangeSet:
        queue = ready_for_execution(view.columns, around)
        if not queue:
            raise NotFound("nothing is ready for execution", hint="see why: ddx bead blocked")
        bead_id = view.columns.ids[queue[0]]
        return claim(view, bead_id, who, claim_id=_new_claim_id(), now=now)

    return tracker.change(decide)


def close_bead(
    tracker: Tracker,
    bead_id: str,
    ending: BeadClosure,
    *,
    by: str,
    claim_id: str = "",
    force: bool = False,
    cascade: bool = False,
    if_revision: str = "",
) -> ChangeResult:
    """Closed, and committed where the project wants that; its evidence must be there."""
    from ddx.base import changed
    from ddx.project import read_settings
    from ddx.tracker.lifecycle import close

    ending = changed(ending, commit=_full_commit(tracker.project, ending.commit))
    applied = tracker.change(
        lambda view, now: close(
            view,
            bead_id,
            ending,
            actor=by,
            now=now,
            claim_id=claim_id,
            force=force,
            cascade=cascade,
        ),
        expect={bead_id: if_revision} if if_revision else None,
    )
    settings = read_settings(tracker.project, clock=tracker.clock)
    if applied.rows and settings.tracker_commit == "on-close":
        from ddx.tracker.setup import commit_tracker

        commit_tracker(tracker.project, message=f"tracker: close {bead_id}")
    return applied


def _full_commit(project: Project, name: str) -> str:
    """Evidence that nobody can find is none."""
    if not name:
        return ""
    from ddx.git import commit_id

    found = commit_id(project.root, name)
    if not found:
        raise NotFound(f"{project.root} has no commit {name!r}", hint="for example: --commit HEAD")
    return found


def claimant(owner: str, project: Project, *, actor: str, runner_pid: int) -> Claimant:
    """Who claims: the name given, else git's, else the login; a runner with its process (T-24)."""
    from ddx.tracker.lifecycle import Claimant

    machine = os.uname().nodename
    if owner == RUNNER:
        from ddx.base import started_at

        return Claimant(RUNNER, machine, runner_pid, pid_start=started_at(runner_pid))
    if not owner:
        from ddx.git import user_name

        owner = user_name(project.root) or actor or "someone"
    return Claimant(owner, machine)


def id_maker(project: Project, *, prefix: str) -> Callable[[], str]:
    """New ids by chance: `<prefix>-<8 hex>` (T-3)."""
    start = id_prefix(prefix or project.name)
    return lambda: f"{start}-{os.urandom(4).hex()}"


def _new_claim_id() -> str:
    return os.urandom(8).hex()


class BeadRows:
    """The beads of a project for a program that speaks JSON: each answer is what `--json` prints.

    Whoever the environment names changes them, unless a call names another owner.
    """

    def __init__(self, project: Project, *, command: str, tell: Callable[[str], None]) -> None:
        self._tracker = open_tracker(project, command=command, tell=tell)
        self._by = variable("DDX_AGENT_NAME") or login()

    def ready(self, *, limit: int) -> list[Row]:
        return ready_rows(self._tracker, limit=limit)

    def show(self, bead_id: str) -> Row:
        view = self._tracker.snapshot()
        return full_row(self._tracker, view, bead_id, queue_context(self._tracker))

    def take(self, owner: str) -> Row:
        applied = take_next(self._tracker, self._claimant(owner))
        (bead_id,) = applied.rows
        return changed_row(applied, bead_id)

    def claim(self, bead_id: str, owner: str) -> Row:
        return self._after(claim_bead(self._tracker, bead_id, self._claimant(owner)), bead_id)

    def create(self, draft: Mapping[str, Any]) -> dict[str, Any]:
        return created_rows(create_beads(self._tracker, [draft], by=self._by))

    def update(self, bead_id: str, patch: BeadPatch, *, if_revision: str = "") -> Row:
        applied = update_bead(self._tracker, bead_id, patch, by=self._by, if_revision=if_revision)
        return self._after(applied, bead_id)

    def close(self, bead_id: str, ending: BeadClosure, *, claim_id: str = "") -> Row:
        applied = close_bead(self._tracker, bead_id, ending, by=self._by, claim_id=claim_id)
        return self._after(applied, bead_id)

    def _after(self, applied: ChangeResult, bead_id: str) -> Row:
        return row_after(self._tracker, applied, bead_id)

    def _claimant(self, owner: str) -> Claimant:
        return claimant(owner, self._tracker.project, actor=self._by, runner_pid=os.getpid())
