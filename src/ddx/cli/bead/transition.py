"""How commands that move a bead from one status to another end."""

from __future__ import annotations

from ddx.cli.place import actor, tell
from ddx.cli.rows import row_after
from ddx.cli.session import open_tracker
from ddx.console.screen import answer, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Applied, Tracker
    from ddx.tracker.working import Changes

    class Transition(Protocol):
        def __call__(
            self, view: Snapshot, bead_id: str, /, *, reason: str, actor: str, now: str
        ) -> Changes: ...


def move(
    transition: Transition,
    bead_id: str,
    *,
    reason: str,
    done: str,
    if_revision: str | None,
    json: bool,
) -> int:
    """One status change with its reason."""
    tracker = open_tracker()
    applied = tracker.change(
        lambda view, now: transition(view, bead_id, reason=reason, actor=actor(), now=now),
        expect={bead_id: if_revision} if if_revision else None,
    )
    return finish(tracker, applied, bead_id, f"{bead_id} {done}", json=json)


def finish(tracker: Tracker, applied: Applied, bead_id: str, sentence: str, *, json: bool) -> int:
    for remark in applied.remarks:
        tell(remark)
    if json:
        answer(row_after(tracker, applied, bead_id))
    elif applied.rows:
        say(sentence)
    return 0
