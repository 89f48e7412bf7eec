"""Events of closed beads, beside the tracker instead of in it (T-6)."""

from __future__ import annotations

import os

from ddx.fastjson import loads, to_bytes
from ddx.files import replace
from ddx.tracker.events import attachment_name, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.model import Row


class Attachments:
    """One folder a bead."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)

    def path(self, bead_id: str) -> str:
        return os.path.join(self.folder, attachment_name(bead_id), "events.jsonl")

    def events(self, bead_id: str) -> tuple[Row, ...]:
        try:
            with open(self.path(bead_id), "rb") as file:
                lines = [line for line in file.read().splitlines() if line.strip()]
        except FileNotFoundError:
            return ()
        return tuple(_event(self.path(bead_id), n, line) for n, line in enumerate(lines, start=1))

    def add(self, bead_id: str, events: tuple[Row, ...]) -> None:
        """Before the row lets go of them, so a crash between leaves them twice, never none.

        A close that is told again in the same words, after nothing new, is the one that a crash
        cut off.
        """
        kept = self.events(bead_id)
        if kept and events and _is_same_close(kept[-1], events[-1]):
            is_again = all(happened in kept for happened in events[:-1])
            kept = kept[:-1] if is_again else kept
        everything = joined(kept, events)
        if everything:
            lines = (to_bytes(dict(sorted(item.items()))) + b"\n" for item in everything)
            replace(self.path(bead_id), tuple(lines), near=self.folder)


def _is_same_close(one: Row, other: Row) -> bool:
    return one.get("kind") == "closed" and {**one, "created_at": ""} == {**other, "created_at": ""}


def _event(path: str, number: int, line: bytes) -> Row:
    from ddx.tracker.index import corrupt

    try:
        return dict(loads(line.decode("utf-8")))
    except (ValueError, TypeError) as problem:
        raise corrupt(path, number, str(problem)) from None
