"""Beads come in from other trackers and go back out, and nothing is lost (10-tracker.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddx.base import word_set
from ddx.base.errors import CorruptFile, UsageError
from ddx.base.text import require_clean
from ddx.tracker.interchange import FORMATS, ImportedRows, merge_incoming, parse, render
from ddx.tracker.interchange.bd import BD_FIELDS
from ddx.tracker.row import STATUSES, blockers_of, edges_of, link_of, require_new_id

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIXTURES = Path(__file__).parent.parent / "fixtures" / "interchange"
BOTH_WAYS = ("bd", "br", "helix-legacy")
SAMPLES = {
    "bd.jsonl": "bd",
    "br.jsonl": "br",
    "helix-legacy.jsonl": "helix-legacy",
    "github-rest.json": "github",
    "github-gh.json": "github",
}


def read(name: str) -> ImportedRows:
    return parse((FIXTURES / name).read_text(), format=SAMPLES[name], prefix="app")


def by_id(incoming: ImportedRows) -> dict[str, dict]:
    return {row["id"]: row for row in incoming.rows}


def told(incoming: ImportedRows, bead: str) -> set[tuple[str, str]]:
    return {(note.kind, note.field) for note in incoming.notes if note.id == bead}


def exactly(found: object) -> str:
    """Equal as JSON: for Python true and 1 are equal too."""
    return json.dumps(found, sort_keys=True)


# What may stand in a file of ours: any JSON, but no control characters (T-12).
marks = st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("\n\t")
texts = st.text(marks, max_size=12)
keys = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=6)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
ids = st.sampled_from(["app-1a", "app-2b", "app-3c", "app-gh7", "other-1.2"])
times = st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789+00:00", ""])
edge_types = st.sampled_from(["blocks", "depends_on", "parent-child", "related", "waits-for", ""])
edges = st.fixed_dictionaries(
    {"depends_on_id": ids, "type": edge_types},
    optional={"issue_id": ids, "created_at": times, "created_by": texts, "metadata": texts},
)
SHAPES = {
    "title": texts | st.text("ü", min_size=240, max_size=260),
    "status": st.sampled_from([*STATUSES, "deferred", "hooked"]),
    "issue_type": st.sampled_from(["task", "bug", "epic", "decision", "feat", "story"]),
    "owner": st.sampled_from(["ada", "helix", "Ada L", ""]),
    "labels": st.lists(st.sampled_from(["bug", " area:x", "phase:build", "enhancement"])) | texts,
    "parent": ids | st.just(""),
    "description": texts | st.just("text\n\n<!-- ddx {} -->"),
    "acceptance": texts,
    "spec-id": texts,
    "dependencies": st.lists(edges, max_size=3),
    "created_at": times,
    "updated_at": times,
    "closed_at": times,
    "created_by": texts,
    "events": st.lists(st.dictionaries(keys, texts, max_size=2), max_size=2),
    "comments": st.lists(st.dictionaries(keys, texts, max_size=2), max_size=2),
    "metadata": st.dictionaries(keys, anything, max_size=2) | anything,
    "schema_version": st.just(1),
    "claimed-pid": st.integers() | st.just("812"),
    "superseded-by": ids | st.just(""),
}
THEIR_SHAPES = {
    **SHAPES,
    "priority": st.integers(-2, 9) | st.sampled_from(["P1", "3", "high"]),
    "acceptance_criteria": texts,
    "spec_id": texts,
    "assignee": texts,
    "type": st.sampled_from(["task", "adr", "story"]),
    "deps": st.lists(ids, max_size=3),
    "created": times,
    "_type": st.just("issue"),
    "estimated_minutes": st.integers(0, 600),
    "dependency_count": st.integers(0, 9),
}
# Words that mean another thing in one of the formats.
FALSE_FRIENDS = word_set(
    "assignee assignees acceptance_criteria spec_id beads-owner beads-schema-version type deps "
    "created updated _type ddx imported imported-id dependency_count body state state_reason "
    "number user url html_url milestone pull_request external_ref set unset"
)


def mixtures(shapes: dict[str, st.SearchStrategy]) -> st.SearchStrategy:
    """Objects with any of these fields, a malformed one now and then, and some unknown ones."""
    return st.builds(
        lambda unknown, malformed, shaped: unknown | malformed | shaped,
        st.dictionaries(st.sampled_from(sorted(FALSE_FRIENDS)) | keys, anything, max_size=4),
        st.dictionaries(st.sampled_from(sorted(shapes)), anything, max_size=2),
        st.fixed_dictionaries({}, optional=shapes),
    )


@st.composite
def trackers(draw: st.DrawFn) -> list[dict]:
    rows = []
    for bead in draw(st.lists(ids, unique=True, max_size=3)):
        row = {**draw(mixtures(SHAPES)), "id": bead}
        if draw(st.booleans()):
            row["priority"] = draw(st.integers(0, 4))
        rows.append(row)
    return rows


# Round trips


@pytest.mark.parametrize("format", FORMATS)
@unhurried
@given(rows=trackers())
def test_export_then_import_loses_nothing(format, rows):
    found = parse(render(rows, format=format), format=format, prefix="app")
    assert exactly(found.rows) == exactly(rows)


@pytest.mark.parametrize("format", BOTH_WAYS)
@unhurried
@given(found=mixtures(THEIR_SHAPES), bead=ids)
def test_import_then_export_gives_back_every_field(format, found, bead):
    found = {**found, "id": bead}
    if found.get("_type") != "issue":
        found.pop("_type", None)
    rows = parse(json.dumps(found), format=format, prefix="app").rows
    assert exactly(json.loads(render(rows, format=format))) == exactly(not_derived(found, format))


def not_derived(found: dict, format: str) -> dict:
    if format == "helix-legacy":
        return found
    derived = {"dependency_count", "dependent_count", "comment_count"}
    edges = [edge for edge in edges_of(found) if edge.get("type") == "parent-child"]
    if edges and found.get("parent") == link_of(edges[0], "depends_on_id"):
        derived.add("parent")
    return {key: found[key] for key in found if key not in derived}


@pytest.mark.parametrize("name", SAMPLES)
def test_importing_twice_changes_nothing(name):
    first = merge_incoming(read(name), {})
    tracker = {row["id"]: row for row in first.new}
    again = merge_incoming(read(name), tracker)
    assert (again.new, again.clashes) == ((), ())
    assert set(again.same) == tracker.keys()


@unhurried
@given(found=mixtures(THEIR_SHAPES), bead=ids, format=st.sampled_from(FORMATS))
def test_no_field_is_dropped_without_a_word(found, bead, format):
    found = {**found, "id": bead, "number": 7}
    found.pop("pull_request", None)
    found.pop("_type", None)
    incoming = parse(json.dumps(found), format=format, prefix="app")
    (row,) = incoming.rows
    named = {note.field for note in incoming.notes}
    for key in found:
        as_it_was = key in row and exactly(row[key]) == exactly(found[key])
        assert as_it_was or key in named or not found[key], key


def test_what_the_other_tracker_changed_wins_over_what_we_had_kept():
    row = {"id": "app-1a", "title": "t", "status": "cancelled", "verify": ["make"], "priority": 1}
    line = json.loads(render([row], format="bd"))
    assert line["status"] == "closed"
    changed = {**line, "status": "open", "title": "other", "closed_at": None}
    (found,) = parse(json.dumps(changed), format="bd", prefix="app").rows
    assert (found["status"], found["title"], found["verify"]) == ("open", "other", ["make"])


def test_what_we_changed_wins_over_what_the_other_tracker_had_said():
    (row,) = parse(
        '{"id":"bd-1","title":"t","priority":9,"issue_type":"feat","x":1}', format="bd", prefix="a"
    ).rows
    line = json.loads(render([{**row, "priority": 0, "x": 2}], format="bd"))
    assert (line["priority"], line["issue_type"], line["x"]) == (0, "feat", 2)


# bd and br


def test_bd_fields_come_under_our_names():
    rows = by_id(read("bd.jsonl"))
    epic, task = rows["bd-a1b2"], rows["bd-a1b2.1"]
    assert epic["acceptance"] == "`make test` passes"
    assert epic["spec-id"] == "FEAT-009"
    assert epic["beads-owner"] == "ada@example.org"
    assert "owner" not in epic
    assert epic["labels"] == ["area:import", "kind:feature"]
    assert epic["created_at"] == "2026-03-01T09:00:00.123456789Z"  # T-1: verbatim
    assert task["owner"] == "grace"
    assert task["parent"] == "bd-a1b2"
    assert blockers_of(task) == ("bd-c3d4",)  # D-14
    assert task["comments"][0]["text"] == "Half done."


def test_words_that_are_not_ours_stay_and_are_told():  # T-2, T-4
    incoming = read("bd.jsonl")
    rows = by_id(incoming)
    assert (rows["bd-e5f6"]["status"], rows["bd-e5f6"]["issue_type"]) == ("hooked", "molecule")
    assert told(incoming, "bd-e5f6") >= {("kept", "status"), ("kept", "issue_type")}
    assert (rows["bd-c3d4"]["priority"], rows["bd-c3d4"]["issue_type"]) == (4, "feature")
    assert told(incoming, "bd-c3d4") >= {("changed", "priority"), ("changed", "issue_type")}
    assert by_id(read("br.jsonl"))["br-7x"]["status"] == "tombstone"


def test_what_bd_derives_and_what_is_no_work_is_skipped_with_a_note():
    incoming = read("bd.jsonl")
    assert told(incoming, "bd-a1b2.1") >= {("skipped", "comment_count"), ("skipped", "parent")}
    assert [note.detail for note in incoming.notes if note.id == "line 5"] == [
        "a memory, not a work item"
    ]


@pytest.mark.parametrize("name", ["bd.jsonl", "br.jsonl", "helix-legacy.jsonl"])
def test_a_file_of_theirs_is_written_back_as_it_was(name):
    written = render(read(name).rows, format=SAMPLES[name]).splitlines()
    lines = [json.loads(line) for line in (FIXTURES / name).read_text().splitlines()]
    wanted = [not_derived(line, SAMPLES[name]) for line in lines if line.get("_type") != "memory"]
    assert [json.loads(line) for line in written] == wanted


@unhurried
@given(rows=trackers())
def test_bd_can_read_every_line_we_write(rows):
    for text in render(rows, format="bd").splitlines():
        line = json.loads(text)
        assert line.keys() <= BD_FIELDS
        assert line["priority"] in range(5)
        assert line["status"] not in ("cancelled", "proposed")
        assert len(line.get("title", "").encode()) <= 500
        assert line["status"] == "closed" or "closed_at" not in line


def test_a_parent_goes_out_as_an_edge_and_comes_back_as_a_parent():
    row = {"id": "app-1a", "parent": "app-2b", "created_at": "2026-01-02T03:04:05Z"}
    line = json.loads(render([row], format="br"))
    assert line["dependencies"] == [
        {
            "issue_id": "app-1a",
            "depends_on_id": "app-2b",
            "type": "parent-child",
            "created_at": "2026-01-02T03:04:05Z",
        }
    ]
    assert "parent" not in line


def test_a_bead_that_got_another_parent_does_not_go_out_with_the_old_one():
    rows = by_id(read("bd.jsonl"))
    moved = {**rows["bd-a1b2.1"], "parent": "bd-e5f6"}
    line = json.loads(render([moved], format="bd"))
    found = [(edge["type"], edge["depends_on_id"]) for edge in line["dependencies"]]
    assert found == [("blocks", "bd-c3d4"), ("parent-child", "bd-e5f6")]


def test_what_bd_has_no_field_for_stands_beside_its_own_metadata():
    row = {"id": "app-1a", "metadata": {"files": ["a"]}, "verify": ["make"]}
    line = json.loads(render([row], format="bd"))
    assert line["metadata"]["files"] == ["a"]
    assert line["metadata"]["ddx"]["set"]["verify"] == ["make"]


def test_br_gets_our_own_keys_at_the_top():
    line = json.loads(render([{"id": "app-1a", "verify": ["make"]}], format="br"))
    assert line["verify"] == ["make"]


# .helix/issues.jsonl


def test_a_legacy_issue_comes_under_our_names():
    row = by_id(read("helix-legacy.jsonl"))["hx-0000bbbb"]
    assert (row["issue_type"], row["owner"], row["status"]) == ("chore", "erik", "deferred")
    assert (row["created_at"], row["updated_at"]) == (
        "2025-10-01T09:00:00Z",
        "2025-10-03T08:00:00Z",
    )
    assert blockers_of(row) == ("hx-0000aaaa", "hx-0000cccc")
    assert row["parent"] == "hx-0000aaaa"
    assert not {"type", "deps", "assignee", "created", "updated"} & row.keys()


# GitHub


def test_a_rest_issue_becomes_a_bead_under_a_stable_id():
    incoming = read("github-rest.json")
    row = by_id(incoming)["app-gh17"]
    assert row["external_ref"] == "https://github.com/ada/engine/issues/17"
    assert row["description"] == "Steps:\n- [ ] load nothing\n- [x] run"
    assert (row["status"], row["issue_type"]) == ("open", "bug")
    assert (row["owner"], row["assignees"]) == ("grace", ["grace", "lin"])
    assert (row["created_by"], row["milestone"]) == ("ada", "1.0")
    assert row["labels"] == ["bug", "area:deck"]
    assert row["custom_field"] == {"points": 5}
    assert told(incoming, "app-gh17") >= {
        ("mapped", "number"),
        ("changed", "description"),
        ("kept", "custom_field"),
        ("skipped", "node_id"),
        ("skipped", "id"),
    }


def test_an_issue_closed_as_not_planned_is_cancelled():  # T-4
    row = by_id(read("github-rest.json"))["app-gh18"]
    assert (row["status"], row["issue_type"]) == ("cancelled", "feature")
    assert json.loads(render([row], format="github"))[0]["state_reason"] == "not_planned"


def test_a_pull_request_is_no_bead():
    incoming = read("github-rest.json")
    assert "app-gh19" not in by_id(incoming)
    assert [note.detail for note in incoming.notes if note.id == "entry 3"] == [
        "pull request 19, not an issue"
    ]


def test_the_form_of_gh_is_read_like_rest():
    (row,) = read("github-gh.json").rows
    assert (row["id"], row["status"], row["issue_type"]) == ("app-gh17", "closed", "chore")
    assert (row["owner"], row["created_by"]) == ("grace", "ada")
    assert row["created_at"] == "2026-04-01T08:00:00Z"
    assert row["external_ref"] == "https://github.com/ada/engine/issues/17"
    assert row["comments"][0]["body"] == "Seen it too."


BEAD = {
    "id": "app-1a",
    "title": "t",
    "description": "words",
    "status": "in_progress",
    "priority": 1,
    "issue_type": "task",
    "owner": "helix",
    "verify": ["test '-->' = x"],
    "created_at": "2026-01-02T03:04:05Z",
}


def on_github(**changed: object) -> str:
    """Our export after somebody made an issue of it there."""
    (issue,) = json.loads(render([BEAD], format="github"))
    sent = {key: issue[key] for key in ("title", "body", "state", "labels") if key in issue}
    drawn = {"id": 5, "number": 31, "user": {"login": "ada"}, "created_at": "2026-05-05T00:00:00Z"}
    return json.dumps([{**sent, **drawn, "author_association": "MEMBER", **changed}])


def test_an_issue_made_from_our_export_is_the_same_bead():
    incoming = parse(on_github(), format="github", prefix="app")
    assert incoming.rows == ({**BEAD, "created_by": "ada"},)
    (note,) = [note for note in incoming.notes if note.field == "ddx"]
    assert "verify" in note.detail


def test_what_was_edited_on_github_wins():
    body = json.loads(on_github())[0]["body"].replace("words", "more words\r\n\r\n- [ ] one")
    edited = on_github(title="u", body=body, state="closed", labels=[{"name": "bug"}])
    (row,) = parse(edited, format="github", prefix="app").rows
    assert (row["title"], row["status"], row["labels"]) == ("u", "closed", ["bug"])
    assert row["description"] == "more words\n\n- [ ] one"
    assert (row["id"], row["verify"]) == (BEAD["id"], BEAD["verify"])


@pytest.mark.parametrize("association", ["NONE", "CONTRIBUTOR", None])
def test_a_comment_that_nobody_vouches_for_is_text_and_no_more(association):  # T-23
    issue = on_github(author_association=association)
    (row,) = parse(issue, format="github", prefix="app").rows
    assert row["id"] == "app-gh31"
    assert "verify" not in row
    assert "not from ddx" in row["description"]


def test_the_comment_cannot_be_ended_from_inside():
    (issue,) = json.loads(render([BEAD], format="github"))
    assert issue["body"].count("-->") == 1


def test_a_runner_is_nobody_on_github():  # T-24
    assert "assignees" not in json.loads(render([BEAD], format="github"))[0]


# Reading


@pytest.mark.parametrize("format", FORMATS)
def test_lines_an_array_and_one_object_are_read_alike(format):
    one, two = ({"id": bead, "title": bead} for bead in ("app-1a", "app-2b"))
    if format == "github":
        one, two = ({"number": number, "title": "t"} for number in (1, 2))
    lines = f"\ufeff{json.dumps(one)}\r\n\n{json.dumps(two)}\n"
    both = parse(lines, format=format, prefix="app").rows
    assert len(both) == 2
    for text in (json.dumps([one, two]), json.dumps({"data": [one, two]}, indent=2)):
        assert parse(text, format=format, prefix="app").rows == both
    assert parse(json.dumps(one, indent=2), format=format, prefix="app").rows == both[:1]
    assert parse(" \n", format=format, prefix="app").rows == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"id":"a1"}\n{"id":', "line 2"),
        ('{"id":\n{"id":"a1"}', "line 1"),
        ('{"id":"a1"}\n\n<<<<<<< HEAD\n', "line 3"),
        ('[\n{"id":"a1"},\n{"id"}\n]', "line 3"),
        ('{\n"id":"a1",\n"title" "t"}', "line 3"),
        ('{"id":"a1"}\n[]', "line 2"),
        ('[{"id":"a1"}, 5]', "entry 2"),
        ('{"id":"a1"}\n{"title":"no id"}', "line 2"),
        ('{"id":"a1"}\n{"id":7}', "line 2"),
        ('{"id":"a1","id":"a2"}', "line 1"),
        ('{"id":"a1","n":NaN}', "line 1"),
        ('{"id":"a1","a\\u001b":1}', "line 1"),
        ('{"id":"a1","title":"x"}\n{"id":"a1","title":"y"}', "line 2"),
        ("[" * 100_000, "line 1"),
    ],
)
@pytest.mark.parametrize("format", ["jsonl", "bd", "helix-legacy"])
def test_a_bad_line_stops_the_import_and_is_named(text, place, format):  # D-15, T-11
    with pytest.raises(CorruptFile, match=f"^{place}: "):
        parse(text, format=format, prefix="app")


def test_a_row_that_stands_twice_in_the_same_words_counts_once():
    incoming = parse('{"id":"a1"}\n{"id":"a1"}', format="jsonl", prefix="app")
    assert incoming.rows == ({"id": "a1"},)
    assert [note.detail for note in incoming.notes] == ["line 2 repeats line 1"]


def test_an_unknown_format_is_named_with_the_known_ones():
    with pytest.raises(UsageError) as caught:
        parse("", format="jira", prefix="app")
    assert "jira" in caught.value.message
    assert all(name in caught.value.hint for name in FORMATS)


@unhurried
@given(title=st.text(), note=st.text(), format=st.sampled_from(FORMATS))
def test_text_from_outside_is_fit_to_store(title, note, format):  # T-12
    found = {"id": "a1", "number": 1, "title": title, "comments": [{"text": note}]}
    incoming = parse(json.dumps(found), format=format, prefix="app")
    (row,) = incoming.rows
    require_clean(row.get("title", ""), what="title")
    require_clean(row["comments"][0]["text"], what="comment")
    changed = ("changed", "title") in told(incoming, row["id"])
    assert changed == (row.get("title", "") != title)


def test_control_characters_are_made_visible_and_not_cut():  # T-12
    (row,) = parse('{"id":"a1","notes":"\\u001b[2Jx\\r\\ny"}', format="jsonl", prefix="app").rows
    assert row["notes"] == "\\x1b[2Jx\ny"


def test_a_hidden_remainder_cannot_bring_control_characters_in():  # T-12
    line = '{"id":"a1","metadata":{"ddx":{"set":{"verify":["\\u0007"]}}}}'
    assert parse(line, format="bd", prefix="app").rows[0]["verify"] == ["\\x07"]


@pytest.mark.parametrize("rest", [{"set": {"id": "b2"}}, {"unset": ["id"]}, {"set": 5}, 7])
def test_a_hidden_remainder_cannot_say_which_bead_it_is(rest):
    line = json.dumps({"id": "a1", "metadata": {"ddx": rest}})
    assert [row["id"] for row in parse(line, format="bd", prefix="app").rows] == ["a1"]


# Ids


BAD_IDS = ["../../etc", "a b", "x.lock", "-rf", "é1", "a" * 65, "a,b"]


@pytest.mark.parametrize("bad", BAD_IDS)
@pytest.mark.parametrize("format", ["bd", "br", "helix-legacy", "jsonl"])
def test_an_id_we_do_not_allow_gets_another_and_all_links_follow(bad, format):  # T-3
    edge = {"issue_id": "app-2b", "depends_on_id": bad, "type": "blocks"}
    theirs = [
        {"id": bad, "title": "t", "comments": [{"issue_id": bad, "author": "a", "text": "x"}]},
        {"id": "app-2b", "title": "u", "parent": bad, "dependencies": [edge]},
    ]
    text = "\n".join(map(json.dumps, theirs))
    incoming = parse(text, format=format, prefix="app")
    renamed, other = incoming.rows
    assert require_new_id(renamed["id"]).startswith("app-")
    assert renamed["imported-id"] == bad
    assert renamed["comments"][0]["issue_id"] == renamed["id"]
    assert other["parent"] == renamed["id"]
    assert blockers_of(other) == (renamed["id"],)
    assert ("changed", "id") in told(incoming, renamed["id"])
    assert parse(text, format=format, prefix="app") == incoming
    if format != "jsonl":
        written = render(incoming.rows, format=format).splitlines()
        assert [json.loads(line) for line in written] == theirs


def test_ids_with_dots_stay():
    assert "bd-a1b2.1" in by_id(read("bd.jsonl"))


def test_an_id_that_stands_in_the_tracker_is_accepted_however_it_looks():  # T-3
    row = {"id": ".execute-bead-wt-x", "title": "t"}
    child = {"id": "app-2b", "title": "u", "parent": row["id"]}
    tracker = {row["id"]: row, child["id"]: child}
    text = render(tracker.values(), format="jsonl")
    plan = merge_incoming(parse(text, format="jsonl", prefix="app"), tracker)
    assert (plan.new, plan.clashes, plan.notes) == ((), (), ())
    assert plan.same == (row["id"], child["id"])


# The plan


def test_a_bead_that_is_already_here_is_never_overwritten():
    incoming = parse('{"id":"a1","title":"new"}\n{"id":"a2"}', format="jsonl", prefix="app")
    plan = merge_incoming(incoming, {"a1": {"id": "a1", "title": "old", "notes": "x"}})
    assert plan.clashes == ("a1",)
    assert [row["id"] for row in plan.new] == ["a2"]
    (note,) = plan.notes
    assert (note.id, note.kind) == ("a1", "skipped")
    assert "notes and title" in note.detail


def test_a_schema_version_that_the_store_added_is_no_difference():  # T-5
    incoming = parse('{"id":"a1"}', format="jsonl", prefix="app")
    assert merge_incoming(incoming, {"a1": {"id": "a1", "schema_version": 1}}).same == ("a1",)


def test_a_dependency_on_a_bead_nobody_has_is_told():  # D-14
    plan = merge_incoming(read("helix-legacy.jsonl"), {})
    missing = [note for note in plan.notes if "hx-0000cccc" in note.detail]
    assert [(note.id, note.field) for note in missing] == [("hx-0000bbbb", "dependencies")]
