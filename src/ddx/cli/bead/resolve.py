"""`ddx bead resolve`"""

from __future__ import annotations

from ddx.cli.bead.transition import finish
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, IF_REVISION, JSON, Command, Flag
from ddx.tracker.merge import resolve
from ddx.tracker.working import Changes, Working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ddx.tracker.snapshot import Snapshot


def run(
    *, id: str, field: str, take: Literal["ours", "theirs"], if_revision: str | None, json: bool
) -> int:
    tracker = open_tracker()

    def decide(view: Snapshot, now: str) -> Changes:
        working = Working(view, now=now)
        working.put(resolve(working.row(id), field=field, take=take))
        return working.changes()

    applied = tracker.change(decide, expect={id: if_revision} if if_revision else None)
    left = [item["field"] for item in applied.rows[id].get("merge-conflicts", [])]
    more = f"; still open: {', '.join(left)}" if left else ""
    return finish(tracker, applied, id, f"{id}: {field} is settled{more}", json=json)


COMMAND = Command(
    "bead resolve",
    "Settle a field that both sides of a merge changed.",
    run,
    "ddx bead resolve app-1a2b3c4d --field title --take theirs",
    arguments=(ID,),
    flags=(
        Flag("--field", "the field in conflict", required=True),
        Flag(
            "--take",
            "whose value stays",
            kind="choice",
            choices=("ours", "theirs"),
            required=True,
        ),
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
