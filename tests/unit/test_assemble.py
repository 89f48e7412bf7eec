"""From single files to one graph: who is who, and who follows from whom (G-2, G-4, G-5, G-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import AT, SEED, edges_of, graph_of_files, pages, places

from ddx.base.findings import ERROR, WARNING
from ddx.documents.graph import Graph


def graph_of(**texts: str) -> Graph:
    return graph_of_files(pages(**texts))


# Direction (G-5)


def test_the_seeds_fixture_has_its_edges_and_nothing_wrong():
    graph = graph_of_files(SEED)
    assert graph.findings() == ()
    assert edges_of(graph) == {
        ("prd", "FEAT-001"),
        ("FEAT-001", "US-001"),
        ("FEAT-001", "US-002"),
        ("FEAT-001", "SD-001"),
        ("SD-001", "TD-001"),
        ("US-001", "TD-001"),
        ("TD-001", "TP-001"),
        ("TD-001", "tests/list.test.js"),
        ("TP-001", "tests/list.test.js"),
    }


def test_a_link_goes_by_authority_whichever_side_wrote_it():
    assert edges_of(graph_of(FEAT_1="[[US-1]]", US_1="")) == {("FEAT-1", "US-1")}
    assert edges_of(graph_of(FEAT_1="", US_1="[[FEAT-1]]")) == {("FEAT-1", "US-1")}
    assert edges_of(graph_of(FEAT_1="[[US-1]]", US_1="[[FEAT-1]]")) == {("FEAT-1", "US-1")}


def test_within_a_tier_the_writer_depends_on_what_it_names():
    assert edges_of(graph_of(ADR_1="[[CONTRACT-1]]", CONTRACT_1="")) == {("CONTRACT-1", "ADR-1")}


def test_depends_on_points_upstream_even_against_authority():
    graph = graph_of(FEAT_1="depends_on: [US-1]", US_1="")
    assert edges_of(graph) == {("US-1", "FEAT-1")}


@pytest.mark.parametrize("order", [("FEAT_1", "US_1"), ("US_1", "FEAT_1")])
def test_what_is_declared_beats_what_a_link_lets_us_guess(order):
    texts = {"FEAT_1": "depends_on: [US-1]", "US_1": "[[FEAT-1]]"}
    graph = graph_of(**{name: texts[name] for name in order})
    assert [(edge.up, edge.down, edge.origin) for edge in graph.edges()] == [
        ("US-1", "FEAT-1", "depends_on")
    ]
    assert graph.findings() == ()


def test_an_edge_that_is_both_declared_and_linked_is_declared():
    files = {
        "docs/US-1.md": "# S\n",
        "docs/TD-1.md": "---\nddx: {depends_on: US-1}\n---\n[[US-1]]\n",
    }
    (edge,) = graph_of_files(files).edges()
    assert (edge.origin, edge.path, edge.line) == ("depends_on", "docs/TD-1.md", 2)


def test_what_carries_no_authority_is_downstream_of_what_names_it():
    files = pages(TD_1="[[AR-1]]", FEAT_1="[[docs/helix/plan-2026-03-27]]", AR_1="")
    files["docs/helix/plan-2026-03-27.md"] = "# Plan\n"
    assert edges_of(graph_of_files(files)) == {
        ("TD-1", "AR-1"),
        ("FEAT-1", "docs/helix/plan-2026-03-27"),
    }


def test_a_page_of_unknown_type_is_upstream_of_what_names_it():
    graph = graph_of_files({"docs/TD-1.md": "[[docs/principles]]\n", "docs/principles.md": ""})
    assert edges_of(graph) == {("docs/principles", "TD-1")}
    assert places(graph) == [("unknown-type", "docs/principles.md", 1)]


def test_a_document_does_not_follow_from_itself():
    assert edges_of(graph_of(TD_1="[[TD-1]] [[TD-1-slug]]")) == set()


def test_a_prd_that_names_its_features_makes_no_cycle():
    graph = graph_of_files(
        {
            "docs/prd.md": "[[FEAT-1]] [[FEAT-2]]\n",
            "docs/FEAT-1.md": "---\nddx:\n  depends_on: [prd]\n---\n[[prd]] [[FEAT-2]]\n",
            "docs/FEAT-2.md": "[[prd]]\n",
        }
    )
    assert graph.findings() == ()
    assert edges_of(graph) == {("prd", "FEAT-1"), ("prd", "FEAT-2"), ("FEAT-2", "FEAT-1")}


# Identity (G-2)


def test_the_second_file_with_an_id_is_an_error_that_names_both():
    graph = graph_of_files(
        {
            "docs/a/TD-1-first.md": "# First\n",
            "docs/b/other.md": "---\ntitle: x\nddx:\n  id: td-1\n---\n# Second\n",
            "docs/c/TD-1-third.md": "# Third\n",
        }
    )
    assert graph.ids == ["TD-1"]
    assert graph.titles == ["First"]
    assert places(graph) == [
        ("duplicate-id", "docs/b/other.md", 4),
        ("duplicate-id", "docs/c/TD-1-third.md", 1),
    ]
    assert all(item.severity == ERROR for item in graph.findings())
    assert all("docs/a/TD-1-first.md" in item.what for item in graph.findings())


@given(st.permutations(["docs/TD-1-a.md", "docs/TD-1-b.md", "docs/US-1.md", "docs/x.md"]))
def test_the_order_of_the_files_makes_no_difference(order):
    texts = {
        "docs/TD-1-a.md": "[[US-1]]",
        "docs/TD-1-b.md": "[[gone]]",
        "docs/US-1.md": "",
        "docs/x.md": "[[TD-1]]",
    }
    one = graph_of_files(texts)
    other = graph_of_files({path: texts[path] for path in order})
    assert one.__dict__ == other.__dict__


def test_names_are_found_in_any_case_and_with_their_slug():
    graph = graph_of(TD_1="[[us-1]] [[US-2-some-slug]] [[PRD]]", US_1="", US_2="", prd="")
    assert edges_of(graph) == {("US-1", "TD-1"), ("US-2", "TD-1"), ("prd", "TD-1")}
    assert graph.ids[graph.require("us-2-whatever")] == "US-2"
    assert graph.ids[graph.require("docs/helix/prd.md")] == "prd"


# Gaps (G-3)


def test_a_link_to_nothing_is_a_gap_with_file_and_line():
    head = "---\nddx:\n  depends_on:\n    - US-10\n    - US-1\n---\n"
    graph = graph_of_files(
        {
            "docs/TD-1.md": f"{head}text\n\n[[US-404]]\n",
            "docs/US-10.md": "",
            "tests/test_x.py": f"\n# {AT}spec-ref TD-404\n",
        }
    )
    assert places(graph) == [
        ("gap", "docs/TD-1.md", 5),
        ("gap", "docs/TD-1.md", 9),
        ("gap", "tests/test_x.py", 2),
    ]
    assert all(item.severity == ERROR for item in graph.findings())
    assert "US-404" in graph.findings()[1].what
    assert "tests/test_x.py" not in graph.ids


# Test cases and other parts


def test_who_names_a_test_case_means_its_plan():
    graph = graph_of_files(
        {
            "docs/TP-1.md": "# Plan\n\n## TC-001: it lists\n\n### `TC-002` it sorts\n",
            "docs/TD-1.md": "[[TC-002]]\n",
            "tests/test_x.py": f"# {AT}requirement TC-001\n",
        }
    )
    assert graph.findings() == ()
    assert edges_of(graph) == {("TD-1", "TP-1"), ("TP-1", "tests/test_x.py")}
    assert graph.holders("tc-001") == ("TP-1",)
    assert graph.ids[graph.require("TC-001")] == "TP-1"


def test_a_test_case_of_several_plans_is_that_of_the_design_that_the_test_names():
    plan = "# Plan\n\n[[TD-{}]]\n\n## TC-001: it lists\n"
    files = {f"docs/TP-{n}.md": plan.format(n) for n in (1, 2)}
    files |= {f"docs/TD-{n}.md": "" for n in (1, 2)}
    files["tests/one.py"] = f"# {AT}spec-ref TD-2\n# {AT}requirement TC-001\n"
    files["tests/both.py"] = f"# {AT}requirement TC-001\n"
    found = edges_of(graph_of_files(files))
    assert {up for up, down in found if down == "tests/one.py"} == {"TD-2", "TP-2"}
    assert {up for up, down in found if down == "tests/both.py"} == {"TP-1", "TP-2"}


def test_a_plan_that_names_its_own_test_case_follows_from_no_other_plan():
    graph = graph_of(TP_1="[[TC-001]]\n\n## TC-001\n", TP_2="\n## TC-001\n")
    assert edges_of(graph) == set()
    assert graph.findings() == ()


def test_a_heading_is_no_document():
    graph = graph_of(prd="## FEAT-002: later\n", TD_1="[[FEAT-002]]")
    assert places(graph) == [("gap", "docs/helix/TD-1.md", 3)]


def test_a_document_counts_more_than_a_heading_of_its_name():
    graph = graph_of(TP_1="## TC-001: it lists\n", TC_001="", TD_1="[[TC-001]]")
    assert edges_of(graph) == {("TD-1", "TC-001")}


# Tests and code (G-7)


def test_tests_and_code_are_nodes_below_all_that_they_name():
    graph = graph_of_files(
        {
            "docs/TD-1.md": "",
            "docs/US-1.md": "",
            "tests/test_x.py": f"# {AT}spec-ref TD-1, US-1\n",
            "src/x.py": f"# {AT}spec-ref TD-1\n",
        }
    )
    n = graph.require("tests/test_x.py")
    assert (graph.types[n], graph.tiers[n]) == ("test", 8)
    n = graph.require("src/x.py")
    assert (graph.types[n], graph.tiers[n]) == ("code", 10)
    assert edges_of(graph) == {
        ("TD-1", "tests/test_x.py"),
        ("US-1", "tests/test_x.py"),
        ("TD-1", "src/x.py"),
    }


# Superseded pages (G-6)


def test_a_successor_is_kept_by_its_id():
    graph = graph_of(SD_1="status: superseded\nsuperseded_by: sd-2-new", SD_2="")
    assert graph.document(graph.require("SD-1")).superseded_by == ("SD-2",)
    assert graph.heirs(graph.require("SD-1")) == (graph.require("SD-2"),)
    assert graph.is_superseded(graph.require("SD-1"))
    assert not graph.is_superseded(graph.require("SD-2"))
    assert edges_of(graph) == set()


def test_superseded_by_nothing_is_a_warning_and_by_a_missing_page_a_gap():
    graph = graph_of(SD_1="status: superseded", SD_2="status: superseded\nsuperseded_by: SD-404")
    found = [(item.kind, item.severity, item.line) for item in graph.findings()]
    assert found == [("no-successor", WARNING, 1), ("gap", ERROR, 4)]
    assert graph.heirs(graph.require("SD-2")) == ()


def test_a_page_and_its_successor_name_each_other_without_a_cycle():
    head = "---\nddx:\n  status: superseded\n  superseded_by: ADR-2\n---\n"
    graph = graph_of_files(
        {
            "docs/ADR-1.md": f"{head}see [[ADR-2]]\n",
            "docs/ADR-2.md": "# New\n\ntakes the place of [[ADR-1]]\n",
        }
    )
    assert graph.findings() == ()
    assert edges_of(graph) == set()


# Cycles (G-6)


def cycles(graph: Graph) -> list[tuple[str, str, int]]:
    return [
        (item.severity, item.where, item.line) for item in graph.findings() if item.kind == "cycle"
    ]


def test_a_true_cycle_is_reported_once_with_its_ring_and_traversal_ends():
    graph = graph_of(
        TD_1="depends_on: TD-3",
        TD_2="depends_on: TD-1",
        TD_3="depends_on: TD-2",
        TP_1="depends_on: TD-3",
    )
    assert cycles(graph) == [(ERROR, "docs/helix/TD-1.md", 3)]
    assert "TD-3 -> TD-1 -> TD-2 -> TD-3" in graph.findings()[0].what
    found = graph.impact([graph.require("TD-1")])
    assert {graph.ids[item.n] for item in found.impacted} == {"TD-2", "TD-3", "TP-1"}


def test_each_knot_of_cycles_is_reported_once():
    graph = graph_of(
        TD_1="depends_on: [TD-2, TD-3]",
        TD_2="depends_on: [TD-1, TD-3]",
        TD_3="depends_on: [TD-1, TD-2]",
        US_1="depends_on: [US-2]",
        US_2="depends_on: [US-1]",
        ADR_1="depends_on: [TD-1, US-1]",
    )
    assert [path for _, path, _ in cycles(graph)] == ["docs/helix/TD-1.md", "docs/helix/US-1.md"]


def test_links_in_a_circle_are_a_warning_until_somebody_declares_a_dependency():
    graph = graph_of(ADR_1="[[ADR-2]]", ADR_2="[[ADR-1]]")
    assert cycles(graph) == [(WARNING, "docs/helix/ADR-1.md", 3)]
    assert edges_of(graph) == {("ADR-1", "ADR-2"), ("ADR-2", "ADR-1")}
    declared = graph_of(ADR_1="depends_on: ADR-2", ADR_2="[[ADR-1]]")
    assert cycles(declared) == []
    assert edges_of(declared) == {("ADR-2", "ADR-1")}
    mixed = graph_of(ADR_1="[[ADR-2]]", ADR_2="[[ADR-3]]", ADR_3="depends_on: ADR-1")
    assert cycles(mixed) == [(ERROR, "docs/helix/ADR-3.md", 3)]


names = st.integers(0, 7)


@given(st.sets(st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), max_size=16))
def test_a_cycle_is_found_exactly_where_a_document_can_reach_itself(pairs):
    texts = {
        f"TD_{n}": f"depends_on: [{', '.join(f'TD-{up}' for up, down in pairs if down == n)}]"
        for n in range(8)
    }
    reach = {n: {down for up, down in pairs if up == n} for n in range(8)}
    for _ in range(8):
        reach = {n: below.union(*(reach[m] for m in below)) for n, below in reach.items()}
    knots = {
        frozenset(m for m in range(8) if m in reach[n] and n in reach[m])
        for n in range(8)
        if n in reach[n]
    }
    assert len(cycles(graph_of(**texts))) == len(knots)


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
def test_thousands_of_cycles_and_long_chains_are_found_in_time():
    texts = {f"TD_{n}": f"depends_on: [TD-{n ^ 1}, TD-{n + 2}]" for n in range(4_000)}
    texts |= {f"TD_{n}": "" for n in (4_000, 4_001)}
    graph = graph_of(**texts)
    assert len(cycles(graph)) == 2_000
