"""What a request touches, and when search has a say (I-2, I-5, I-7)."""

from __future__ import annotations

import pytest
from tests.support.documents import SEED, TEST, graph_of_files, pages
from tests.support.slider import slider_with

from ddx.documents.graph import Graph
from helix.intake.impact import (
    RequestImpact,
    SearchCause,
    SearchReason,
    begin,
    downstream,
    reach,
)
from helix.intake.request import parse_request

FIXTURE = graph_of_files(SEED)


def impact_of(
    text: str, graph: Graph = FIXTURE, hits: dict[str, str] | None = None, **rules: object
) -> RequestImpact:
    slider = slider_with(**rules)
    start = begin(graph, parse_request(text), slider)
    found = {graph.place[name]: why for name, why in (hits or {}).items()}
    return reach(graph, start, found, slider)


def ids(touched: tuple[object, ...]) -> list[str]:
    return [it.id for it in touched]  # type: ignore[attr-defined]


def test_the_seeds_fixture_gives_the_design_its_plan_and_the_tests():  # I-7, G-6
    impact = impact_of("change US-001 acceptance criteria")
    assert ids(impact.named) == ["US-001"]
    assert ids(impact.documents) == ["TD-001", "TP-001"]
    assert ids(impact.tests) == ["tests/list.test.js"]
    assert impact.governing == ("prd", "FEAT-001", "SD-001")
    assert impact.searched is None


def test_each_follows_the_nearest_of_the_others():  # I-6
    impact = impact_of("update the PRD")
    above = {it.id: it.above for it in impact.documents}
    assert above["US-001"] == above["US-002"] == ("FEAT-001",)
    assert set(above["TD-001"]) == {"SD-001", "US-001"}


def test_search_is_for_three_cases_only():  # I-2
    assert impact_of("make it faster").searched == SearchReason(SearchCause.NO_NAME)
    alone = SearchReason(SearchCause.NOTHING_FOLLOWS, ("US-002",))
    assert impact_of("change US-002").searched == alone
    plan = f"{TEST}/test-plans/TP-001-first-tests.md"
    gap = graph_of_files({**SEED, plan: "# Tests\n\n[[TD-001]] [[TD-404]]\n"})
    assert impact_of("change US-001", gap).searched == SearchReason(SearchCause.BROKEN_LINKS)
    assert impact_of("change US-001").searched is None


@pytest.mark.parametrize(
    ("cause", "names", "sentence"),
    [
        (SearchCause.UNKNOWN_NAME, ("US-404",), "there is no document US-404"),
        (SearchCause.NO_NAME, (), "the request names no document"),
        (SearchCause.NOTHING_FOLLOWS, ("US-002",), "nothing follows from US-002"),
        (SearchCause.BROKEN_LINKS, (), "links lead to documents that do not exist"),
    ],
)
def test_a_search_says_why_in_a_sentence(cause, names, sentence):  # I-2
    assert SearchReason(cause, names).sentence == sentence


def test_a_hit_is_marked_and_so_is_what_only_it_leads_to():  # I-2
    impact = impact_of("make lists faster", hits={"SD-001": "it holds lists"})
    assert [(it.id, it.origin, it.hit) for it in (*impact.documents, *impact.tests)] == [
        ("SD-001", "search", "SD-001"),
        ("TD-001", "search", "SD-001"),
        ("TP-001", "search", "SD-001"),
        ("tests/list.test.js", "search", "SD-001"),
    ]


def test_a_declared_way_outweighs_a_hit():  # I-2
    impact = impact_of("change US-001", hits={"TD-001": "it holds list"})
    assert {it.hit for it in impact.documents} == {""}


def test_a_name_that_leads_nowhere_is_missing_with_its_place():  # I-5
    graph = graph_of_files(pages(US_1="[[FEAT-7]]", TD_1="[[US-1]]"))
    impact = impact_of("change US-1", graph)
    assert [(it.path, it.line) for it in impact.missing] == [("docs/helix/US-1.md", 3)]
    assert "FEAT-7" in impact.missing[0].what
    asked = impact_of("change US-404", graph).missing
    assert [it.what for it in asked] == ["the request names US-404, which does not exist"]


def test_what_took_the_place_of_a_superseded_document_is_meant():  # G-6
    graph = graph_of_files(
        pages(US_1="status: superseded\nsuperseded_by: US-2", US_2="id: US-2", TD_2="[[US-2]]")
    )
    impact = impact_of("change US-1", graph)
    assert ids(impact.named) == ["US-2"]
    assert impact.superseded == {"US-1": ("US-2",)}
    assert ids(impact.documents) == ["TD-2"]


def test_history_and_reports_are_left_out_and_named():  # G-4, G-6
    graph = graph_of_files(
        pages(US_1="id: US-1", TD_1="status: superseded\ndepends_on: [US-1]")
        | {"docs/helix/reports/r.md": "# R\n\n[[US-1]]\n"}
    )
    impact = impact_of("change US-1", graph)
    assert impact.documents == ()
    assert len(impact.left_out) == 2


def test_the_settings_of_traversal_are_kept():  # I-3
    assert ids(impact_of("update the prd", max_depth=1).documents) == ["FEAT-001"]
    by_distance = ids(impact_of("update the prd", authority_ordering=False).documents)
    assert by_distance.index("SD-001") < by_distance.index("US-001")
    ring = graph_of_files(pages(US_1="depends_on: [US-2]", US_2="depends_on: [US-1]"))
    assert len(impact_of("change US-1", ring).rings) == 1
    assert impact_of("change US-1", ring, cycle_detection=False).rings == ()


def test_a_ring_makes_no_ring_of_beads():  # G-6, T-12
    ring = graph_of_files(
        pages(US_1="depends_on: [US-3]", US_2="depends_on: [US-1]", US_3="depends_on: [US-2]")
    )
    impact = impact_of("change US-1", ring)
    waits = {it.id: set(it.above) for it in (*impact.named, *impact.documents)}
    order: list[str] = []
    while free := sorted(doc for doc in waits if doc not in order and waits[doc] <= {*order}):
        order += free
    assert sorted(order) == ["US-1", "US-2", "US-3"]


def test_the_path_of_a_conflict_is_what_follows_from_it():  # I-5
    assert downstream(FIXTURE, ["SD-001"], slider_with()) == {
        *("SD-001", "TD-001", "TP-001", "tests/list.test.js"),
    }
