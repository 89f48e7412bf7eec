"""The generated trackers of the benchmarks are such as T-19 asks for."""

import json
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median

import pytest
from benchmarks.generate import encode, rows, write_new_beads, write_tracker

BEADS = 2000
EDGE_ORDER = ("issue_id", "depends_on_id", "type", "created_at", "created_by", "metadata")


@pytest.fixture(scope="module")
def tracker(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("generated") / "beads.jsonl"
    write_tracker(path, BEADS)
    return path


@pytest.fixture(scope="module")
def beads(tracker) -> list[dict]:
    return [json.loads(line) for line in tracker.read_bytes().splitlines()]


def written_again(row: dict) -> bytes:
    """A row from its parsed form, by the rules of the format and not by our writer."""
    texts = [f'"{key}":{compact(row[key], key)}' for key in sorted(row)]
    text = "{" + ",".join(texts) + "}\n"
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode()


def compact(value: object, key: str) -> str:
    if key == "dependencies":
        edges = [{part: edge[part] for part in EDGE_ORDER if part in edge} for edge in value]
        return json.dumps(edges, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def test_reading_and_writing_gives_the_same_bytes(tracker, beads):  # T-1
    assert b"".join(map(written_again, beads)) == tracker.read_bytes()


def test_rows_are_sorted_by_id_and_no_id_stands_twice(beads):  # T-1
    ids = [row["id"].encode() for row in beads]
    assert ids == sorted(set(ids))
    assert len(ids) == BEADS


def test_marks_that_need_an_escape_do_occur(tracker):  # T-1
    text = tracker.read_text()
    assert "\\u003c" in text
    assert "\\u0026" in text
    assert "队列" in text
    assert not set("<>&") & set(text)


def test_the_same_arguments_give_the_same_bytes_and_another_seed_does_not(tracker, tmp_path):
    again, other = tmp_path / "again", tmp_path / "other"
    write_tracker(again, BEADS)
    write_tracker(other, BEADS, seed=7)
    assert again.read_bytes() == tracker.read_bytes() != other.read_bytes()


def test_the_median_row_has_about_two_kilobytes(tracker):  # T-19
    assert 1600 <= median(map(len, tracker.read_bytes().splitlines())) <= 2400


@pytest.mark.parametrize("wanted", [1.5, 3.0])
def test_there_are_about_as_many_edges_as_asked_for(wanted):  # T-19
    found = sum(len(row.get("dependencies", ())) for row in rows(BEADS, edges=wanted))
    assert found / BEADS == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("count", [1, 2, 12, 13, 300])
def test_edges_and_parents_make_no_cycle_and_lead_to_beads_that_exist(count):  # T-12
    made = list(rows(count, edges=3.0))
    links = {
        row["id"]: {edge["depends_on_id"] for edge in row.get("dependencies", ())}
        | ({row["parent"]} if "parent" in row else set())
        for row in made
    }
    assert set(TopologicalSorter(links).static_order()) == links.keys()


def test_no_bead_waits_for_its_epic(beads):  # T-12
    epics = {row["id"] for row in beads if row["issue_type"] == "epic"}
    waits = {
        edge["depends_on_id"]
        for row in beads
        for edge in row.get("dependencies", ())
        if edge["type"] == "blocks"
    }
    assert epics
    assert not epics & waits


def test_a_later_bead_depends_only_on_earlier_ones(beads):
    created = {row["id"]: row["created_at"] for row in beads}
    assert all(
        created[edge["depends_on_id"]] < row["created_at"]
        for row in beads
        for edge in row.get("dependencies", ())
    )


def test_a_bit_more_than_half_is_open_and_every_epic_has_children(beads):
    open_share = sum(row["status"] == "open" for row in beads) / BEADS
    parents = {row["parent"] for row in beads if "parent" in row}
    assert 0.50 <= open_share <= 0.60
    assert {row["id"] for row in beads if row["issue_type"] == "epic"} == parents


def test_rows_have_what_the_commands_look_at(beads):  # T-2, T-17
    assert all("`" in row["acceptance"] and row["spec-id"] for row in beads)
    assert all(any(label.startswith("area:") for label in row["labels"]) for row in beads)
    assert any("events" in row for row in beads)
    assert any("x-origin" in row for row in beads)
    assert all(row["claim-id"] for row in beads if row["status"] == "in_progress")
    assert {edge["type"] for row in beads for edge in row.get("dependencies", ())} == {
        "blocks",
        "parent-child",
        "related",
    }


def test_new_beads_have_no_id_and_no_links(tmp_path):
    write_new_beads(tmp_path / "new.jsonl", 30)
    made = [json.loads(line) for line in (tmp_path / "new.jsonl").read_bytes().splitlines()]
    assert len(made) == 30
    assert all(row["title"] and not {"id", "parent", "dependencies"} & row.keys() for row in made)


def test_a_line_ends_in_one_newline_and_keeps_every_language():
    assert encode({"title": "naïve\n队列"}) == '{"title":"naïve\\n队列"}\n'.encode()
