"""`ddx bead take`"""

from __future__ import annotations

from ddx.cli.rows import changed_row
from ddx.cli.session import claimant, new_claim_id, open_tracker, surroundings
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import NotFound
from ddx.tracker.lifecycle import claim
from ddx.tracker.queue import ready_for_execution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes


def run(*, owner: str | None, json: bool) -> int:
    tracker = open_tracker()
    who = claimant(owner, tracker.project)
    around = surroundings(tracker)

    def decide(view: Snapshot, now: str) -> Changes:
        queue = ready_for_execution(view.columns, around)
        if not queue:
            raise NotFound("nothing is ready for execution", hint="see why: ddx bead blocked")
        bead_id = view.columns.ids[queue[0]]
        return claim(view, bead_id, who, claim_id=new_claim_id(), now=now)

    applied = tracker.change(decide)
    (bead_id,) = applied.rows
    row = changed_row(applied, bead_id)
    if json:
        answer(row)
    else:
        say(f"{bead_id}  {row['title']}  (claim {row['claim-id']})")
    return 0


COMMAND = Command(
    "bead take",
    "Claim the next bead that is ready for execution, in one step (exit 1 if there is none).",
    run,
    "ddx bead take --json",
    flags=(
        Flag("--owner", "the holder's name; `helix` marks a runner"),
        JSON,
    ),
    schema="bead-changed",
)
