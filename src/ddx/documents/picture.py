"""A scene as one SVG file that needs nothing else and can be looked at anywhere. Pure.

Rows run from the vision down to the code, and all boxes stand on one grid. So the space between
two columns is free from top to bottom, and the space between two lines from left to right: arrows
go only there. Pointing at a box or an arrow says all that is known of it. The viewer's preference
for light or dark picks the colours.
"""

from __future__ import annotations

from collections import defaultdict

from ddx.base import Refused, counted, shown, value
from ddx.documents.scene import (
    DECLARED,
    DOCUMENT,
    GAP,
    LINK,
    REPLACED,
    ROW_NAMES,
    SPEC_REF,
    SUPERSEDED,
)
from ddx.documents.svg import cut_to, element, inert, length, text, width_of, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ddx.documents.scene import Arrow, Box, Scene

    Point: TypeAlias = tuple[float, float]

MOST_BOXES = 2_000
MOST_ARROWS = 10_000
"""Beyond this no person sees anything, and a browser suffers."""
BOX_WIDTH, BOX_HEIGHT = 190.0, 62.0
COLUMN_GAP, LINE_GAP = 40.0, 44.0
FEWEST_COLUMNS, MOST_COLUMNS = 4, 12
_SWEEPS = 8
_TRACKS, _TRACK_DISTANCE = 8, 4.0
"""Arrows side by side in one space keep apart, up to eight of them."""
_MARGIN, _LABELS, _TOP = 24.0, 140.0, 100.0
_ROOM = BOX_WIDTH - 26
_LONGEST_LINE, _LONGEST_ABOUT = 200, 1_000
_MEANINGS = {
    DECLARED: "declared in front matter",
    LINK: "linked in the text",
    SPEC_REF: "named by a test or code",
    REPLACED: "replaced by",
    SUPERSEDED: "superseded",
    GAP: "does not exist",
}
_SHAPES = """\
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-size:12px}
.heading{font-size:20px;font-weight:650}
.row,.name{font-size:13px;font-weight:650}
.body{stroke-width:1.2}
.focus .body{stroke-width:3}
.superseded text{text-decoration:line-through}
.superseded .body,.gap .body,.gap .way,.replaced .way{stroke-dasharray:5 4}
.way{fill:none;stroke-width:1.4;stroke-linejoin:round}
.spec-ref .way{stroke-dasharray:2 3}
.arrow:hover .way{stroke-width:3.5}"""
_LIGHT = ("#ffffff", "#f4f6f9", "#18212c", "#5a6675", "#ffffff", "#6b7683", "#c42b35")
_DARK = ("#0f1419", "#161c24", "#e8edf3", "#a0acb9", "#202832", "#8b97a4", "#ff8087")


def picture(scene: Scene, *, heading: str = "Documents") -> str:
    """The whole SVG text."""
    if len(scene.boxes) > MOST_BOXES or len(scene.arrows) > MOST_ARROWS:
        raise Refused(
            f"{len(scene.boxes)} boxes with {len(scene.arrows)} arrows are too many for a picture",
            hint="draw a part: ddx doc graph ID --format svg --depth 2",
        )
    layout = lay_out(scene)
    inner = layout.columns * (BOX_WIDTH + COLUMN_GAP) + COLUMN_GAP
    width = 2 * _MARGIN + _LABELS + inner
    height = _TOP + layout.space(layout.lines) + LINE_GAP + _MARGIN
    size = f'width="{length(width)}" height="{length(height)}"'
    view = f'viewBox="0 0 {length(width)} {length(height)}"'
    inside = element("rect", width=BOX_WIDTH - 4, height=BOX_HEIGHT)
    ways = zip(scene.arrows, routes(scene, layout), strict=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ddx-graph" role="img" {size} {view}>',
            f"<title>{inert(heading)}</title>",
            f"<style>\n{_style()}</style>",
            f'<clipPath id="ddx-inside">{inside}</clipPath>',
            element("rect", class_="paper", width=width, height=height),
            text("heading", _MARGIN, 38, heading),
            text("soft", _MARGIN, 58, _summary(scene)),
            *_legend(scene),
            f'<g transform="translate({length(_MARGIN)} {length(_TOP)})">',
            *(part for row in layout.rows for part in _row(row, layout, inner + _LABELS)),
            f'<g transform="translate({length(_LABELS)} 0)">',
            *(part for arrow, way in ways for part in _arrow(scene, arrow, way)),
            *(
                part
                for place, box in enumerate(scene.boxes)
                for part in _box(box, layout.corner(place))
            ),
            "</g></g></svg>\n",
        ]
    )


def _style() -> str:
    """Plain rules, which every converter draws; each is our own, since pages hold pictures."""
    hues = [rule for row in ROW_NAMES for rule in _hued(row)]
    plain = _scoped([*_SHAPES.split("\n"), *hues, *_colours(_LIGHT)])
    return f"{plain}@media (prefers-color-scheme:dark){{\n{_scoped(_colours(_DARK))}}}\n"


