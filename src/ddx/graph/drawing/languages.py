"""A scene in the languages of other tools: mermaid and Graphviz's dot. Pure.

Whatever stands in a title stays text there: it can neither end its label nor start markup.
"""

from __future__ import annotations

from ddx.graph.drawing.scene import DECLARED, GAP, LINK, REPLACED, ROW_NAMES, SPEC_REF, SUPERSEDED
from ddx.text import cut, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.drawing.scene import Box, Scene

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
    words = cut(shown_on_one_line(f"{box.name} {box.title}".rstrip()), _WIDEST + len(box.name))
    notes = {SUPERSEDED: " (superseded)", GAP: " (missing)"}
    return words + notes.get(box.look, "")


def _in_mermaid(text: str) -> str:
    return "".join(
        mark if mark.isalnum() or mark in _PLAIN_IN_MERMAID else f"#{ord(mark)};" for mark in text
    )


def _in_dot(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
