"""`ddx bead ready`"""

from __future__ import annotations

from ddx.cli.bead.listing import show_beads
from ddx.cli.session import open_tracker, surroundings
from ddx.console.spec import JSON, Command, Flag
from ddx.tracker.queue import ready, ready_for_execution


def run(*, execution: bool, limit: int | None, json: bool) -> int:
    tracker = open_tracker()
    view = tracker.snapshot()
    choose = ready_for_execution if execution else ready
    places = choose(view.columns, surroundings(tracker))
    none = "nothing is ready; see why: ddx bead blocked"
    return show_beads(view, places[:limit], json=json, none=none)


COMMAND = Command(
    "bead ready",
    "List the beads that can be worked on now, the next one first.",
    run,
    "ddx bead ready --execution --json",
    flags=(
        Flag("--execution", "only what an agent may be handed", kind="switch"),
        Flag("--limit", "at most this many", kind="number"),
        JSON,
    ),
    schema="bead-list",
)
