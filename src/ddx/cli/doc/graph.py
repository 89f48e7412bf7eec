"""`ddx doc graph`"""

from __future__ import annotations

import os

from ddx.base import UsageError, harmless, replace, to_bytes
from ddx.cli.context import load_documents
from ddx.console import Argument, Command, Flag, say, write
from ddx.documents import MAX_DEPTH, dot, mermaid, picture, scene_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.documents import Scene

_FORMATS = ("mermaid", "dot", "json", "svg")
_BY_ENDING = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "json"}


@Command.of(
    example="ddx doc graph FEAT-001 --depth 2 --output feature.svg",
    arguments=(Argument("id", "the document to draw around; none: all", required=False),),
    flags=(
        Flag(
            "--format",
            "the language of the drawing; not given: by the ending of the file, else mermaid",
            kind="choice",
            choices=_FORMATS,
        ),
        Flag("--depth", "how many steps up and down from the document (10)", kind="number"),
        Flag("--output", "the file to write; none or `-`: stdout"),
    ),
    schema="doc-graph",
)
def run(*, id: str | None, format: str | None, depth: int | None, output: str | None) -> int:
    """Draw the documents and what follows from what: all of them, or those around one."""
    if depth is not None and id is None:
        raise UsageError(
            "--depth counts the steps from a document: name one",
            hint="for example: ddx doc graph FEAT-001 --depth 2",
        )
    project, graph = load_documents()
    max_depth = MAX_DEPTH if depth is None else depth
    scene = scene_of(graph, id or "", max_depth=max_depth)
    focus = "".join(f": around {box.name}" for box in scene.boxes if box.focus)
    drawn = _drawn(scene, format or _format_of(output), f"{project.name}{focus}")
    if output is None or output == "-":
        write(drawn)
    else:
        replace(os.path.abspath(output), (drawn,))
        count = len(scene.documents)
        say(f"{count} {'document' if count == 1 else 'documents'} drawn in {output}")
    return 0


def _format_of(output: str | None) -> str:
    return _BY_ENDING.get(os.path.splitext(output or "")[1].lower(), "mermaid")


def _drawn(scene: Scene, format: str, heading: str) -> bytes:
    match format:
        case "dot":
            return dot(scene).encode("utf-8")
        case "json":
            return harmless(to_bytes(_json(scene))) + b"\n"
        case "svg":
            return picture(scene, heading=heading).encode("utf-8")
        case _:
            return mermaid(scene).encode("utf-8")


def _json(scene: Scene) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "id": document.id,
                "type": document.type or None,
                "tier": document.tier,
                "status": document.status or None,
                "title": document.title,
                "path": document.path,
                "superseded": document.id in scene.superseded,
                "superseded_by": list(document.superseded_by),
            }
            for document in scene.documents
        ],
        "edges": [dict(edge.__dict__) for edge in scene.edges],
        "gaps": [dict(gap.__dict__) for gap in scene.gaps],
    }
