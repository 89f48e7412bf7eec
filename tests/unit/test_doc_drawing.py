"""The graph as mermaid, dot, JSON and a picture: complete, inert and always the same."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.documents import AT

from ddx.base.errors import NotFound, Refused, UsageError
from ddx.cli.doc.graph import run
from ddx.documents.assembly import assemble
from ddx.documents.graph import Graph
from ddx.documents.model import LAST
from ddx.documents.parser import parse
from ddx.documents.picture import (
    BOX_HEIGHT,
    BOX_WIDTH,
    MOST_BOXES,
    MOST_COLUMNS,
    lay_out,
    picture,
    routes,
)
from ddx.documents.scan import SourceFile
from ddx.documents.scene import GAP, ROW_NAMES, SUPERSEDED, Scene, dot, mermaid, scene_of
from ddx.documents.svg import cut_to, width_of, wrapped
from ddx.testing import make_repo

SVG = "{http://www.w3.org/2000/svg}"
SCHEMA = Path(__file__).parents[2] / "docs/reference/schemas/doc-graph.json"
SEED = {
    "docs/helix/01-frame/prd.md": "# Product\n[[FEAT-001]]",
    "docs/helix/01-frame/features/FEAT-001-test-feature.md": "# F\n[[US-001, US-002]]",
    "docs/helix/01-frame/user-stories/US-001-first-story.md": "# FEAT-001x is no id of mine",
    "docs/helix/01-frame/user-stories/US-002-second-story.md": "# US-002: Second story",
    "docs/helix/02-design/solution-designs/SD-001-solution.md": "# S\n[[FEAT-001, TD-001]]",
    "docs/helix/02-design/technical-designs/TD-001-design.md": "# T\n[[US-001, TP-001]]",
    "docs/helix/03-test/test-plans/TP-001-tests.md": "# P\n[[TD-001]]",
}
SHOP = SEED | {
    "docs/helix/02-design/adr/ADR-001.md": (
        "---\nddx:\n  status: superseded\n  superseded_by: ADR-002\n---\n# Old way\n[[prd]]"
    ),
    "docs/helix/02-design/adr/ADR-002.md": (
        "---\nddx:\n  depends_on: [prd]\n---\n# New way\n[[TD-404]] [[TD-404-slug]] [[ADR-003]]"
    ),
    "docs/helix/02-design/adr/ADR-003.md": "# Another way",
    "docs/helix/notes/ideas.md": "# Ideas\n[[FEAT-001]] [[nowhere]]",
    "tests/test_cart.py": f"# {AT}spec-ref TD-001",
    "src/cart.py": f"# {AT}spec-ref TD-001\n# {AT}spec-ref SD-404",
    "src/lost.py": f"# {AT}spec-ref FEAT-404",
}
HOSTILE = (
    "<script>alert(1)</script>",
    '"double" and \'single\' \\" \\',
    "]]> <![CDATA[ ]]> </title></svg>",
    "\u202egnp.exe",
    "مرحبا بالعالم",
    "&lt;b&gt; &#60; #lt; #quot;",
    '%%{init: {"theme": "dark"}}%% `code` "]; n0 --> n1',
    "line\u2028break \u0085 \x07 \ufffe\uffff",
    "x" * 5_000,
)


def graph_of_files(files: dict[str, str]) -> Graph:
    documents = [
        parse(path, text.encode("utf-8", "surrogatepass"))
        for path, text in files.items()
        if path.endswith(".md")
    ]
    tags = [
        SourceFile.tagged(path, text.encode())
        for path, text in files.items()
        if path.endswith(".py")
    ]
    return assemble(documents, tags)


def titled(titles: tuple[str, ...]) -> Graph:
    return graph_of_files(
        {
            f"docs/helix/01-frame/features/FEAT-{number:03d}.md": f"# {title}\n[[FEAT-001]]"
            for number, title in enumerate(titles, start=1)
        }
    )


def many(count: int) -> Graph:
    """A vision, and documents that each follow from two above them."""
    files = {"docs/helix/00-discover/product-vision.md": "# V"}
    for number in range(1, count):
        kind = ("FEAT", "US", "SD", "TD", "TP")[number % 5]
        above = f"[[vision]] [[{('FEAT', 'US', 'SD', 'TD')[number % 4]}-{number // 2:03d}]]"
        files[f"docs/helix/x/{kind}-{number:03d}.md"] = f"# Title of {number}\n{above}"
    return graph_of_files(files)


def boxes_in(svg: ET.Element) -> list[ET.Element]:
    return [group for group in svg.iter(f"{SVG}g") if "box" in classes(group)]


def classes(element: ET.Element) -> list[str]:
    return element.get("class", "").split()


def about(element: ET.Element) -> str:
    return element.findtext(f"{SVG}title") or ""


def top_of(element: ET.Element) -> float:
    return float(re.findall(r"[\d.]+", element.get("transform", ""))[1])


def label_strings(drawn: str) -> list[str]:
    """The quoted labels of a dot text; fails where a quote does not end."""
    assert re.fullmatch(r'(?:[^"]|"(?:[^"\\]|\\.)*")*', drawn)
    return re.findall(r'"((?:[^"\\]|\\.)*)"', drawn)


# --- what is drawn


def test_a_scene_holds_the_documents_the_links_and_what_is_missing():
    scene = scene_of(graph_of_files(SHOP))
    names = {box.name: box for box in scene.boxes}
    assert {"prd", "TD-001", "tests/test_cart.py", "docs/helix/notes/ideas"} <= names.keys()
    assert {box.name for box in scene.boxes if box.look == GAP} >= {"TD-404", "nowhere", "SD-404"}
    assert names["ADR-001"].look == SUPERSEDED
    assert names["TD-404"].row == 6, "a missing document stands where it would be"
    assert names["nowhere"].row == LAST


def test_a_file_that_names_only_what_is_missing_still_shows_the_gap():
    scene = scene_of(graph_of_files(SHOP))
    [gap] = [gap for gap in scene.gaps if gap.target == "FEAT-404"]
    assert (gap.writer, gap.path, gap.line) == ("src/lost.py", "src/lost.py", 1)
    assert "named in src/lost.py:1" in next(
        box.about for box in scene.boxes if box.name == "FEAT-404"
    )


def test_a_missing_successor_is_a_gap():
    files = {"docs/helix/ADR-001.md": "---\nddx:\n  superseded_by: ADR-009\n---\n# A"}
    scene = scene_of(graph_of_files(files))
    assert [(gap.writer, gap.target) for gap in scene.gaps] == [("ADR-001", "ADR-009")]


def test_every_gap_of_the_graph_is_understood():
    graph = graph_of_files(SHOP)
    found = [finding for finding in graph.findings() if finding.kind == "gap"]
    assert len(scene_of(graph).gaps) == len(found) > 4


def test_around_a_document_stand_its_upstream_and_downstream_and_no_sibling():  # G-6
    scene = scene_of(graph_of_files(SHOP), "us-001")
    assert [box.name for box in scene.boxes if box.look != GAP] == [
        *("FEAT-001", "TD-001", "TP-001", "US-001", "prd", "src/cart.py", "tests/test_cart.py")
    ]
    assert [box.name for box in scene.boxes if box.focus] == ["US-001"]
    assert [gap.target for gap in scene.gaps] == ["SD-404"], "only gaps of what is drawn"


def test_depth_bounds_the_steps_from_the_document():
    scene = scene_of(graph_of_files(SHOP), "US-001", max_depth=1)
    assert [document.id for document in scene.documents] == ["FEAT-001", "TD-001", "US-001"]


def test_a_document_that_is_not_there_cannot_be_drawn_around():
    with pytest.raises(NotFound, match="US-777"):
        scene_of(graph_of_files(SHOP), "US-777")


def test_a_title_does_not_repeat_the_id_that_stands_above_it():
    titles = {box.name: box.title for box in scene_of(graph_of_files(SEED)).boxes}
    assert titles["US-002"] == "Second story"
    assert titles["US-001"] == "FEAT-001x is no id of mine"


# --- the picture


@pytest.mark.parametrize("graph", [graph_of_files({}), many(1), graph_of_files(SHOP), many(300)])
def test_a_picture_is_well_formed_and_holds_every_id(graph):
    svg = ET.fromstring(picture(scene_of(graph)))
    said = {about(box).split(":")[0] for box in boxes_in(svg)}
    assert set(graph.ids) <= said
    assert float(svg.get("width", "")) > 0


def test_a_picture_needs_nothing_from_elsewhere():
    text = picture(scene_of(graph_of_files(SHOP)))
    assert text.count("http") == 1, "the namespace"
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#ddx-inside"}
    for word in ("<script", "href", "@import", "@font-face", "<image", "<foreignObject", "on="):
        assert word not in text


def test_rows_run_from_the_vision_down_to_what_has_no_tier():
    graph = graph_of_files(SHOP)
    svg = ET.fromstring(picture(scene_of(graph)))
    tops = {about(box).split(":")[0]: top_of(box) for box in boxes_in(svg)}
    order = ["prd", "FEAT-001", "US-001", "ADR-002", "SD-001", "TD-001", "TP-001"]
    order += ["tests/test_cart.py", "src/cart.py", "docs/helix/notes/ideas"]
    assert all(tops[above] < tops[below] for above, below in pairwise(order))
    assert tops["US-001"] == tops["US-002"]
    labels = [text.text for text in svg.iter(f"{SVG}text") if classes(text) == ["row"]]
    assert labels[:2] == ["Requirements", "Features"]
    assert " ".join(map(str, labels)).endswith("Without a tier")


def test_superseded_and_missing_ones_look_different_and_the_replacement_is_shown():
    svg = ET.fromstring(picture(scene_of(graph_of_files(SHOP))))
    looks = {about(box).split(":")[0].split(" ")[0]: classes(box) for box in boxes_in(svg)}
    assert "superseded" in looks["ADR-001"]
    assert "document" in looks["ADR-002"]
    assert "gap" in looks["TD-404"]
    arrows = [group for group in svg.iter(f"{SVG}g") if "arrow" in classes(group)]
    replaced = [about(arrow) for arrow in arrows if "replaced" in classes(arrow)]
    assert [text.split("\n")[0] for text in replaced] == ["ADR-001 → ADR-002"]
    assert sum("gap" in classes(arrow) for arrow in arrows) >= 3


def test_the_legend_explains_what_occurs_and_nothing_else():
    shop, seed = (picture(scene_of(graph_of_files(files))) for files in (SHOP, SEED))
    for words in ("replaced by", "superseded</text>", "named by a test or code"):
        assert words in shop
        assert words not in seed
    assert "linked in the text</text>" in seed


def test_light_and_dark_are_both_in_the_file():
    text = picture(scene_of(graph_of_files(SEED)))
    assert "@media (prefers-color-scheme:dark)" in text
    rules = [line for line in text.split("\n") if line.endswith("}") and "{" in line]
    assert all(rule.startswith((".ddx-graph", "@media")) for rule in rules), "safe inside a page"


def test_the_document_in_the_middle_is_marked():
    svg = ET.fromstring(picture(scene_of(graph_of_files(SEED), "TD-001"), heading="around TD-001"))
    assert [about(box).split(":")[0] for box in boxes_in(svg) if "focus" in classes(box)] == [
        "TD-001"
    ]
    assert about(svg) == "around TD-001"


@pytest.mark.parametrize("title", HOSTILE)
def test_a_title_stays_text_in_every_drawing(title):  # C-5
    scene = scene_of(titled((title, "Second")))
    svg = ET.fromstring(picture(scene))
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} == {
        *("svg", "title", "style", "clipPath", "rect", "text", "g", "path")
    }
    assert not any(name.startswith("on") for element in svg.iter() for name in element.attrib)
    assert "\u202e" not in picture(scene) + mermaid(scene) + dot(scene)
    assert_is_inert_mermaid(mermaid(scene))
    assert len([label for label in label_strings(dot(scene)) if "FEAT-001" in label]) == 1
    plain = scene_of(titled(("First", "Second")))
    assert dot(scene).count("\n") == dot(plain).count("\n")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_title_at_all_breaks_a_drawing(title):  # C-5
    scene = scene_of(titled((title, "Second")))
    ET.fromstring(picture(scene, heading=title))
    assert_is_inert_mermaid(mermaid(scene))
    label_strings(dot(scene))


def test_a_hostile_name_of_a_missing_document_stays_text_too():
    scene = scene_of(titled(('x\n[[<b>"quoted"|label]]',)))
    assert [box.name for box in scene.boxes if box.look == GAP] == ['<b>"quoted"']
    ET.fromstring(picture(scene))
    assert_is_inert_mermaid(mermaid(scene))
    label_strings(dot(scene))


def assert_is_inert_mermaid(drawn: str) -> None:
    """Only lines that we write; labels without a mark that mermaid gives a meaning."""
    label = r'\["(?:[^"<>&`%{}\[\]\\\n#]|#\d+;)*"\]'
    line = re.compile(
        rf"flowchart TD|  subgraph row\d+{label}|    n\d+{label}|  end"
        r"|  n\d+ (?:-->|-\.->|-\. replaced by \.->) n\d+|  class(?:Def)? [\w:#,;. -]+"
    )
    for each in drawn.removesuffix("\n").split("\n"):
        assert line.fullmatch(each), each


@pytest.mark.parametrize("graph", [graph_of_files(SHOP), many(200)])
def test_the_same_graph_gives_the_same_drawing(graph):
    again = assemble([], [])
    again.__dict__.update(graph.__dict__)
    for draw in (picture, mermaid, dot):
        assert draw(scene_of(graph)) == draw(scene_of(again))


def test_the_order_of_the_files_does_not_matter():
    backwards = dict(reversed(SHOP.items()))
    assert picture(scene_of(graph_of_files(SHOP))) == picture(scene_of(graph_of_files(backwards)))


@pytest.mark.parametrize("count", [30, 500])
def test_the_size_of_a_picture_grows_with_what_is_drawn(count):
    scene = scene_of(many(count))
    assert len(picture(scene)) < 10_000 + 900 * len(scene.boxes) + 700 * len(scene.arrows)


def test_what_no_person_can_see_is_not_drawn():
    with pytest.raises(Refused, match="too many for a picture") as refused:
        picture(scene_of(many(MOST_BOXES + 2)))
    assert "ddx doc graph ID" in refused.value.hint


# --- places and ways


def corners_of(scene: Scene) -> list[tuple[float, float]]:
    layout = lay_out(scene)
    return [layout.corner(box) for box in range(len(scene.boxes))]


@pytest.mark.parametrize("count", [1, 7, 30, 200])
def test_boxes_never_overlap_and_rows_wrap(count):
    scene = scene_of(many(count))
    corners = sorted(corners_of(scene))
    for at, (x, y) in enumerate(corners):
        for other_x, other_y in corners[at + 1 :]:
            assert other_x - x >= BOX_WIDTH or abs(other_y - y) >= BOX_HEIGHT
    assert all(column < MOST_COLUMNS for _, column in lay_out(scene).spots)


@pytest.mark.parametrize("scene", [scene_of(graph_of_files(SHOP)), scene_of(many(120))])
def test_no_arrow_passes_through_a_box(scene: Scene):
    corners = corners_of(scene)
    for way in routes(scene, lay_out(scene)):
        for (x, y), (to_x, to_y) in pairwise(way):
            assert x == to_x or y == to_y, "level or upright"
            low, high = sorted((x, to_x))
            above, below = sorted((y, to_y))
            for left, top in corners:
                beside = high <= left or low >= left + BOX_WIDTH
                assert beside or below <= top or above >= top + BOX_HEIGHT


@pytest.mark.parametrize("scene", [scene_of(graph_of_files(SHOP)), scene_of(many(120))])
def test_an_arrow_begins_and_ends_at_the_edge_of_its_boxes(scene: Scene):
    corners = corners_of(scene)
    for arrow, way in zip(scene.arrows, routes(scene, lay_out(scene)), strict=True):
        for (x, y), box in ((way[0], arrow.start), (way[-1], arrow.end)):
            left, top = corners[box]
            assert left < x < left + BOX_WIDTH
            assert y in (top, top + BOX_HEIGHT)


def test_arrows_at_one_box_keep_apart():
    scene = scene_of(graph_of_files(SHOP))
    ends = [point for way in routes(scene, lay_out(scene)) for point in (way[0], way[-1])]
    assert len(set(ends)) == len(ends)


def test_a_superseded_document_stands_beside_its_replacement():
    scene = scene_of(graph_of_files(SHOP))
    spots = {scene.boxes[box].name: spot for box, spot in enumerate(lay_out(scene).spots)}
    (line, column), (same, before) = spots["ADR-001"], spots["ADR-002"]
    assert (line, column) == (same, before + 1)


def test_simple_crossings_are_avoided():
    pairs = [(1, 3), (2, 1), (3, 2)]
    files = {f"docs/helix/FEAT-{n:03d}.md": "# F" for n in (1, 2, 3)}
    files |= {f"docs/helix/US-{n:03d}.md": f"# U\n[[FEAT-{up:03d}]]" for up, n in pairs}
    scene = scene_of(graph_of_files(files))
    corners = corners_of(scene)
    ends = sorted((corners[arrow.start][0], corners[arrow.end][0]) for arrow in scene.arrows)
    assert ends == sorted(ends, key=lambda pair: pair[1])


@given(st.text(max_size=80), st.floats(0, 300))
def test_what_is_cut_fits(text, room):
    assert width_of(cut_to(text, room, 12), 12) <= max(room, 0)
    lines = wrapped(text, room, 12, lines=2)
    assert len(lines) <= 2
    if room > 20:
        assert all(width_of(line, 12) <= room for line in lines)


def test_every_tier_has_a_row():
    from ddx.documents.model import TIERS

    assert set(ROW_NAMES) == {*TIERS.values(), LAST}


# --- the command


@pytest.fixture
def shop(tmp_path, monkeypatch):
    project = make_repo(tmp_path / "shop")
    for path, text in SHOP.items():
        file = tmp_path / "shop" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.chdir(project.root)
    return tmp_path / "shop"


def draw(**given: object) -> int:
    return run.run(**{"id": None, "format": None, "depth": None, "output": None, **given})


def test_json_is_as_its_schema_says(shop, capsysbinary):  # C-1
    for around in (None, "TD-001"):
        assert draw(id=around, format="json") == 0
        found = json.loads(capsysbinary.readouterr().out)
        Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(found)
        ids = {node["id"] for node in found["nodes"]}
        assert all({edge["up"], edge["down"]} <= ids for edge in found["edges"])
        assert "TD-001" in ids


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("a.svg", "<svg "), ("a.DOT", "digraph "), ("a.json", '{"nodes"'), ("a.md", "flowchart ")],
)
def test_the_ending_of_the_file_picks_the_format(shop, capsys, name, beginning):
    assert draw(output=name) == 0
    assert (shop / name).read_text("utf-8").startswith(beginning)
    assert "documents drawn in" in capsys.readouterr().out


def test_a_format_that_is_given_wins(shop):
    assert draw(output="a.svg", format="dot") == 0
    assert (shop / "a.svg").read_text("utf-8").startswith("digraph ")


def test_a_depth_needs_a_document(shop):  # C-3
    with pytest.raises(UsageError, match="name one"):
        draw(depth=2)
