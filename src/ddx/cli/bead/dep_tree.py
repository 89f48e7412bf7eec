"""`ddx bead dep tree`"""

from __future__ import annotations

from ddx.cli.session import open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import ID, JSON, Command
from ddx.tracker.model import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.tracker.snapshot import Snapshot


def run(*, id: str, json: bool) -> int:
    view = open_tracker().snapshot()
    view.row(id)
    if json:
        answer(closure(view, id))
    else:
        for line in _drawn(view, id):
            say(line)
    return 0


def closure(view: Snapshot, bead_id: str) -> dict[str, object]:
    """Everything that a bead waits for, directly or not: each bead once, with its edges."""
    seen: dict[str, tuple[str, ...]] = {}
    unseen = [bead_id]
    while unseen:
        current = unseen.pop()
        if current not in seen:
            seen[current] = view.waits_for(current)
            unseen += seen[current]
    beads = [
        {
            "id": current,
            "status": view.status(current) or "unknown",
            "title": text_of(view.find(current) or {}, "title"),
            "waits_for": list(waits_for),
        }
        for current, waits_for in seen.items()
    ]
    return {"root": bead_id, "beads": beads}


def _drawn(view: Snapshot, root: str) -> Iterator[str]:
    """Depth first without recursion: a chain of ten thousand beads is drawn too."""
    drawn: set[str] = set()
    unseen = [(root, "", "")]
    while unseen:
        bead_id, lead, below = unseen.pop()
        again = bead_id in drawn and bool(view.waits_for(bead_id))
        title = text_of(view.find(bead_id) or {}, "title")
        more = "  (drawn above)" if again else ""
        yield f"{lead}{bead_id} [{view.status(bead_id) or 'unknown'}] {title}{more}"
        drawn.add(bead_id)
        wanted = () if again else view.waits_for(bead_id)
        for place, child in enumerate(reversed(wanted)):
            last = place == 0
            branch, rail = ("└─ ", "   ") if last else ("├─ ", "│  ")
            unseen.append((child, below + branch, below + rail))


COMMAND = Command(
    "bead dep tree",
    "Draw everything that a bead waits for, directly or not.",
    run,
    "ddx bead dep tree app-1a2b3c4d",
    arguments=(ID,),
    flags=(JSON,),
    schema="bead-dep-tree",
)
