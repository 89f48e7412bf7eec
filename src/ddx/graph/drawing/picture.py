"""A scene as one SVG file that needs nothing else and can be looked at anywhere. Pure.

Rows run from the vision down to the code; the viewer's preference for light or dark picks the
colours; whoever points at a box sees what it is linked with.
"""

from __future__ import annotations

from ddx.errors import Refused
from ddx.graph.drawing.layout import BOX_HEIGHT, BOX_WIDTH, lay_out
from ddx.graph.drawing.lettering import cut_front_to, cut_to, width_of, wrapped
from ddx.graph.drawing.markup import element, inert, moved, text
from ddx.graph.drawing.markup import length as _n
from ddx.graph.drawing.palette import style
from ddx.graph.drawing.routes import ARCH, LEVEL, OUTSIDE, routes
from ddx.graph.drawing.scene import (
    DECLARED,
    DOCUMENT,
    GAP,
    LINK,
    REPLACED,
    ROW_NAMES,
    SPEC_REF,
    SUPERSEDED,
)
from ddx.text import shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.graph.drawing.layout import Band, Layout, Point
    from ddx.graph.drawing.routes import Route
    from ddx.graph.drawing.scene import Box, Scene

MOST_BOXES = 2_000
MOST_ARROWS = 10_000
"""Beyond this no person sees anything, and a browser suffers."""

_MARGIN = 24.0
_LABELS = 132.0
_HEADING_BASE, _SUMMARY_BASE, _LEGEND_TOP = 38.0, 58.0, 62.0
_LEGEND_LINE = 26.0
_CORNER = 9.0
_TEXT_LEFT, _TEXT_RIGHT = 17.0, BOX_WIDTH - 12.0
_ROOM = _TEXT_RIGHT - _TEXT_LEFT
_LABEL_SIZE, _NAME_SIZE, _WORDS_SIZE, _STATUS_SIZE = 14.5, 14.5, 11.5, 10.0
"""As the letters are measured: bold ones, for labels and names, are wider than they are high."""

_TIP_LENGTH, _TIP_WIDTH = 7.0, 7.2
_HIGHEST_ARCH = 24.0
_LONGEST_LINE, _LONGEST_ABOUT = 200, 1_000
_MEANINGS = {
    DECLARED: "declared in front matter",
    LINK: "linked in the text",
    SPEC_REF: "named by a test or code",
    REPLACED: "replaced by",
    SUPERSEDED: "superseded",
    GAP: "does not exist",
}


def picture(scene: Scene, *, heading: str = "Documents") -> str:
    """The whole SVG text."""
    if len(scene.boxes) > MOST_BOXES or len(scene.arrows) > MOST_ARROWS:
        raise Refused(
            f"{len(scene.boxes)} boxes with {len(scene.arrows)} arrows are too many for a picture",
            hint="draw a part: ddx doc graph ID --format svg --depth 2",
        )
    layout = lay_out(scene)
    legend, legend_height = _legend(scene, layout.width + _LABELS)
    left = _MARGIN + _LABELS + OUTSIDE
    top = _LEGEND_TOP + legend_height + _MARGIN
    width = left + layout.width + OUTSIDE + _MARGIN
    height = top + layout.height + _MARGIN
    rows = (part for band in layout.bands for part in _band(band, layout, scene))
    arrows = (part for route in routes(scene, layout) for part in _arrow(route, scene))
    boxes = (
        part for place, corner in enumerate(layout.corners) for part in _box(scene, place, corner)
    )
    inside = element("rect", width=BOX_WIDTH - 4, height=BOX_HEIGHT)
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ddx-graph" role="img" {size}>',
            f"<title>{inert(heading)}</title>",
            f"<style>\n{style(len(scene.boxes))}</style>",
            f'<clipPath id="ddx-inside">{inside}</clipPath>',
            element("rect", class_="paper", width=width, height=height),
            text("heading", _MARGIN, _HEADING_BASE, heading),
            text("soft", _MARGIN, _SUMMARY_BASE, _summary(scene)),
            moved(_MARGIN, _LEGEND_TOP),
            *legend,
            "</g>",
            moved(left, top),
            *rows,
            *arrows,
            *boxes,
            "</g>",
            "</svg>\n",
        ]
    )


def _summary(scene: Scene) -> str:
    files = sum(document.id == document.path for document in scene.documents)
    counts = (
        (len(scene.documents) - files, "document", "documents"),
        (files, "test or source file", "tests and source files"),
        (len(scene.edges), "link", "links"),
        (len(scene.superseded), "superseded", "superseded"),
        (sum(box.look == GAP for box in scene.boxes), "missing", "missing"),
    )
    words = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    if not words:
        return "There are no documents yet."
    meaning = " Arrows lead from what decides to what follows from it." if scene.arrows else ""
    return f"{', '.join(words)}.{meaning}"


def _legend(scene: Scene, room: float) -> tuple[list[str], float]:
    """What the looks mean, as far as they occur; its parts, and how high it is."""
    looks = {box.look for box in scene.boxes} | {arrow.look for arrow in scene.arrows}
    parts: list[str] = []
    x, y = 0.0, 16.0
    for look, meaning in _MEANINGS.items():
        if look not in looks:
            continue
        width = 62 + width_of(meaning, _WORDS_SIZE)
        if x > 0 and x + width > room:
            x, y = 0.0, y + _LEGEND_LINE
        parts += (moved(x, y), _sample(look), text("words", 38, 4, meaning), "</g>")
        x += width
    return parts, y + 10 if parts else 0.0


