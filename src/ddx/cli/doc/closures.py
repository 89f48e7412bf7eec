"""What `ddx doc deps` and `ddx doc dependents` share: one walks up, the other down."""

from __future__ import annotations

from ddx.cli.doc.rendering import pairs, reached_as_json, tree
from ddx.cli.doc.session import load
from ddx.console.screen import answer_json, say
from ddx.console.spec import Argument, Flag
from ddx.fastjson import dumps
from ddx.graph.walk import MAX_DEPTH, closure

ID = Argument("id", "the document's id, in any case, or its path")
DEPTH = Flag("--depth", f"at most this many steps; {MAX_DEPTH} if not given", kind="number")


def show_closure(name: str, *, down: bool, depth: int | None, none: str, json: bool) -> int:
    """All that follows from a document, or all that it follows from."""
    _, graph = load()
    start = graph.require(name)
    most = MAX_DEPTH if depth is None else depth
    found = closure(graph, [start], down=down, max_depth=most)
    if json:
        answer = pairs(
            root=dumps(graph.ids[start]),
            depth=str(most),
            documents=reached_as_json(graph, found, down=down),
        )
        answer_json(f"{{{answer}}}")
        return 0
    for line in tree(graph, start, found):
        say(line)
    if not found:
        say(f"  {none}")
    return 0