def _scoped(rules: list[str]) -> str:
    split = (rule.partition("{") for rule in rules)
    return "".join(
        f"{','.join(f'.ddx-graph {one}' for one in names.split(','))}{{{body}\n"
        for names, _, body in split
    )


def _hued(row: int) -> tuple[str, str]:
    colour = f"hsl({(row * 29 + 210) % 360},55%,50%)"
    return f".r{row} .way{{stroke:{colour}}}", f".r{row} .tip,.r{row} .accent{{fill:{colour}}}"


def _colours(colours: tuple[str, ...]) -> list[str]:
    paper, band, ink, soft, fill, old, gap = colours
    return [
        *(f".paper{{fill:{paper}}}", f".band{{fill:{band}}}", f"text{{fill:{ink}}}"),
        *(f".soft{{fill:{soft}}}", f".body{{fill:{fill};stroke:{old}}}"),
        *(f".superseded text{{fill:{old}}}", f".replaced .way{{stroke:{old}}}"),
        *(f".gap .way,.gap .body{{stroke:{gap}}}", f".gap text,.gap .tip{{fill:{gap}}}"),
    ]


def _summary(scene: Scene) -> str:
    files = sum(document.id == document.path for document in scene.documents)
    counts = (
        (len(scene.documents) - files, counted(len(scene.documents) - files, "document")),
        (files, counted(files, "test or source file")),
        (len(scene.edges), counted(len(scene.edges), "link")),
        (len(scene.superseded), f"{len(scene.superseded)} superseded"),
        (missing := sum(box.look == GAP for box in scene.boxes), f"{missing} missing"),
    )
    words = ", ".join(said for count, said in counts if count)
    return f"{words}. Arrows lead from what decides to what follows." if words else "No documents."


def _legend(scene: Scene) -> Iterator[str]:
    """What the looks mean, as far as they occur."""
    looks = {box.look for box in scene.boxes} | {arrow.look for arrow in scene.arrows}
    x = _MARGIN
    for look, meaning in _MEANINGS.items():
        if look in looks:
            sample = element("path", class_="way", d=f"M{length(x)} 78h26")
            if look == SUPERSEDED:
                sample = element("rect", class_="body", x=x, y=70, width=26, height=15, rx=4)
            yield f'<g class="{look} r10">{sample}</g>{text("soft", x + 33, 82, meaning)}'
            x += 56 + width_of(meaning, 12)


def _row(row: int, layout: Layout, width: float) -> Iterator[str]:
    first, last = layout.rows[row]
    top = layout.space(first) + LINE_GAP / 2 + 2
    height = (last - first + 1) * (BOX_HEIGHT + LINE_GAP) - 4
    yield f'<g class="r{row}">'
    yield element("rect", class_="band", y=top, width=width, height=height, rx=12)
    yield element("rect", class_="accent", y=top + 12, width=4, height=height - 24, rx=2)
    for number, line in enumerate(wrapped(ROW_NAMES[row], _LABELS - 24, 14.5, lines=3)):
        yield text("row", 16, top + 34 + 17 * number, line)
    yield "</g>"


def _box(box: Box, corner: Point) -> Iterator[str]:
    focus = " focus" if box.focus else ""
    place = f"translate({length(corner[0])} {length(corner[1])})"
    name, title = (shown(said[:_LONGEST_LINE], one_line=True) for said in (box.name, box.title))
    folder, _, name = name.rstrip("/").rpartition("/")
    title = _MEANINGS[GAP] if box.look == GAP else title or cut_to(folder[::-1], _ROOM, 12)[::-1]
    yield f'<g class="box {box.look}{focus} r{box.row}" transform="{place}">'
    yield f"<title>{inert(box.about[:_LONGEST_ABOUT])}</title>"
    yield element("rect", class_="body", width=BOX_WIDTH, height=BOX_HEIGHT, rx=9)
    if box.look == DOCUMENT:
        yield element("rect", class_="accent", y=9, width=4, height=BOX_HEIGHT - 18)
    yield f'<g clip-path="url(#ddx-inside)">{text("name", 14, 21, cut_to(name, _ROOM, 14.5))}'
    for number, line in enumerate(wrapped(title, _ROOM, 12, lines=2)):
        yield text("soft", 14, 38 + 15 * number, line)
    yield "</g></g>"


def _arrow(scene: Scene, arrow: Arrow, way: list[Point]) -> Iterator[str]:
    start, end = scene.boxes[arrow.start], scene.boxes[arrow.end]
    about = f"{start.name} → {end.name}\n{_MEANINGS[arrow.look]}: {arrow.about}"[:_LONGEST_ABOUT]
    points = "L".join(f"{length(x)} {length(y)}" for x, y in way)
    (_, before), (x, y) = way[-2:]
    back = -7 if before < y else 7
    yield f'<g class="arrow {arrow.look} r{start.row}"><title>{inert(about)}</title>'
    yield element("path", class_="way", d=f"M{points}")
    yield element("path", class_="tip", d=f"M{length(x)} {length(y)}l-4 {back}h8z")
    yield "</g>"


# -- where each box stands, and which way each arrow goes --------------------------------------


