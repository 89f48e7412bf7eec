"""What the doctor finds and how it mends (D-15, T-11, T-14, T-14a): rules first, then the laws."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.errors import CorruptFile
from ddx.base.findings import Finding
from ddx.tracker import snapshot as index
from ddx.tracker.changeset import LARGEST_TEXT
from ddx.tracker.doctor.damaged_file import ParsedFile, read_sheet
from ddx.tracker.doctor.link_checks import find_rings, link_findings
from ddx.tracker.doctor.repair_plan import RemovalPaths, RepairedFile, mend
from ddx.tracker.doctor.row_checks import (
    BackupCopy,
    RowContext,
    file_findings,
    is_orphaned,
    kept_findings,
    lost_rows,
    row_findings,
    unlike,
)
from ddx.tracker.row import Row, decode, encode

PATH = "beads.jsonl"
NOON = "2026-01-02T12:00:00Z"
LATER = "2026-01-02T13:00:00Z"


def bead(bead_id: str = "app-1", **fields: Any) -> Row:
    row = {"id": bead_id, "title": "First", "status": "open", "created_at": NOON}
    return {**row, **{key.replace("__", "-"): found for key, found in fields.items()}}


def edge(to: str) -> Row:
    return {"issue_id": "", "depends_on_id": to, "type": "blocks"}


def lines_of(*rows: Row | bytes) -> bytes:
    return b"".join((row if isinstance(row, bytes) else encode(row)) + b"\n" for row in rows)


def sheet_of(*rows: Row | bytes) -> ParsedFile:
    return read_sheet(PATH, lines_of(*rows))


def mended(sheet: ParsedFile, base: dict[str, Row] | None = None) -> RepairedFile:
    numbers = count(1)
    return mend(
        sheet,
        base=base or {},
        new_id=lambda old: f"{old}-new{next(numbers)}",
        taken=(),
        beside=RemovalPaths("unreadable.txt", "cut.jsonl"),
    )


def rows_of(result: RepairedFile) -> dict[str, Row]:
    return {bead_id: decode(line) for bead_id, line in result.lines.items()}


def links(*rows: Row, archived: tuple[Row, ...] = ()) -> list[Finding]:
    columns = [index.build(PATH, lines_of(*group)) for group in (rows, archived)]
    return list(link_findings(columns[0], columns[1]))


def kinds(findings: Any) -> list[str]:
    return [finding.kind for finding in findings]


def circumstances(**changes: Any) -> RowContext:
    facts: dict[str, Any] = {
        "known": {"app-1"},
        "machine": "tower",
        "is_alive": lambda pid, mark: False,
        "has_attachment": lambda bead_id: False,
    }
    return RowContext(**{**facts, **changes})


# Links


def test_an_edge_to_nowhere_is_named_with_its_cure_and_an_archived_one_is_fine():  # D-14
    waiting = bead("app-1", dependencies=[edge("app-gone"), edge("app-old")])
    [finding] = links(waiting, archived=(bead("app-old", status="closed"),))
    assert (finding.kind, finding.severity, finding.where) == ("dangling-edge", "warning", "app-1")
    assert finding.cure.endswith("ddx bead dep remove app-1 app-gone")
    assert not finding.fixable


def test_links_of_finished_beads_hold_nobody_back():
    assert not links(bead(status="closed", dependencies=[edge("app-gone")], parent="app-lost"))


def test_a_parent_that_exists_nowhere_is_found():
    assert kinds(links(bead(parent="app-gone"))) == ["dangling-parent"]


def test_a_ring_is_spelled_out():  # T-12
    [finding] = links(
        bead("a", dependencies=[edge("b")]),
        bead("b", dependencies=[edge("c")]),
        bead("c", dependencies=[edge("a")]),
    )
    assert finding.kind == "cyclic-edge"
    assert "a waits for b, b waits for c, c waits for a" in finding.what
    assert "ddx bead dep remove c a" in finding.cure


def test_a_bead_that_waits_for_its_own_epic_is_in_a_ring():  # T-12
    [finding] = links(
        bead("epic", issue_type="epic"), bead("part", parent="epic", dependencies=[edge("epic")])
    )
    assert "epic has the part part, part waits for epic" in finding.what
    assert "ddx bead dep remove part epic" in finding.cure


def test_parents_in_a_ring_are_found_without_a_dependency_to_remove():
    [finding] = links(bead("a", parent="b"), bead("b", parent="a"))
    assert finding.kind == "cyclic-edge"
    assert "dep remove" not in finding.cure


def test_an_epic_has_children_also_when_they_are_archived():
    epic = bead("e", issue_type="epic")
    assert kinds(links(epic)) == ["epic-without-children"]
    assert not links(epic, archived=(bead("p", parent="e", status="closed"),))


def test_a_long_ring_is_cut_in_words_and_found_without_recursion():
    ids = [f"b{n:05}" for n in range(5_000)]
    rows = [bead(bead_id, dependencies=[edge(ids[n - 1])]) for n, bead_id in enumerate(ids)]
    [finding] = links(*rows)
    assert "and 4988 more" in finding.what
    assert len(finding.what) < 1_000


@given(st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefg"))))
def test_rings_are_real_share_no_bead_and_none_is_left_without_them(drawn):
    graph = {node: [to for to in drawn[node] if to in drawn] for node in sorted(drawn)}
    rings = list(find_rings(graph))
    members = [node for ring in rings for node in ring]
    assert len(members) == len(set(members))
    for ring in rings:
        assert all(to in graph[node] for node, to in zip(ring, ring[1:] + ring[:1], strict=True))
    rest = {node: set(graph[node]) - set(members) for node in graph if node not in members}
    while leaves := [node for node, to in rest.items() if not to & rest.keys()]:
        for node in leaves:
            del rest[node]
    assert not rest, "a ring was missed"


# One row


def claim(**changes: Any) -> Row:
    held = {
        "status": "in_progress",
        "owner": "helix",
        "claimed__machine": "tower",
        "claimed__pid": "812",
        "claimed__pid__start": "mark",
    }
    return bead(**{**held, **changes})


@pytest.mark.parametrize("pid", ["812", 812])
def test_a_runners_claim_is_orphaned_once_its_process_is_gone(pid):  # T-24, T-5
    asked = []

    def is_alive(number: int, mark: str) -> bool:
        asked.append((number, mark))
        return False

    assert is_orphaned(claim(claimed__pid=pid), machine="tower", is_alive=is_alive)
    assert asked == [(812, "mark")]


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "Ada"},
        {"claimed__machine": "laptop"},
        {"status": "open"},
        {"claimed__pid": ""},
        {"claimed__pid": "9" * 30},
    ],
)
def test_nobody_elses_claim_is_judged(other):  # T-24
    row = claim(**other)
    assert not is_orphaned(row, machine="tower", is_alive=lambda pid, mark: False)


def test_a_living_process_keeps_its_claim():
    assert not is_orphaned(claim(), machine="tower", is_alive=lambda pid, mark: True)


def test_success_criteria_are_asked_of_what_an_agent_could_be_handed():  # T-17
    assert kinds(row_findings(bead(), circumstances())) == ["no-success-criteria"]
    assert not list(row_findings(bead(verify=["true"]), circumstances()))
    assert not list(row_findings(bead(), circumstances(default_checks=("pytest -q",))))
    for spared in ({"status": "closed"}, {"issue_type": "decision"}, {"issue_type": "epic"}):
        assert not list(row_findings(bead(**spared), circumstances()))


def test_a_vague_acceptance_line_is_named():  # T-17
    [finding] = row_findings(bead(verify=["true"], acceptance="it works"), circumstances())
    assert finding.what.startswith("acceptance line 1")


def test_an_attachment_that_the_row_names_must_be_there():  # T-6
    row = bead(status="closed", events_attachment="app-1/events.jsonl")
    assert kinds(row_findings(row, circumstances())) == ["missing-attachment"]
    there = circumstances(has_attachment=lambda bead_id: bead_id == "app-1")
    assert not list(row_findings(row, there))


def test_a_replacement_that_exists_nowhere_is_found():
    row = bead(superseded__by="app-gone")
    assert kinds(row_findings(row, circumstances())) == ["dangling-edge"]


def test_large_event_texts_can_be_mended_and_other_large_texts_are_only_told():  # T-6
    large = "x" * (LARGEST_TEXT + 1)
    row = bead(verify=["true"], events=[{"kind": "note", "body": large}], description=large)
    found = [(it.kind, it.severity, it.fixable) for it in row_findings(row, circumstances())]
    assert found == [("oversized-field", "warning", True), ("oversized-field", "info", False)]


def test_no_cure_repeats_an_id_that_a_shell_could_misread():  # T-23
    hostile = "x; rm -rf ~"
    found = [
        *links(bead(hostile, dependencies=[edge("$(reboot)")], parent="`reboot`")),
        *row_findings(claim(id=hostile), circumstances()),
    ]
    assert len(found) > 2
    for finding in found:
        assert "rm -rf" not in finding.cure
        assert "reboot" not in finding.cure


# A broken file


def test_every_line_that_cannot_be_read_is_named_by_path_and_line():  # D-15
    sheet = sheet_of(bead("a"), b"{torn", bead("b"), b"\xff\xfe", b'{"title":"no id"}', b"[]")
    found = [(it.where, it.severity, it.fixable) for it in file_findings(sheet)]
    assert found == [(f"{PATH}:{number}", "error", True) for number in (2, 4, 5, 6)]


def test_a_whole_file_is_left_as_it_is():
    sheet = sheet_of(bead("a"), bead("b"))
    assert not list(file_findings(sheet))
    result = mended(sheet)
    assert not result.fixes
    assert list(result.lines.values()) == [encode(bead("a")), encode(bead("b"))]


def test_unreadable_lines_are_moved_word_for_word():  # D-15
    result = mended(sheet_of(bead("a"), b' {"torn": "\xc3', b"\x00\x00"))
    assert list(result.lines) == ["a"]
    assert b"".join(result.unreadable).strip() == b'{"torn": "\xc3\x00\x00'
    assert [fix.where for fix in result.fixes] == [f"{PATH}:2", f"{PATH}:3"]


def test_rows_put_end_to_end_get_a_line_each():
    sheet = sheet_of(encode(bead("a")) + encode(bead("b")) + b'{"id":"c', bead("d"))
    result = mended(sheet)
    assert rows_of(result) == {name: bead(name) for name in "abd"}
    assert result.unreadable == (b'{"id":"c',)


def test_a_row_that_an_editor_formatted_is_one_line_again():
    formatted = json.dumps(bead("a", notes="é"), indent=2, ensure_ascii=False).encode()
    result = mended(sheet_of(b"garbage", formatted, bead("b")))
    assert rows_of(result) == {"a": bead("a", notes="é"), "b": bead("b")}
    assert all(b"\n" not in line for line in result.lines.values())


def test_the_rows_of_a_json_array_are_saved():
    result = mended(sheet_of(b"[", encode(bead("a")) + b",", encode(bead("b")), b"]"))
    assert rows_of(result) == {"a": bead("a"), "b": bead("b")}
    assert result.unreadable == (b"[", b",", b"]")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_taken_away(encoding):
    content = lines_of(bead("a", notes="für"), bead("b")).decode().encode(encoding)
    sheet = read_sheet(PATH, content)
    assert kinds(file_findings(sheet)) == ["byte-order-mark"]
    assert rows_of(mended(sheet)) == {"a": bead("a", notes="für"), "b": bead("b")}


def test_dos_line_ends_become_newlines():
    sheet = read_sheet(PATH, lines_of(bead("a"), bead("b")).replace(b"\n", b"\r\n"))
    [finding] = file_findings(sheet)
    assert (finding.kind, finding.severity) == ("line-endings", "warning")
    result = mended(sheet)
    assert list(result.lines.values()) == [encode(bead("a")), encode(bead("b"))]
    assert kinds(result.fixes) == ["line-endings"]


def test_large_event_texts_are_cut_and_kept_whole_beside():  # T-6
    body = "é" * LARGEST_TEXT
    row = bead(events=[{"kind": "note", "body": "small"}, {"kind": "note", "body": body}, 7])
    result = mended(sheet_of(row))
    [first, second, third] = rows_of(result)["app-1"]["events"]
    assert (first["body"], third) == ("small", 7)
    assert len(second["body"].encode()) <= LARGEST_TEXT
    assert result.cut == ({"id": "app-1", "event": 2, "field": "body", "text": body},)


# Two rows, one id


def test_equal_rows_fall_together():  # T-11
    sheet = sheet_of(bead("a"), bead("b"), bead("a"))
    [finding] = file_findings(sheet)
    assert finding.where == f"{PATH}:3"
    assert "line 1" in finding.what
    result = mended(sheet)
    assert rows_of(result) == {"a": bead("a"), "b": bead("b")}
    assert kinds(result.fixes) == ["duplicate-id"]


def test_rows_of_one_bead_are_merged_field_by_field():  # T-14
    result = mended(
        sheet_of(bead("a", labels=["x"], notes="one"), bead("a", labels=["y"], notes="two"))
    )
    row = rows_of(result)["a"]
    assert row["labels"] == ["x", "y"]
    assert row["notes"] == "one"
    assert row["merge-conflicts"] == [{"field": "notes", "theirs": "two"}]
    assert any("ddx bead resolve" in fix.what for fix in result.fixes)


def test_another_bead_under_the_same_id_gets_its_own():  # T-14
    first, second = bead("a", title="First"), bead("a", title="Second")
    result = mended(sheet_of(first, second))
    assert rows_of(result) == {"a": first, "a-new1": {**second, "id": "a-new1"}}
    assert any("a-new1" in fix.what for fix in result.fixes)


def test_an_id_in_use_is_drawn_again():  # T-18
    drawn = iter(["archived", "b", "free"])
    result = mend(
        sheet_of(bead("a"), bead("a", title="Second"), bead("b")),
        base={},
        new_id=lambda old: next(drawn),
        taken={"archived"},
        beside=RemovalPaths("", ""),
    )
    assert sorted(result.lines) == ["a", "b", "free"]


# Git's markers


def conflict(ours: list[Row], theirs: list[Row], base: list[Row] | None = None) -> bytes:
    middle = b"" if base is None else b"||||||| base\n" + lines_of(*base)
    ends = (b"<<<<<<< HEAD\n", b"=======\n", b">>>>>>> other")
    return ends[0] + lines_of(*ours) + middle + ends[1] + lines_of(*theirs) + ends[2]


def test_both_sides_of_a_conflict_are_joined_bead_by_bead():  # T-11, T-14
    before = bead("b", labels=["x"], notes="old")
    sheet = sheet_of(
        bead("a"),
        conflict(
            [bead("b", labels=["x", "ours"], notes="new"), bead("c")],
            [bead("b", labels=["x", "theirs"], notes="old"), bead("d")],
            [before],
        ),
        bead("e"),
    )
    [finding] = file_findings(sheet)
    assert (finding.kind, finding.where) == ("conflict-markers", f"{PATH}:2")
    rows = rows_of(mended(sheet))
    assert sorted(rows) == ["a", "b", "c", "d", "e"]
    assert rows["b"] == bead("b", labels=["x", "ours", "theirs"], notes="new")


def test_git_still_knows_what_a_two_way_conflict_began_with():  # T-14
    before, ours, theirs = (bead("b", notes=word) for word in ("old", "old", "new"))
    sheet = sheet_of(conflict([ours, bead("c")], [theirs]))
    assert rows_of(mended(sheet, {"b": before}))["b"] == theirs
    without = rows_of(mended(sheet))["b"]
    assert without["notes"] == "old"
    assert without["merge-conflicts"] == [{"field": "notes", "theirs": "new"}]


def test_a_removal_counts_only_in_a_sound_conflict():  # T-14
    sides = conflict([bead("b")], [], [bead("b")])
    assert "b" not in mended(sheet_of(sides)).lines
    for torn in (
        sides.replace(b"\n>>>>>>> other", b""),
        sides.replace(b"=======\n", b""),
        sides.replace(b"=======\n", b"=======\n{torn\n"),
        sides.replace(b"<<<<<<< HEAD\n", b"<<<<<<< HEAD\n<<<<<<< HEAD\n"),
    ):
        result = mended(sheet_of(torn, bead("z")), {"b": bead("b")})
        assert sorted(result.lines) == ["b", "z"]


@pytest.mark.parametrize("marker", [b"<<<<<<< HEAD", b"=======", b">>>>>>> x", b"||||||| y"])
def test_a_stray_marker_goes_and_no_row_does(marker):
    result = mended(sheet_of(bead("a"), marker, bead("b"), bead("a")))
    assert rows_of(result) == {"a": bead("a"), "b": bead("b")}


def test_a_conflict_inside_a_conflict_loses_no_side():
    inner = conflict([bead("b", labels=["1"])], [bead("b", labels=["2"])])
    outer = b"<<<<<<< HEAD\n" + inner + b"\n=======\n" + lines_of(bead("c")) + b">>>>>>> other"
    rows = rows_of(mended(sheet_of(outer)))
    assert rows == {"b": bead("b", labels=["1", "2"]), "c": bead("c")}


SHREDS = st.one_of(
    st.builds(
        lambda name, notes: encode(bead(name, notes=notes)),
        st.sampled_from("abc"),
        st.text(max_size=3),
    ),
    st.sampled_from([b"<<<<<<< x", b"||||||| x", b"=======", b">>>>>>> x", b"<<<<<<<<< x"]),
    st.sampled_from([b"", b"{torn", b"\xff", b"[]", b"\xef\xbb\xbf", b'{\n"id":"d"}']),
    st.binary(max_size=6),
)


@given(st.lists(SHREDS), st.sampled_from([b"\n", b"\r\n", b""]))
def test_whatever_stands_in_a_file_mending_makes_it_whole(shreds, ending):
    sheet = read_sheet(PATH, ending.join(shreds))
    result = mended(sheet)
    content = b"".join(result.lines[bead_id] + b"\n" for bead_id in sorted(result.lines))
    assert sorted(result.lines) == index.build(PATH, content).ids
    again = read_sheet(PATH, content)
    assert not list(file_findings(again))
    assert not mended(again).fixes


@given(st.lists(SHREDS))
def test_no_bead_and_no_unreadable_byte_is_lost(shreds):
    sheet = read_sheet(PATH, b"\n".join(shreds))
    result = mended(sheet)
    sound = {line.bead_id for line in sheet.rows if line.hunk >= 0}
    torn = {
        line.bead_id for line in sheet.rows if line.hunk < 0 or not sheet.hunks[line.hunk].sound
    }
    assert torn <= set(result.lines)
    assert sheet.ids() - set(result.lines) <= sound
    assert result.unreadable == tuple(sheet.raw(line) for line in sheet.lines if not line.bead_id)


@given(st.lists(SHREDS))
def test_whatever_commands_refuse_the_doctor_finds(shreds):  # D-15
    content = b"\n".join(shreds)
    findings = list(file_findings(read_sheet(PATH, content)))
    try:
        index.build(PATH, content)
        refused = False
    except CorruptFile:
        refused = True
    assert refused == any(finding.severity == "error" for finding in findings)


# What we kept


def copy(*rows: Row, is_last: bool = False) -> BackupCopy:
    return BackupCopy("beads.prev", lines_of(*rows), is_last)


def test_rows_of_a_copy_that_are_in_no_file_are_lost():  # T-14a
    sheet = sheet_of(bead("a"))
    kept = unlike([copy(bead("a"), bead("b"), bead("c"))], sheet)
    assert list(lost_rows(kept, {"a", "c"})) == ["b"]
    [finding] = kept_findings(kept, sheet, {"a", "c"})
    assert (finding.kind, finding.severity, finding.where) == ("lost-row", "error", "b")
    assert "beads.prev" in finding.what


def test_the_newest_copy_of_a_lost_row_counts():  # T-14a
    newer, older = copy(bead("b", notes="new")), copy(bead("b", notes="old"))
    assert unlike([newer, older], sheet_of())["b"].row["notes"] == "new"


def test_a_row_older_than_our_copy_was_rewound():  # T-14a
    sheet = sheet_of(bead("a", notes="old", updated_at=NOON))
    kept = unlike([copy(bead("a", notes="new", updated_at=LATER))], sheet)
    [finding] = kept_findings(kept, sheet, {"a"})
    assert (finding.kind, finding.severity) == ("rewound-row", "warning")
    assert "notes" in finding.what
    assert "ddx bead show a" in finding.cure


def test_a_newer_row_is_told_only_where_we_wrote_last_and_were_replaced():  # T-14a
    sheet = sheet_of(bead("a", notes="new", updated_at=LATER))
    ours = bead("a", notes="old", updated_at=NOON)
    assert not list(kept_findings(unlike([copy(ours)], sheet), sheet, {"a"}))
    kept = unlike([copy(ours, is_last=True)], sheet)
    [finding] = kept_findings(kept, sheet, {"a"})
    assert (finding.kind, finding.severity) == ("changed-row", "info")


def test_a_broken_line_in_a_copy_is_passed_over():
    torn = BackupCopy("beads.prev", b"{torn\n" + lines_of(bead("b")), is_last=False)
    assert list(unlike([torn], sheet_of())) == ["b"]
