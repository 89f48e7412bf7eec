"""`ddx bead graph` and `ddx bead dep tree`: what waits for what, drawn."""

from __future__ import annotations

from ddx.base import cut, shown
from ddx.cli.context import open_tracker
from ddx.console import ID, JSON, Command, Flag, answer, say
from ddx.tracker import FINISHED, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.tracker import Snapshot

_WIDEST = 60


@Command.of(
    example="ddx bead graph --format mermaid",
    flags=(
        Flag(
            "--format",
            "the language of the drawing",
            kind="choice",
            choices=("mermaid", "dot", "json"),
            default="mermaid",
        ),
        Flag("--all", "finished beads too", kind="switch"),
    ),
    schema="bead-graph",
)
def graph(*, format: str, all: bool) -> int:
    """Draw the open beads and what waits for what."""
    view = open_tracker().snapshot()
    columns = view.columns
    places = [n for n, status in enumerate(columns.statuses) if all or status not in FINISHED]
    draw = {"mermaid": _mermaid, "dot": _dot, "json": _json}[format]
    draw(view, places)
    return 0


def _edges(view: Snapshot, places: list[int]) -> list[tuple[str, str]]:
    """From what is waited for to what waits."""
    columns = view.columns
    drawn = {columns.ids[n] for n in places}
    return [
        (wanted, columns.ids[n])
        for n in places
        for wanted in columns.waits_for[n]
        if wanted in drawn
    ]


def _mermaid(view: Snapshot, places: list[int]) -> None:
    columns = view.columns
    names = {columns.ids[n]: f"b{n}" for n in places}
    say("flowchart LR")
    for n in places:
        label = _label(view, n).replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
        say(f'  b{n}["{label}"]')
    for wanted, waiting in _edges(view, places):
        say(f"  {names[wanted]} --> {names[waiting]}")


def _dot(view: Snapshot, places: list[int]) -> None:
    columns = view.columns
    say("digraph beads {\n  rankdir=LR;\n  node [shape=box];")
    for n in places:
        say(f"  {_quoted(columns.ids[n])} [label={_quoted(_label(view, n))}];")
    for wanted, waiting in _edges(view, places):
        say(f"  {_quoted(wanted)} -> {_quoted(waiting)};")
    say("}")


def _json(view: Snapshot, places: list[int]) -> None:
    columns = view.columns
    answer(
        {
            "beads": [
                {
                    "id": columns.ids[n],
                    "title": columns.titles[n],
                    "status": columns.statuses[n],
                    "type": columns.types[n],
                    "parent": columns.parents[n] or None,
                }
                for n in places
            ],
            "edges": [
                {"from": waiting, "to": wanted, "type": "blocks"}
                for wanted, waiting in _edges(view, places)
            ],
        }
    )


def _label(view: Snapshot, n: int) -> str:
    columns = view.columns
    title = cut(shown(columns.titles[n], one_line=True), _WIDEST)
    return f"{columns.ids[n]} {title} ({columns.statuses[n]})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@Command.of(
    example="ddx bead dep tree app-1a2b3c4d", arguments=(ID,), flags=(JSON,), schema="bead-dep-tree"
)
def dep_tree(*, id: str, json: bool) -> int:
    """Draw everything that a bead waits for, directly or not."""
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