def _sample(look: str) -> str:
    if look in (SUPERSEDED, GAP):
        body = element("rect", class_="body", y=-8, width=30, height=16, rx=4)
        return f'<g class="{look}">{body}</g>'
    way = element("path", class_="way", d="M0 0H30")
    tip = element("path", class_="tip", d=_tip((0, 0), (30, 0)))
    return f'<g class="{look} r10">{way}{tip}</g>'


def _band(band: Band, layout: Layout, scene: Scene) -> Iterator[str]:
    left, width = -_LABELS - OUTSIDE, layout.width + _LABELS + 2 * OUTSIDE
    yield f'<g class="r{band.row}">'
    yield element("rect", class_="band", x=left, y=band.top, width=width, height=band.height, rx=14)
    yield element(
        "rect", class_="accent", x=left, y=band.top + 14, width=4, height=band.height - 28, rx=2
    )
    y = band.top + 36
    for line in wrapped(ROW_NAMES[band.row], _LABELS, _LABEL_SIZE, lines=3):
        yield text("row", left + 18, y, line)
        y += 17
    count = sum(scene.boxes[place].look != GAP for place in band.members)
    yield text("soft", left + 18, y, str(count))
    yield "</g>"


def _box(scene: Scene, place: int, corner: Point) -> Iterator[str]:
    box = scene.boxes[place]
    focus = " focus" if box.focus else ""
    name, words = _lettering(box)
    yield moved(*corner, f"box {box.look}{focus} r{box.row} b{place}")
    yield f"<title>{inert(box.about[:_LONGEST_ABOUT])}</title>"
    yield element("rect", class_="body", width=BOX_WIDTH, height=BOX_HEIGHT, rx=_CORNER)
    if box.look == DOCUMENT:
        yield element("path", class_="accent", d=_stripe())
    yield '<g clip-path="url(#ddx-inside)">'
    yield text("name", _TEXT_LEFT, 21, name)
    left_over = _ROOM - width_of(name, _NAME_SIZE) - 8
    status = cut_to(shown_on_one_line(box.status[:_LONGEST_LINE]), left_over, _STATUS_SIZE)
    if len(status) > 2:
        yield text("status", _TEXT_RIGHT, 20.5, status)
    for number, line in enumerate(words):
        yield text("words", _TEXT_LEFT, 37.5 + 15 * number, line)
    yield "</g></g>"


def _lettering(box: Box) -> tuple[str, list[str]]:
    """The name and up to two lines of words; of a path the last part is the name."""
    name, title = (shown_on_one_line(text[:_LONGEST_LINE]) for text in (box.name, box.title))
    if box.look == GAP:
        title = _MEANINGS[GAP]
    if "/" in name:
        folder, _, name = name.rstrip("/").rpartition("/")
        title = title or cut_front_to(folder, _ROOM, _WORDS_SIZE)
    return cut_to(name, _ROOM, _NAME_SIZE), wrapped(title, _ROOM, _WORDS_SIZE, lines=2)


def _stripe() -> str:
    """The left edge of a box, round where the box is."""
    c, height = _n(_CORNER), _n(BOX_HEIGHT)
    return (
        f"M{c} 0H7V{height}H{c}A{c} {c} 0 0 1 0 {_n(BOX_HEIGHT - _CORNER)}V{c}A{c} {c} 0 0 1 {c} 0Z"
    )


def _arrow(route: Route, scene: Scene) -> Iterator[str]:
    arrow = route.arrow
    start, end = scene.boxes[arrow.start], scene.boxes[arrow.end]
    meaning = _MEANINGS[arrow.look]
    about = f"{start.name} → {end.name}\n{meaning}: {arrow.about}"[:_LONGEST_ABOUT]
    yield f'<g class="arrow {arrow.look} r{start.row} b{arrow.start} b{arrow.end}">'
    yield f"<title>{inert(about)}</title>"
    yield element("path", class_="way", d=_way(route))
    before, last = route.points[-2:]
    if route.course == ARCH:
        before = (last[0], last[1] - _HIGHEST_ARCH)
    yield element("path", class_="tip", d=_tip(before, last, level=route.course == LEVEL))
    yield "</g>"


def _way(route: Route) -> str:
    """Curves that leave and enter upright; what goes straight stays straight."""
    x, y = route.points[0]
    steps = [f"M{_n(x)} {_n(y)}"]
    for to_x, to_y in route.points[1:]:
        if route.course == ARCH:
            bend = y - min(_HIGHEST_ARCH, 12 + abs(to_x - x) / 20) * 4 / 3
        else:
            bend = (y + to_y) / 2
        if route.course == LEVEL or _n(to_x) == _n(x):
            steps.append(f"L{_n(to_x)} {_n(to_y)}")
        else:
            steps.append(f"C{_n(x)} {_n(bend)} {_n(to_x)} {_n(bend)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
    return "".join(steps)


def _tip(before: Point, last: Point, *, level: bool = True) -> str:
    """A triangle; arrows end upright or level, so it needs no turning."""
    half, wide = _n(-_TIP_WIDTH / 2), _n(_TIP_WIDTH)
    ahead = before[0] < last[0] if level else before[1] < last[1]
    back = _n(-_TIP_LENGTH if ahead else _TIP_LENGTH)
    edges = f"l{back} {half}v{wide}z" if level else f"l{half} {back}h{wide}z"
    return f"M{_n(last[0])} {_n(last[1])}{edges}"
