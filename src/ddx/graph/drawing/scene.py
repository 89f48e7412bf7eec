"""What a drawing shows: all documents or those around one, their links, and what is missing. Pure.

Mermaid, dot, JSON and the picture are four views of one scene.
"""

from __future__ import annotations

import re

from ddx.graph.authority import LAST, tier_of, type_of
from ddx.graph.walk import MAX_DEPTH, closure
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.graph.graph import Graph
    from ddx.graph.model import Document, Edge

ROW_NAMES = {
    0: "Vision",
    1: "Requirements",
    2: "Features",
    3: "User stories",
    4: "Architecture and decisions",
    5: "Solution designs",
    6: "Technical designs",
    7: "Test plans",
    8: "Tests and metrics",
    9: "Implementation plan",
    10: "Code",
    LAST: "Without a tier",
}
"""The rows of a drawing, from the most authority to none."""

DOCUMENT, SUPERSEDED, GAP = "document", "superseded", "gap"
DECLARED, LINK, SPEC_REF, REPLACED = "depends_on", "link", "spec-ref", "replaced"

# A finding says in words what it is about; these are the sentences of assemble.py.
_MISSING = re.compile(r"(?:names (.+), which|its successor (.+)) does not exist", re.S)
_AFTER_ID = " \t:.|–—-"  # noqa: RUF001


@value
class Gap:
    """A name that leads nowhere, and who gives it where (G-3)."""

    writer: str
    target: str
    path: str
    line: int


@value
class Box:
    """A document, or the empty place of one that is missing."""

    name: str
    title: str
    row: int
    look: str
    status: str
    about: str
    """All that there is to say of it, for who asks."""
    focus: bool = False


@value
class Arrow:
    """From upstream to downstream, by the places of the boxes; `look` says who claims so."""

    start: int
    end: int
    look: str
    about: str


@value
class Scene:
    documents: tuple[Document, ...]
    superseded: frozenset[str]
    edges: tuple[Edge, ...]
    gaps: tuple[Gap, ...]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def scene_of(graph: Graph, around: str = "", *, max_depth: int = MAX_DEPTH) -> Scene:
    """Everything, or one document with what it follows from and what follows from it."""
    numbers, focus = list(range(len(graph))), -1
    if around:
        focus = graph.require(around)
        above = closure(graph, [focus], down=False, max_depth=max_depth)
        below = closure(graph, [focus], down=True, max_depth=max_depth)
        numbers = sorted({focus, *(item.n for item in (*above, *below))})
    drawn = {graph.ids[n]: place for place, n in enumerate(numbers)}
    edges = tuple(edge for edge in graph.edges() if edge.up in drawn and edge.down in drawn)
    gaps = tuple(gap for gap in _gaps(graph) if not around or gap.writer in drawn)
    boxes = [_document_box(graph, n, focus=n == focus) for n in numbers]
    arrows = [
        Arrow(drawn[edge.up], drawn[edge.down], edge.origin, f"{edge.path}:{edge.line}")
        for edge in edges
    ]
    arrows += [
        Arrow(place, drawn[graph.ids[heir]], REPLACED, graph.paths[n])
        for place, n in enumerate(numbers)
        for heir in graph.heirs(n)
        if graph.ids[heir] in drawn
    ]
    missing = _missing_boxes(gaps, first=len(boxes))
    arrows += _gap_arrows(gaps, drawn, boxes, missing)
    return Scene(
        tuple(map(graph.document, numbers)),
        frozenset(graph.ids[n] for n in numbers if graph.is_superseded(n)),
        edges,
        gaps,
        (*boxes, *(box for _, box in missing.values())),
        tuple(arrows),
    )


def _document_box(graph: Graph, n: int, *, focus: bool) -> Box:
    document = graph.document(n)
    superseded = graph.is_superseded(n)
    status = document.status or (SUPERSEDED if superseded else "")
    successors = f", by {' '.join(document.superseded_by)}" if document.superseded_by else ""
    about = f"{document.id}: {document.title}\n{document.path}"
    if status:
        about += f"\n{status}{successors}"
    return Box(
        document.id,
        _bare_title(document),
        LAST if document.tier is None else document.tier,
        SUPERSEDED if superseded else DOCUMENT,
        status,
        about,
        focus,
    )


def _bare_title(document: Document) -> str:
    """The title without the id that many authors begin it with; empty if nothing is left."""
    rest = document.title
    if rest.casefold().startswith(document.id.casefold()):
        rest = rest[len(document.id) :]
        return rest.strip(_AFTER_ID) if rest[:1] in ("", *_AFTER_ID) else document.title
    return rest


def _gaps(graph: Graph) -> Iterator[Gap]:
    owners = dict(zip(graph.paths, graph.ids, strict=True))
    for finding in graph.findings():
        if finding.kind != "gap":
            continue
        writer = owners.get(finding.path, finding.path)
        found = _MISSING.match(finding.what.removeprefix(f"{writer} "))
        if found is not None:
            yield Gap(writer, found[1] or found[2], finding.path, finding.line)


def _missing_boxes(gaps: Sequence[Gap], *, first: int) -> dict[str, tuple[int, Box]]:
    """One empty place for each name, in the row where its document would stand."""
    places: dict[str, list[Gap]] = {}
    for gap in sorted(gaps, key=lambda gap: (gap.target, gap.path, gap.line)):
        places.setdefault(gap.target.casefold(), []).append(gap)
    found = {}
    for place, (key, givers) in enumerate(places.items(), start=first):
        name = givers[0].target
        tier = tier_of(type_of("", name, ""))
        where = "\n".join(f"named in {gap.path}:{gap.line}" for gap in givers)
        row = LAST if tier is None else tier
        found[key] = (place, Box(name, "", row, GAP, "", f"{name} does not exist\n{where}"))
    return found


def _gap_arrows(
    gaps: Sequence[Gap],
    drawn: dict[str, int],
    boxes: Sequence[Box],
    missing: dict[str, tuple[int, Box]],
) -> Iterator[Arrow]:
    """The higher authority is upstream, as it would be if the document were there (G-5)."""
    seen = set()
    for gap in gaps:
        writer = drawn.get(gap.writer)
        place, box = missing[gap.target.casefold()]
        if writer is None or (writer, place) in seen:
            continue
        seen.add((writer, place))
        start, end = (writer, place) if boxes[writer].row < box.row else (place, writer)
        yield Arrow(start, end, GAP, f"{gap.path}:{gap.line}")