@value
class Layout:
    """The places of all boxes by line and column; the first and last line of each row."""

    columns: int
    lines: int
    spots: tuple[tuple[int, int], ...]
    rows: dict[int, tuple[int, int]]

    def corner(self, box: int) -> Point:
        """The upper left corner of a box."""
        line, column = self.spots[box]
        return COLUMN_GAP + column * (BOX_WIDTH + COLUMN_GAP), self.space(line) + LINE_GAP

    def space(self, line: int) -> float:
        """Where the free space above a line begins."""
        return line * (BOX_HEIGHT + LINE_GAP)


def lay_out(scene: Scene) -> Layout:
    """Everything at its place, the same for the same scene."""
    orders = _ordered(scene)
    widest = max(map(len, orders.values()), default=0)
    columns = min(max(widest, FEWEST_COLUMNS), MOST_COLUMNS)
    spots, rows, line = [(0, 0)] * len(scene.boxes), {}, 0
    for row, order in orders.items():
        first = max(columns - len(order), 0) // 2
        for index, box in enumerate(order):
            spots[box] = line + index // columns, first + index % columns
        rows[row] = line, line + (len(order) - 1) // columns
        line = rows[row][1] + 1
    return Layout(columns, line, tuple(spots), rows=rows)


def routes(scene: Scene, layout: Layout) -> list[list[Point]]:
    """The corners of each arrow's way from its start to its end."""
    ports = _ports(scene.arrows, layout)
    return [_way(number, arrow, layout, ports) for number, arrow in enumerate(scene.arrows)]


def _ordered(scene: Scene) -> dict[int, list[int]]:
    """The boxes of each row from left to right: each near the mean place of its links.

    A superseded box goes with what took its place, if that stands in the same row.
    """
    orders: dict[int, list[int]] = {row: [] for row in ROW_NAMES}
    for box in sorted(range(len(scene.boxes)), key=lambda box: scene.boxes[box].name):
        orders[scene.boxes[box].row].append(box)
    orders = {row: order for row, order in orders.items() if order}
    linked: dict[int, list[int]] = defaultdict(list)
    leads = {box: box for box in range(len(scene.boxes))}
    for arrow in scene.arrows:
        if scene.boxes[arrow.start].row != scene.boxes[arrow.end].row:
            linked[arrow.start].append(arrow.end)
            linked[arrow.end].append(arrow.start)
        elif arrow.look == REPLACED:
            leads[arrow.start] = arrow.end
    places = {
        box: index - len(order) / 2 for order in orders.values() for index, box in enumerate(order)
    }

    def wish(box: int) -> tuple[float, str, bool, str]:
        lead = leads[box]
        others = linked[lead] or [lead]
        mean = sum(places[other] for other in others) / len(others)
        return mean, scene.boxes[lead].name, lead != box, scene.boxes[box].name

    for sweep in range(_SWEEPS):
        for row in [*orders][:: -1 if sweep % 2 else 1]:
            orders[row] = sorted(orders[row], key=wish)
            half = len(orders[row]) / 2
            places |= {box: index - half for index, box in enumerate(orders[row])}
    return orders


def _ports(arrows: tuple[Arrow, ...], layout: Layout) -> dict[tuple[int, int], float]:
    """How far right each arrow touches its boxes: side by side, by where they come from."""
    users: dict[tuple[int, bool], list[tuple[float, int]]] = defaultdict(list)
    for number, arrow in enumerate(arrows):
        for box, other in ((arrow.start, arrow.end), (arrow.end, arrow.start)):
            is_below = layout.spots[box][0] < layout.spots[other][0]
            users[box, is_below].append((layout.corner(other)[0], number))
    return {
        (number, box): layout.corner(box)[0] + BOX_WIDTH * (index + 1) / (len(found) + 1)
        for (box, _), found in users.items()
        for index, (_, number) in enumerate(sorted(found))
    }


def _way(
    number: int, arrow: Arrow, layout: Layout, ports: dict[tuple[int, int], float]
) -> list[Point]:
    high, low = sorted((arrow.start, arrow.end), key=lambda box: layout.spots[box][0])
    (upper, _), (lower, _) = layout.spots[high], layout.spots[low]
    (from_x, from_y), (to_x, to_y) = layout.corner(high), layout.corner(low)
    out, into = ports[number, high], ports[number, low]
    track = _TRACK_DISTANCE * (number % _TRACKS - (_TRACKS - 1) / 2)
    last = layout.space(lower) + LINE_GAP / 2 + track
    if upper == lower:
        way = [(out, from_y), (out, last), (into, last), (into, to_y)]
    else:
        first = layout.space(upper + 1) + LINE_GAP / 2 + track
        beside = to_x + (BOX_WIDTH if to_x < from_x else 0)
        lane = beside + (COLUMN_GAP / 2 if to_x < from_x else -COLUMN_GAP / 2) + track
        aside = [(lane, first), (lane, last)] if lower > upper + 1 else []
        end = [(into, last), (into, to_y)]
        way = [(out, from_y + BOX_HEIGHT), (out, first), *aside, *end]
    return way if high == arrow.start else way[::-1]
