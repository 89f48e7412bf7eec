"""`ddx bead blocked`"""

from __future__ import annotations

from ddx.cli.rows import answer_rows, listed_row
from ddx.cli.session import open_tracker, surroundings
from ddx.console.screen import say, table
from ddx.console.spec import JSON, Command
from ddx.tracker.explain import shown_blocker, spoken_blocker
from ddx.tracker.queue import blocker, in_queue_order, unfinished


def run(*, json: bool) -> int:
    tracker = open_tracker()
    view = tracker.snapshot()
    around = surroundings(tracker)
    columns = view.columns
    found = [
        (n, held)
        for n in in_queue_order(columns, unfinished(columns))
        if (held := blocker(columns, n, around)) is not None
    ]
    if json:
        answer_rows(
            [listed_row(view, n, blocker=shown_blocker(view, n, held)) for n, held in found]
        )
    elif found:
        table(
            ("id", "blocked by", "why", "title"),
            [
                (columns.ids[n], held.kind, spoken_blocker(view, n, held), columns.titles[n])
                for n, held in found
            ],
        )
    else:
        say("nothing is blocked")
    return 0


COMMAND = Command(
    "bead blocked",
    "List the unfinished beads that no agent can be handed now, each with its reason.",
    run,
    "ddx bead blocked --json",
    flags=(JSON,),
    schema="bead-blocked",
)
