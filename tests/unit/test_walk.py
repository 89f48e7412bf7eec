"""What a change touches and what governs it, on any graph at all (G-6)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import SEED, graph_of_files, pages

from ddx.documents.assembly import assemble
from ddx.documents.graph import DocumentImpact, Graph, ReachedNode
from ddx.documents.model import Link, ParsedDocument

SIZE = 9
TYPES = ("report", "prd", "feat", "us")
nodes = st.integers(0, SIZE - 1)
edges = st.sets(st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]), max_size=20)
successors = st.dictionaries(nodes, nodes, max_size=3)
starts = st.lists(nodes, min_size=1, max_size=3, unique=True)


def graph(pairs: set[tuple[int, int]], replaced: dict[int, int] | None = None) -> Graph:
    """Documents by number; `replaced` maps one to what took its place."""
    heirs = replaced or {}
    return assemble(
        [
            ParsedDocument(
                f"docs/D-{n}.md",
                declared_id=f"D-{n}",
                declared_type=TYPES[n % len(TYPES)],
                status="superseded" if n in heirs else "",
                superseded_by=(Link(f"D-{heirs[n]}", 1),) if n in heirs else (),
                depends_on=tuple(Link(f"D-{up}", 1) for up, down in sorted(pairs) if down == n),
            )
            for n in range(SIZE)
        ]
    )


def numbers(found: tuple[ReachedNode, ...] | list[ReachedNode]) -> list[int]:
    return [item.n for item in found]


def parts(found: DocumentImpact) -> tuple[set[int], set[int], set[int]]:
    sets = (found.impacted, found.governing, found.superseded)
    return set(numbers(sets[0])), set(numbers(sets[1])), set(numbers(sets[2]))


@given(edges, successors, starts)
def test_the_sets_hold_each_document_once_and_no_start(pairs, replaced, begin):
    found = graph(pairs, replaced).impact(begin)
    impacted, governing, superseded = parts(found)
    assert not impacted & governing
    assert not governing & superseded
    assert not impacted & superseded
    assert not (impacted | governing | superseded) & set(begin)


@given(edges, successors, starts, st.booleans())
def test_every_path_is_made_of_declared_steps(pairs, replaced, begin, down):
    world = graph(pairs, replaced)
    for item in world.closure(begin, down=down):
        assert item.path[0] in begin
        assert item.path[-1] == item.n
        assert len(item.path) == item.distance + 1
        for one, other in zip(item.path, item.path[1:], strict=False):
            declared = (one, other) if down else (other, one)
            assert declared in pairs or other in world.heirs(one)


@given(edges, starts)
def test_impacted_is_all_that_can_be_reached_downwards_and_nothing_else(pairs, begin):
    below = set(begin)
    while more := {down for up, down in pairs if up in below} - below:
        below |= more
    assert parts(graph(pairs).impact(begin))[0] == below - set(begin)


@given(edges, starts, st.integers(0, 4))
def test_no_way_is_longer_than_the_depth_and_none_is_shorter_than_shown(pairs, begin, depth):
    world = graph(pairs)
    whole = {item.n: item.distance for item in world.closure(begin, down=True)}
    bounded = {item.n: item.distance for item in world.closure(begin, down=True, max_depth=depth)}
    assert bounded == {n: distance for n, distance in whole.items() if distance <= depth}


@given(edges, successors, starts)
def test_the_order_is_tier_then_distance_then_id(pairs, replaced, begin):
    world = graph(pairs, replaced)
    found = world.impact(begin)
    for part in (found.impacted, found.governing):
        assert list(part) == world.ordered(part)


@given(edges, starts, st.lists(nodes, max_size=4))
def test_a_hit_is_impacted_itself_unless_a_declared_way_says_more(pairs, begin, hits):
    world = graph(pairs)
    without, found = world.impact(begin), world.impact(begin, hits=hits)
    placed = {item.n: item for item in found.impacted}
    known = {*begin, *parts(without)[0], *parts(without)[1]}
    for hit in hits:
        if hit not in known:
            assert placed[hit] == ReachedNode(hit, 0, (hit,))
    assert parts(without)[0] <= set(placed)


def test_what_is_superseded_leads_to_its_replacement_and_governs_nothing():
    world = graph({(0, 1), (1, 2)}, {1: 3})
    below = {item.n: item.path for item in world.impact([0]).impacted}
    assert below == {1: (0, 1), 2: (0, 1, 2), 3: (0, 1, 3)}
    above = world.impact([2])
    assert numbers(above.governing) == [3, 0]
    assert numbers(above.superseded) == [1]


def test_up_and_then_down_again_is_never_gone():
    feature, story, sibling, design = 0, 1, 2, 3
    found = graph({(feature, story), (feature, sibling), (story, design)}).impact([story])
    assert parts(found) == ({design}, {feature}, set())


def test_a_circle_is_walked_once():
    found = graph({(0, 1), (1, 2), (2, 0)}).impact([0])
    assert parts(found)[0] == {1, 2}


# Documents


def named(graph: Graph, found: tuple[ReachedNode, ...]) -> list[str]:
    return [graph.ids[item.n] for item in found]


def test_the_seeds_fixture_is_walked_as_the_seed_says():
    world = graph_of_files(SEED)
    found = world.impact([world.require("US-001")])
    assert named(world, found.impacted) == ["TD-001", "TP-001", "tests/list.test.js"]
    assert named(world, found.governing) == ["prd", "FEAT-001", "SD-001"]
    assert found.superseded == ()
    assert [item.distance for item in found.impacted] == [1, 2, 2]


def test_the_way_to_each_document_is_the_shortest():
    world = graph_of_files(SEED)
    below = world.closure([world.require("prd")], down=True)
    ways = {world.ids[item.n]: [world.ids[n] for n in item.path] for item in below}
    assert ways["TP-001"] in (
        ["prd", "FEAT-001", "US-001", "TD-001", "TP-001"],
        ["prd", "FEAT-001", "SD-001", "TD-001", "TP-001"],
    )
    assert list(ways)[:3] == ["FEAT-001", "US-001", "US-002"]


def test_what_has_no_tier_comes_last():
    world = graph_of_files(pages(prd="", AR_1="[[prd]]", TD_1="[[prd]]", essay="[[prd]]"))
    below = world.impact([world.require("prd")]).impacted
    assert named(world, below) == ["TD-1", "AR-1", "docs/helix/essay"]


def test_ten_steps_are_the_limit_unless_more_is_asked_for():
    chain = {f"TD_{n}": f"depends_on: TD-{n - 1}" for n in range(1, 31)}
    world = graph_of_files(pages(TD_0="", **chain))
    first = world.require("TD-0")
    assert len(world.closure([first], down=True)) == 10
    assert len(world.closure([first], down=True, max_depth=100)) == 30
    assert world.closure([first], down=True, max_depth=0) == []


def test_successors_in_a_circle_end():
    world = graph_of_files(
        pages(
            SD_1="status: superseded\nsuperseded_by: SD-2",
            SD_2="status: superseded\nsuperseded_by: SD-1",
            TD_1="depends_on: SD-1",
        )
    )
    found = world.impact([world.require("TD-1")])
    assert named(world, found.superseded) == ["SD-1", "SD-2"]
    assert found.governing == ()


def test_only_a_superseded_document_leads_to_another():
    world = graph_of_files(
        pages(
            SD_1="status: partially-superseded\nsuperseded_by: SD-2",
            SD_2="",
            TD_1="depends_on: SD-1",
        )
    )
    assert named(world, world.impact([world.require("TD-1")]).governing) == ["SD-1"]
