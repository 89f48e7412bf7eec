"""Commands that move one bead to another status, or let it wait for another bead."""

from __future__ import annotations

from ddx.base import UsageError, listed
from ddx.cli.context import actor, open_tracker, respond, tell
from ddx.console import ID, IF_REVISION, JSON, REASON, Argument, Command, Flag
from ddx.tracker import (
    BeadClosure,
    add_dependency,
    block,
    cancel,
    close_bead,
    remove_dependency,
    reopen,
    row_after,
    supersede,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from ddx.tracker import ChangeResult, ChangeSet, Snapshot, Tracker

    class Transition(Protocol):
        def __call__(
            self, view: Snapshot, bead_id: str, /, *, reason: str, actor: str, now: str
        ) -> ChangeSet: ...


def change_bead(
    bead_id: str,
    decide: Callable[[Snapshot, str], ChangeSet],
    done: str,
    *,
    json: bool,
    if_revision: str | None = None,
) -> int:
    """One change, if the bead still has that revision, and how the command ends."""
    tracker = open_tracker()
    applied = tracker.change(decide, expect={bead_id: if_revision} if if_revision else None)
    return finish(tracker, applied, bead_id, done, json=json)


def finish(tracker: Tracker, applied: ChangeResult, bead_id: str, done: str, *, json: bool) -> int:
    """The bead as it is now; where nothing was changed a person hears nothing."""
    for remark in applied.remarks:
        tell(remark)
    row = row_after(tracker, applied, bead_id) if json else None
    return respond(row, *([done] if applied.rows else []), json=json)


@Command.of(
    example='ddx bead close app-1a2b3c4d --reason "throttled after 5 tries" --commit HEAD',
    arguments=(ID,),
    flags=(
        Flag("--reason", "what was done"),
        Flag("--commit", "the commit that did it"),
        Flag("--session", "the session that did it"),
        Flag("--claim-id", "the claim must still be this one (exit 5 otherwise)"),
        Flag("--force", "close it all the same", kind="switch"),
        Flag("--cascade", "close its epic too, if this was the last open child", kind="switch"),
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
def close(
    *,
    id: str,
    reason: str | None,
    commit: str | None,
    session: str | None,
    claim_id: str | None,
    force: bool,
    cascade: bool,
    if_revision: str | None,
    json: bool,
) -> int:
    """Close a bead; its open children and dependencies must be closed first."""
    tracker = open_tracker()
    applied = close_bead(
        tracker,
        id,
        BeadClosure(reason or "", commit or "", session or ""),
        by=actor(),
        claim_id=claim_id or "",
        force=force,
        cascade=cascade,
        if_revision=if_revision or "",
    )
    return finish(tracker, applied, id, f"{id} is closed", json=json)


def _status_change(word: str, change: Transition, done: str, *, summary: str, why: str) -> Command:
    """A change of status that needs nothing but its reason; `why` is the one in the example."""

    def run(*, id: str, reason: str, if_revision: str | None, json: bool) -> int:
        return change_bead(
            id,
            lambda view, now: change(view, id, reason=reason, actor=actor(), now=now),
            f"{id} {done}",
            if_revision=if_revision,
            json=json,
        )

    return Command(
        summary=summary,
        run=run,
        example=f'ddx bead {word} app-1a2b3c4d --reason "{why}"',
        arguments=(ID,),
        flags=(REASON, IF_REVISION, JSON),
        schema="bead-changed",
    )


@Command.of(
    example='ddx bead supersede app-1a2b3c4d --by app-5e6f7a8b --reason "split in two"',
    arguments=(ID,),
    flags=(
        Flag(
            "--by",
            "the replacement; several by commas or repeated",
            many=True,
            joined=True,
            required=True,
        ),
        REASON,
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
def supersede_bead(
    *, id: str, by: tuple[str, ...], reason: str, if_revision: str | None, json: bool
) -> int:
    """Put other beads in the place of one; what waited for it waits for them."""
    if not by:
        raise UsageError("--by names the bead that takes the place")
    return change_bead(
        id,
        lambda view, now: supersede(view, id, by=by, reason=reason, actor=actor(), now=now),
        f"{id} is superseded by {listed(by)}",
        if_revision=if_revision,
        json=json,
    )


def _dependency(
    word: str, change: Callable[[Snapshot, str, str, str], ChangeSet], done: str, *, summary: str
) -> Command:
    """A change between a bead and the one that it waits for."""

    def run(*, id: str, wanted: str, if_revision: str | None, json: bool) -> int:
        return change_bead(
            id,
            lambda view, now: change(view, id, wanted, now),
            f"{id} {done.format(wanted)}",
            if_revision=if_revision,
            json=json,
        )

    return Command(
        summary=summary,
        run=run,
        example=f"ddx bead dep {word} app-1a2b3c4d app-5e6f7a8b",
        arguments=(ID, Argument("wanted", "the bead that it waits for")),
        flags=(IF_REVISION, JSON),
        schema="bead-changed",
    )


REOPEN = _status_change(
    "reopen",
    reopen,
    "is open again",
    summary="Open a closed, cancelled, blocked or proposed bead again.",
    why="the throttle resets too late",
)
CANCEL = _status_change(
    "cancel",
    cancel,
    "is cancelled",
    summary="Give a bead up; whatever waits for it stays blocked.",
    why="the product is discontinued",
)
BLOCK = _status_change(
    "block",
    block,
    "is blocked",
    summary="Hold a bead back for a reason that the tracker cannot see.",
    why="the vendor has sent no key yet",
)
DEP_ADD = _dependency(
    "add",
    lambda view, bead_id, wanted, now: add_dependency(view, bead_id, wanted, now=now, by=actor()),
    "waits for {} now",
    summary="Let a bead wait for another one.",
)
DEP_REMOVE = _dependency(
    "remove",
    lambda view, bead_id, wanted, now: remove_dependency(view, bead_id, wanted, now=now),
    "does not wait for {} any more",
    summary="Let a bead wait no longer for another one.",
)
