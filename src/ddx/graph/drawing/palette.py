"""The colours and line styles of a picture, light and dark. Pure.

Plain rules instead of CSS variables, so that converters without them draw it too. Every rule
begins with our own class: the picture may stand inside a page.
"""

from __future__ import annotations

from ddx.graph.authority import LAST

_LIGHT = {
    "paper": "#ffffff",
    "band": "#f4f6f9",
    "fill": "#ffffff",
    "line": "#cdd5df",
    "text": "#18212c",
    "soft": "#5a6675",
    "old-fill": "#eceff3",
    "old": "#6b7683",
    "gap-fill": "#fff1f1",
    "gap": "#c42b35",
}
_DARK = {
    "paper": "#0f1419",
    "band": "#161c24",
    "fill": "#202832",
    "line": "#3a4653",
    "text": "#e8edf3",
    "soft": "#a0acb9",
    "old-fill": "#181f27",
    "old": "#7f8b98",
    "gap-fill": "#33191d",
    "gap": "#ff8087",
}
_ACCENTS = {
    0: ("#7c3aed", "#b394ff"),
    1: ("#4f46e5", "#98a0ff"),
    2: ("#2563eb", "#7fb0ff"),
    3: ("#0284c7", "#62c3f5"),
    4: ("#0d9488", "#4fd1c0"),
    5: ("#15924b", "#5fd08b"),
    6: ("#5f8a0b", "#a8cf4c"),
    7: ("#b07908", "#ecbe4a"),
    8: ("#cf5a12", "#ffa166"),
    9: ("#a1512f", "#e0a184"),
    10: ("#64707f", "#a9b6c5"),
    LAST: ("#8a8f98", "#8f99a5"),
}
"""The colour of each row, on light and on dark paper."""

_SHAPES = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.heading{font-size:20px;font-weight:650}
.row{font-size:13px;font-weight:600}
.soft{font-size:12px}
.name{font-size:13px;font-weight:650}
.words{font-size:11.5px}
.status{font-size:10px;text-anchor:end}
.body{stroke-width:1.2}
.focus .body{stroke-width:3}
.superseded .body{stroke-dasharray:5 4}
.superseded .name{text-decoration:line-through}
.superseded .words{text-decoration:line-through}
.gap .body{stroke-dasharray:5 3;stroke-width:1.6}
.way{fill:none;stroke-width:1.5}
.link .way{stroke-width:1.2;stroke-opacity:.75}
.spec-ref .way{stroke-dasharray:1.5 3.5;stroke-linecap:round;stroke-width:1.8}
.replaced .way{stroke-dasharray:6 4}
.gap .way{stroke-dasharray:5 3}
.arrow:hover .way{stroke-width:3.5;stroke-opacity:1}
.box:hover .body{stroke-width:2.6}
"""


def style(boxes: int) -> str:
    """The rules for a picture with so many boxes."""
    shapes = _scoped(_SHAPES.strip().split("\n"))
    light, dark = _scoped(_colours(_LIGHT, 0)), _scoped(_colours(_DARK, 1))
    return f"{shapes}{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n{_pointed_at(boxes)}"


def _scoped(rules: list[str]) -> str:
    return "".join(f".ddx-graph {rule}\n" for rule in rules)


def _colours(of: dict[str, str], paper: int) -> list[str]:
    rules = [
        f".paper{{fill:{of['paper']}}}",
        f".band{{fill:{of['band']}}}",
        f"text{{fill:{of['text']}}}",
        f".soft{{fill:{of['soft']}}}",
        f".row{{fill:{of['soft']}}}",
        f".status{{fill:{of['soft']}}}",
        f".body{{fill:{of['fill']};stroke:{of['line']}}}",
    ]
    for row, colours in _ACCENTS.items():
        rules += (
            f".r{row} .accent{{fill:{colours[paper]}}}",
            f".r{row} .tip{{fill:{colours[paper]}}}",
            f".r{row} .way{{stroke:{colours[paper]}}}",
            f".r{row}.focus .body{{stroke:{colours[paper]}}}",
        )
    return [
        *rules,
        f".superseded .body{{fill:{of['old-fill']};stroke:{of['old']}}}",
        f".superseded text{{fill:{of['old']}}}",
        f".gap .body{{fill:{of['gap-fill']};stroke:{of['gap']}}}",
        f".gap text{{fill:{of['gap']}}}",
        f".gap .tip{{fill:{of['gap']}}}",
        f".gap .way{{stroke:{of['gap']}}}",
        f".replaced .way{{stroke:{of['old']}}}",
        f".replaced .tip{{fill:{of['old']}}}",
    ]


def _pointed_at(boxes: int) -> str:
    """While the pointer is over a box, only its own arrows are seen well."""
    own = (
        f".ddx-graph:has(.box.b{place}:hover) .arrow.b{place}{{opacity:1}}\n"
        for place in range(boxes)
    )
    return ".ddx-graph:has(.box:hover) .arrow{opacity:.12}\n" + "".join(own)
