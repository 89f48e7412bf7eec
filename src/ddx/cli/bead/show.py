"""`ddx bead show`"""

from __future__ import annotations

from ddx.cli.place import CLOCK
from ddx.cli.session import open_tracker, surroundings
from ddx.console.screen import answer, bold, dim, excerpt, say, when
from ddx.console.spec import JSON, Argument, Command
from ddx.tracker.events import joined
from ddx.tracker.explain import shown_blocker
from ddx.tracker.model import events_of, holder_of, labels_of, status_of, text_of, texts_of
from ddx.tracker.queue import blockers, ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.model import Row
    from ddx.tracker.queue import Surroundings
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker

_TEXTS = ("description", "acceptance", "design", "notes")
_LINES = ("spec-id", "parent", "superseded-by", "replaces", "close_reason", "closing_commit_sha")


def run(*, id: tuple[str, ...], json: bool) -> int:
    tracker = open_tracker()
    view = tracker.snapshot()
    around = surroundings(tracker)
    beads = [full_row(tracker, view, bead_id, around) for bead_id in dict.fromkeys(id)]
    if json:
        answer(beads[0] if len(beads) == 1 else beads)
        return 0
    for number, bead in enumerate(beads):
        if number:
            say()
        _print(bead)
    return 0


def full_row(tracker: Tracker, view: Snapshot, bead_id: str, around: Surroundings) -> Row:
    """Everything known of a bead: its row, its kept events, and its place among the others."""
    row = view.row(bead_id)
    n = view.columns.place.get(bead_id)
    owner = text_of(row, "owner") or text_of(row, "assignee")
    events = joined(tracker.attachments.events(bead_id), events_of(row))
    finished = n is None or status_of(row) in ("closed", "cancelled")
    held = () if n is None or finished else blockers(view.columns, n, around)
    return {
        **row,
        **({"events": list(events)} if events else {}),
        **({"assignee": owner} if owner else {}),
        "revision": view.revision(bead_id),
        "archived": n is None,
        "ready": n is not None and n in ready(view.columns, around),
        "blockers": [shown_blocker(view, n, item) for item in held if n is not None],
        "children": list(view.children(bead_id)),
        "dependents": list(view.dependents(bead_id)),
    }


def _print(bead: Row) -> None:
    status = status_of(bead)
    if status == "in_progress":
        status = f"in progress, held by {holder_of(bead)}"
    place = "in the archive, " if bead["archived"] else ""
    say(bold(bead["id"]), "  ", text_of(bead, "title"))
    say(
        f"{place}{status}, {text_of(bead, 'issue_type') or 'task'}, priority {bead.get('priority')}"
    )
    if labels_of(bead):
        say(f"labels: {', '.join(labels_of(bead))}")
    for name in _LINES:
        if text_of(bead, name):
            say(f"{name.replace('_', ' ')}: {text_of(bead, name)}")
    for name in ("refs", "verify"):
        for text in texts_of(bead, name):
            say(f"{name}: {text}")
    for held in bead["blockers"]:
        say(f"blocked ({held['kind']}): {held['reason']}")
    if bead["children"]:
        say(f"children: {', '.join(bead['children'])}")
    if bead["dependents"]:
        say(f"waited for by: {', '.join(bead['dependents'])}")
    for name in _TEXTS:
        if text_of(bead, name):
            say("\n", dim(name), "\n", excerpt(text_of(bead, name)))
    if bead.get("events"):
        say("\n", dim("events"), f"  {len(bead['events'])}: ddx bead events {bead['id']}")
    updated = when(text_of(bead, "updated_at"), now=CLOCK.stamp())
    say("\n", dim(f"revision {bead['revision']}, updated {updated}"))


COMMAND = Command(
    "bead show",
    "Show beads whole: fields, readiness, children, what waits for them.",
    run,
    "ddx bead show app-1a2b3c4d --json",
    arguments=(Argument("id", "one or more bead ids", many=True),),
    flags=(JSON,),
    schema="bead-shown",
)
