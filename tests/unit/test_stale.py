"""Which documents were reviewed before what they follow from changed (G-8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import AT, graph_of_files, pages

from ddx.base.errors import CorruptFile
from ddx.documents.graph import Graph
from ddx.documents.reviews import (
    ReviewStamp,
    history,
    path_of,
    read_stamps,
    record,
    staleness,
    stamp_for,
)
from ddx.project.project import Project

CHAIN = pages(
    prd="",
    FEAT_1="depends_on: prd",
    US_1="depends_on: FEAT-1",
    TD_1="depends_on: US-1",
    ADR_1="",
)


def stamped(graph: Graph, *names: str) -> dict[str, ReviewStamp]:
    """Reviews of these documents, or of all, against the graph as it is."""
    chosen = names or [graph.ids[n] for n in range(len(graph)) if graph.is_reviewable(n)]
    return {name: stamp_for(graph, graph.require(name), at="then", by="mara") for name in chosen}


def changed(files: dict[str, str], name: str, *, text: str = "\nmore\n") -> dict[str, str]:
    path = f"docs/helix/{name}.md"
    return {**files, path: files[path] + text}


def stale(graph: Graph, stamps: dict[str, ReviewStamp]) -> dict[str, tuple[tuple[str, ...], str]]:
    return {
        graph.ids[item.n]: (item.reasons, item.cause) for item in staleness(graph, stamps).stale
    }


def unreviewed(graph: Graph, stamps: dict[str, ReviewStamp]) -> list[str]:
    return [graph.ids[n] for n in staleness(graph, stamps).unreviewed]


# Stamps


def test_a_stamp_holds_the_hashes_of_what_is_directly_upstream():
    graph = graph_of_files(CHAIN)
    stamp = stamp_for(graph, graph.require("US-1"), at="2026-01-02T03:04:05Z", by="mara")
    assert stamp == ReviewStamp(
        "US-1",
        "2026-01-02T03:04:05Z",
        "mara",
        deps={"FEAT-1": graph.hashes[graph.require("FEAT-1")]},
    )


def test_nothing_is_stale_right_after_a_review():
    graph = graph_of_files(CHAIN)
    found = staleness(graph, stamped(graph))
    assert (found.stale, found.unreviewed) == ((), ())


def test_never_stamped_is_unreviewed_in_the_order_of_authority():
    graph = graph_of_files(CHAIN)
    assert unreviewed(graph, {}) == ["prd", "FEAT-1", "US-1", "ADR-1", "TD-1"]
    assert unreviewed(graph, stamped(graph, "US-1")) == ["prd", "FEAT-1", "ADR-1", "TD-1"]
    assert stale(graph, {}) == {}


# Stale, and why


def test_a_change_upstream_makes_stale_and_spreads_each_with_its_reason():
    stamps = stamped(graph_of_files(CHAIN))
    graph = graph_of_files(changed(CHAIN, "FEAT-1"))
    assert stale(graph, stamps) == {
        "US-1": (("FEAT-1 changed since the review",), ""),
        "TD-1": (("US-1, which it follows from, is stale",), "US-1"),
    }


def test_a_document_that_changed_itself_is_not_stale():
    stamps = stamped(graph_of_files(CHAIN))
    assert list(stale(graph_of_files(changed(CHAIN, "TD-1")), stamps)) == []


def test_new_and_lost_upstream_are_reasons_too():
    stamps = stamped(graph_of_files(CHAIN))
    files = {**CHAIN, **pages(TD_1="depends_on: [ADR-1]")}
    assert stale(graph_of_files(files), stamps) == {
        "TD-1": (("ADR-1 is new upstream", "US-1 is no longer upstream"), "")
    }


def test_stale_by_consequence_names_every_stale_upstream_and_one_cause():
    files = {**CHAIN, **pages(TP_1="depends_on: [TD-1, US-1]")}
    stamps = stamped(graph_of_files(files))
    graph = graph_of_files(changed(files, "FEAT-1"))
    assert stale(graph, stamps)["TP-1"] == (
        ("TD-1, which it follows from, is stale", "US-1, which it follows from, is stale"),
        "US-1",
    )


def test_a_new_review_makes_it_good_again():
    stamps = stamped(graph_of_files(CHAIN))
    graph = graph_of_files(changed(CHAIN, "FEAT-1"))
    stamps |= stamped(graph, "US-1")
    assert stale(graph, stamps) == {}


def test_a_circle_of_stale_documents_ends():
    files = pages(TD_1="depends_on: TD-2", TD_2="depends_on: TD-1")
    stamps = stamped(graph_of_files(files))
    graph = graph_of_files(changed(files, "TD-1"))
    assert set(stale(graph, stamps)) == {"TD-1", "TD-2"}


links = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@given(links, st.integers(0, 6))
def test_exactly_what_is_downstream_of_a_change_is_stale(pairs, edited):
    pairs = {(up, down) for up, down in pairs if up < down}
    files = pages(
        **{
            f"TD_{n}": f"depends_on: [{', '.join(f'TD-{up}' for up, down in pairs if down == n)}]"
            for n in range(7)
        }
    )
    below = {down for up, down in pairs if up == edited}
    while more := {down for up, down in pairs if up in below} - below:
        below |= more
    stamps = stamped(graph_of_files(files))
    assert set(stale(graph_of_files(changed(files, f"TD-{edited}")), stamps)) == {
        f"TD-{n}" for n in below
    }


# What is not reviewed


@pytest.mark.parametrize("status", ["superseded", "deprecated", "archived", "historical"])
def test_history_is_neither_stale_nor_unreviewed(status):
    graph = graph_of_files(pages(US_1=f"status: {status}", US_2="superseded_by: US-1"))
    assert unreviewed(graph, {}) == []


def test_records_of_a_day_parked_pages_tests_and_code_are_not_reviewed():
    files = pages(AR_1="", RPT_1="", US_1="parking_lot: true", US_2="", essay="")
    files["docs/helix/plan-2026-03-27.md"] = "# Plan\n"
    files["tests/test_x.py"] = f"# {AT}spec-ref US-2\n"
    assert unreviewed(graph_of_files(files), {}) == ["US-2", "docs/helix/essay"]


# A review in the front matter


def with_review(files: dict[str, str], name: str, deps: dict[str, str]) -> dict[str, str]:
    path = f"docs/helix/{name}.md"
    lines = "".join(f"      {dep}: {found}\n" for dep, found in deps.items())
    review = f"ddx:\n  review:\n    reviewed_at: then\n    deps:\n{lines}"
    return {**files, path: files[path].replace("ddx:\n", review)}


def test_a_review_in_the_front_matter_is_read():
    graph = graph_of_files(CHAIN)
    feature = graph.hashes[graph.require("FEAT-1")]
    files = with_review(CHAIN, "US-1", {"FEAT-1": feature})
    assert "US-1" not in unreviewed(graph_of_files(files), {})
    assert stale(graph_of_files(files), {}) == {}
    edited = graph_of_files(changed(files, "FEAT-1"))
    assert stale(edited, {})["US-1"] == (("FEAT-1 changed since the review",), "")


def test_a_stamp_of_ours_beats_the_front_matter():
    files = with_review(CHAIN, "US-1", {"FEAT-1": "0" * 32})
    graph = graph_of_files(files)
    assert set(stale(graph, {})) == {"US-1", "TD-1"}
    assert stale(graph, stamped(graph, "US-1")) == {}


def test_hashes_of_another_tool_say_nothing():
    files = with_review(CHAIN, "US-1", {"FEAT-1": "a" * 64})
    graph = graph_of_files(files)
    assert stale(graph, {}) == {}
    assert "US-1" in unreviewed(graph, {})


def test_a_review_in_the_front_matter_makes_nobody_else_stale():
    stamps = stamped(graph_of_files(CHAIN))
    graph = graph_of_files(with_review(CHAIN, "US-1", {"FEAT-1": "0" * 32}))
    assert stale(graph, stamps) == {}


# The file of reviews


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(str(tmp_path))


def stamp(name: str, at: str = "then") -> ReviewStamp:
    return ReviewStamp(name, at, "mara ü", deps={"prd": "0" * 32})


def test_without_a_file_nothing_was_reviewed(project: Project):
    assert (history(project), read_stamps(project)) == ([], {})


def test_reviews_are_appended_and_the_last_one_counts(project: Project):
    record(project, [stamp("US-1", "first"), stamp("US-2")])
    before = Path(path_of(project)).read_bytes()
    record(project, [stamp("US-1", "second")])
    assert Path(path_of(project)).read_bytes().startswith(before)
    assert [item.at for item in history(project)] == ["first", "then", "second"]
    assert read_stamps(project) == {"US-1": stamp("US-1", "second"), "US-2": stamp("US-2")}


def test_a_line_that_a_crash_cut_short_is_named_and_spoils_no_other(project: Project):
    record(project, [stamp("US-1"), stamp("US-2")])
    file = Path(path_of(project))
    file.write_bytes(file.read_bytes()[:-20])
    record(project, [stamp("US-3")])
    with pytest.raises(CorruptFile) as problem:
        history(project)
    assert problem.value.message.startswith(f"{file}:2:")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[2])
    assert list(read_stamps(project)) == ["US-1", "US-3"]


@pytest.mark.parametrize(
    "line",
    [b"x", b"[]", b"{}", b'{"id": "A", "deps": []}', b'{"id": "A"}', b"<<<<<<< ours", b"\xff"],
)
def test_a_line_that_is_no_review_is_named(project: Project, line: bytes):
    record(project, [stamp("US-1")])
    with open(path_of(project), "ab") as file:
        file.write(b"\n" + line + b"\n")
    with pytest.raises(CorruptFile) as problem:
        read_stamps(project)
    assert problem.value.message.startswith(f"{path_of(project)}:3:")


@given(st.lists(st.tuples(st.sampled_from(["US-1", 'a"b', "docs/ü, x", "US-11"]), st.booleans())))
def test_a_few_reviews_are_found_like_all_of_them(tmp_path_factory, reviews):
    project = Project(str(tmp_path_factory.mktemp("reviews")))
    for number, (doc_id, is_foreign) in enumerate(reviews):
        item = ReviewStamp(doc_id, str(number), "mara", deps={"prd, or": "h"})
        record(project, [] if is_foreign else [item])
        if is_foreign:  # written by another tool, with the id first
            with Path(path_of(project)).open("a", encoding="utf-8") as file:
                row = {"id": doc_id, "at": str(number), "by": "mara", "deps": {"prd, or": "h"}}
                file.write(json.dumps(row) + "\n")
    everything = read_stamps(project)
    for doc_id in ("US-1", 'a"b', "docs/ü, x", "none"):
        few = read_stamps(project, only=[doc_id])
        assert few == {name: item for name, item in everything.items() if name == doc_id}
