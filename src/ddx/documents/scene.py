"""What a drawing shows: all documents or those around one, their links, and what is missing. Pure.

Mermaid, Graphviz's dot, JSON and the picture are four views of one scene. Whatever stands in a
title stays text in them: it can neither end its label nor start markup.
"""

from __future__ import annotations

from ddx.base import cut, shown, value
from ddx.documents.graph import MAX_DEPTH
from ddx.documents.model import LAST, tier_of, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.documents.graph import Graph
    from ddx.documents.model import BrokenLink, Document, DocumentEdge

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

_AFTER_ID = " \t:.|–—-"  # noqa: RUF001
_WIDEST = 60
# Inside quotes mermaid still reads HTML, Markdown, entities and %%{directives}%%.
_PLAIN_IN_MERMAID = frozenset(" .,:_/-()+=?!")
_MERMAID_ARROWS = {
    DECLARED: "-->",
    LINK: "-->",
    SPEC_REF: "-.->",
    REPLACED: "-. replaced by .->",
    GAP: "-.->",
}
_MERMAID_CLASSES = {
    SUPERSEDED: "fill:#eeeeee,stroke:#999999,color:#777777,stroke-dasharray:4 3",
    GAP: "fill:#fff0f0,stroke:#cc2222,color:#aa1111,stroke-dasharray:5 3",
    "focus": "stroke-width:3px",
}
_DOT_BOXES = {
    SUPERSEDED: ', style="rounded,dashed", color=gray, fontcolor=gray, class=superseded',
    GAP: ', style="rounded,dashed", color=red, fontcolor=red, class=gap',
}
_DOT_ARROWS = {
    DECLARED: "",
    LINK: "",
    SPEC_REF: " [style=dotted]",
    REPLACED: ' [style=dashed, color=gray, label="replaced by", constraint=false]',
    GAP: " [style=dashed, color=red]",
}


@value
class Box:
    """A document, or the empty place of one that is missing."""

    name: str
    title: str
    row: int
    look: str
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
    edges: tuple[DocumentEdge, ...]
    gaps: tuple[BrokenLink, ...]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def scene_of(graph: Graph, around: str = "", *, max_depth: int = MAX_DEPTH) -> Scene:
    """Everything, or one document with what it follows from and what follows from it."""
    numbers, focus = list(range(len(graph))), -1
    if around:
        focus = graph.require(around)
        above = graph.closure([focus], down=False, max_depth=max_depth)
        below = graph.closure([focus], down=True, max_depth=max_depth)
        numbers = sorted({focus, *(item.n for item in (*above, *below))})
    drawn = {graph.ids[n]: place for place, n in enumerate(numbers)}
    edges = tuple(edge for edge in graph.edges() if edge.up in drawn and edge.down in drawn)
    gaps = tuple(gap for gap in graph.gaps() if not around or gap.writer in drawn)
    boxes = [_document_box(graph, n, focus=n == focus) for n in numbers]
    arrows = [
        Arrow(drawn[edge.up], drawn[edge.down], edge.origin, about=f"{edge.path}:{edge.line}")
        for edge in edges
    ]
    arrows += [
        Arrow(place, drawn[graph.ids[heir]], REPLACED, about=graph.paths[n])
        for place, n in enumerate(numbers)
        for heir in graph.heirs(n)
        if graph.ids[heir] in drawn
    ]
    missing = _missing_boxes(gaps, first=len(boxes))
    arrows += _gap_arrows(gaps, drawn, boxes, missing)
    return Scene(
        documents=tuple(map(graph.document, numbers)),
        superseded=frozenset(graph.ids[n] for n in numbers if graph.is_superseded(n)),
        edges=edges,
        gaps=gaps,
        boxes=(*boxes, *(box for _, box in missing.values())),
        arrows=tuple(arrows),
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
        name=document.id,
        title=_bare_title(document),
        row=LAST if document.tier is None else document.tier,
        look=SUPERSEDED if superseded else DOCUMENT,
        about=about,
        focus=focus,
    )


