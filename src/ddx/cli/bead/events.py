"""`ddx bead events`"""

from __future__ import annotations

from ddx.cli.place import CLOCK
from ddx.cli.session import open_tracker
from ddx.console.screen import answer, dim, excerpt, say, when
from ddx.console.spec import ID, JSON, Command
from ddx.tracker.events import joined
from ddx.tracker.model import events_of, text_of


def run(*, id: str, json: bool) -> int:
    tracker = open_tracker()
    row = tracker.snapshot().row(id)
    events = joined(tracker.attachments.events(id), events_of(row))
    if json:
        answer(list(events))
        return 0
    for happened in events:
        at, kind, who = (text_of(happened, key) for key in ("created_at", "kind", "actor"))
        say(
            dim(when(at, now=CLOCK.stamp())),
            f"  {kind}{f' by {who}' if who else ''}: {text_of(happened, 'summary')}",
        )
        for line in excerpt(text_of(happened, "body")).splitlines():
            say(f"    {line}")
    if not events:
        say(f"{id} has no events")
    return 0


COMMAND = Command(
    "bead events",
    "Show what happened to a bead, oldest first.",
    run,
    "ddx bead events app-1a2b3c4d",
    arguments=(ID,),
    flags=(JSON,),
    schema="bead-events",
)
