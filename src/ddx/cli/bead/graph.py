"""`ddx bead graph`"""

from __future__ import annotations

from ddx.cli.session import open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import Command, Flag
from ddx.text import cut, shown_on_one_line
from ddx.tracker.model import FINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.snapshot import Snapshot

_WIDEST = 60


def run(*, format: str, all: bool) -> int:
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
    title = cut(shown_on_one_line(columns.titles[n]), _WIDEST)
    return f"{columns.ids[n]} {title} ({columns.statuses[n]})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


COMMAND = Command(
    "bead graph",
    "Draw the open beads and what waits for what.",
    run,
    "ddx bead graph --format mermaid",
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
