"""`ddx bead ready`, `ddx bead blocked` and `ddx bead take`: what is next, and what cannot be."""

from __future__ import annotations

from ddx.cli.bead.rows import answer_rows, listed_row, show_beads
from ddx.cli.context import claimant, open_tracker
from ddx.console import JSON, Command, Flag, answer, say, table
from ddx.tracker import (
    blocker,
    in_queue_order,
    queue_context,
    ready,
    ready_for_execution,
    unfinished,
)


@Command.of(
    example="ddx bead ready --execution --json",
    flags=(
        Flag("--execution", "only what an agent may be handed", kind="switch"),
        Flag("--limit", "at most this many", kind="number"),
        JSON,
    ),
    schema="bead-list",
)
def ready_beads(*, execution: bool, limit: int | None, json: bool) -> int:
    """List the beads that can be worked on now, the next one first."""
    tracker = open_tracker()
    view = tracker.snapshot()
    choose = ready_for_execution if execution else ready
    places = choose(view.columns, queue_context(tracker))
    none = "nothing is ready; see why: ddx bead blocked"
    return show_beads(view, places[:limit], json=json, none=none)


@Command.of(example="ddx bead blocked --json", flags=(JSON,), schema="bead-blocked")
def blocked(*, json: bool) -> int:
    """List the unfinished beads that no agent can be handed now, each with its reason."""
    from ddx.tracker import shown_blocker, spoken_blocker

    tracker = open_tracker()
    view = tracker.snapshot()
    around = queue_context(tracker)
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


@Command.of(
    example="ddx bead take --json",
    flags=(Flag("--owner", "the holder's name; `helix` marks a runner"), JSON),
    schema="bead-changed",
)
def take(*, owner: str | None, json: bool) -> int:
    """Claim the next bead that is ready for execution, in one step (exit 1 if there is none)."""
    from ddx.tracker import changed_row, take_next

    tracker = open_tracker()
    applied = take_next(tracker, claimant(owner, tracker.project))
    (bead_id,) = applied.rows
    row = changed_row(applied, bead_id)
    if json:
        answer(row)
    else:
        say(f"{bead_id}  {row['title']}  (claim {row['claim-id']})")
    return 0