def _bare_title(document: Document) -> str:
    """The title without the id that many authors begin it with; empty if nothing is left."""
    rest = document.title
    if rest.casefold().startswith(document.id.casefold()):
        rest = rest[len(document.id) :]
        return rest.strip(_AFTER_ID) if rest[:1] in ("", *_AFTER_ID) else document.title
    return rest


def _missing_boxes(gaps: Sequence[BrokenLink], *, first: int) -> dict[str, tuple[int, Box]]:
    """One empty place for each name, in the row where its document would stand."""
    places: dict[str, list[BrokenLink]] = {}
    for gap in sorted(gaps, key=lambda gap: (gap.target, gap.path, gap.line)):
        places.setdefault(gap.target.casefold(), []).append(gap)
    found = {}
    for place, (key, givers) in enumerate(places.items(), start=first):
        name = givers[0].target
        tier = tier_of(type_of("", name, ""))
        where = "\n".join(f"named in {gap.path}:{gap.line}" for gap in givers)
        row = LAST if tier is None else tier
        found[key] = (place, Box(name, "", row, look=GAP, about=f"{name} does not exist\n{where}"))
    return found


def _gap_arrows(
    gaps: Sequence[BrokenLink],
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
        yield Arrow(start, end, GAP, about=f"{gap.path}:{gap.line}")


# -- in the languages of other tools -----------------------------------------------------------


def mermaid(scene: Scene) -> str:
    """A flowchart with one subgraph a row."""
    lines = ["flowchart TD"]
    for row, places in _rows(scene).items():
        lines.append(f'  subgraph row{row}["{ROW_NAMES[row]}"]')
        for place in places:
            lines.append(f'    n{place}["{_in_mermaid(_label(scene.boxes[place]))}"]')
        lines.append("  end")
    for arrow in scene.arrows:
        lines.append(f"  n{arrow.start} {_MERMAID_ARROWS[arrow.look]} n{arrow.end}")
    for look, style in _MERMAID_CLASSES.items():
        places = [place for place, box in enumerate(scene.boxes) if _has(box, look)]
        if places:
            names = ",".join(f"n{place}" for place in places)
            lines += [f"  classDef {look} {style}", f"  class {names} {look}"]
    return "\n".join(lines) + "\n"


def dot(scene: Scene) -> str:
    """A digraph whose ranks are the rows."""
    lines = ["digraph documents {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for row, places in _rows(scene).items():
        lines.append(f"  {{ rank=same; // {ROW_NAMES[row]}")
        for place in places:
            box = scene.boxes[place]
            look = _DOT_BOXES.get(box.look, "") + (", penwidth=3" if box.focus else "")
            lines.append(f"    n{place} [label={_in_dot(_label(box))}{look}];")
        lines.append("  }")
    for arrow in scene.arrows:
        lines.append(f"  n{arrow.start} -> n{arrow.end}{_DOT_ARROWS[arrow.look]};")
    return "\n".join([*lines, "}"]) + "\n"


def _rows(scene: Scene) -> dict[int, list[int]]:
    """The places of the boxes, row by row from the most authority to none."""
    found: dict[int, list[int]] = {row: [] for row in ROW_NAMES}
    for place, box in enumerate(scene.boxes):
        found[box.row].append(place)
    return {row: places for row, places in found.items() if places}


def _has(box: Box, look: str) -> bool:
    return box.focus if look == "focus" else box.look == look


def _label(box: Box) -> str:
    words = cut(shown(f"{box.name} {box.title}".rstrip(), one_line=True), _WIDEST + len(box.name))
    notes = {SUPERSEDED: " (superseded)", GAP: " (missing)"}
    return words + notes.get(box.look, "")


def _in_mermaid(text: str) -> str:
    return "".join(
        mark if mark.isalnum() or mark in _PLAIN_IN_MERMAID else f"#{ord(mark)};" for mark in text
    )


def _in_dot(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
