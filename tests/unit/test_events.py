"""What happened to a bead: capped in the row, kept beside it, in order and each once (T-6)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddx.base.errors import CorruptFile, UsageError
from ddx.tracker.changeset import (
    LARGEST_TEXT,
    Attachments,
    attachment_name,
    capped,
    event,
    joined,
    with_event,
)


def test_an_event_has_these_keys_in_this_order():  # T-6
    assert list(event("note", summary="s", at="2026-01-02T03:04:05Z", body="b").items()) == [
        ("actor", ""),
        ("body", "b"),
        ("created_at", "2026-01-02T03:04:05Z"),
        ("kind", "note"),
        ("source", "ddx"),
        ("summary", "s"),
    ]


@pytest.mark.parametrize("name", ["kind", "summary", "body", "actor", "source"])
def test_every_text_of_an_event_is_held_to_the_rule(name):  # T-12
    texts = {"kind": "note", "summary": "s", name: "a\x1b"}
    with pytest.raises(UsageError, match=f"{name} holds the character"):
        event(texts.pop("kind"), at="", **texts)


def test_an_event_joins_those_of_its_row_without_changing_it():
    row = {"id": "a", "events": [{"n": 1}, "no event"]}
    assert with_event(row, {"n": 2})["events"] == [{"n": 1}, {"n": 2}]
    assert row["events"] == [{"n": 1}, "no event"]


# Caps


@pytest.mark.parametrize("size", [0, 1, LARGEST_TEXT - 1, LARGEST_TEXT])
def test_what_fits_stays(size):  # T-6
    assert capped("x" * size) == "x" * size


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["x", "é", "队", "😀", "aé队😀"]), st.integers(1, 300_000))
def test_what_is_too_large_keeps_head_and_tail_and_names_the_cut(mark, more):  # T-6
    text = f"<head>{mark * ((LARGEST_TEXT + more) // len(mark.encode()))}<tail>"
    kept = capped(text)
    assert len(kept.encode()) <= LARGEST_TEXT
    assert len(kept.encode()) > LARGEST_TEXT - 100
    head, _, rest = kept.partition("\n[... ")
    number, _, tail = rest.partition(" bytes cut here ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert int(number) == len(text.encode()) - len(head.encode()) - len(tail.encode())
    assert 1.9 < len(head.encode()) / len(tail.encode()) < 2.1


def test_body_and_summary_are_capped_each():  # T-6
    happened = event("note", summary="s" * 100_000, body="b" * 100_000, at="")
    assert len(happened["summary"]) <= LARGEST_TEXT
    assert len(happened["body"]) <= LARGEST_TEXT


# Order


def test_events_from_two_places_are_told_once_and_in_order():  # T-6
    times = [
        "2026-01-02T05:04:05.5+02:00",
        "2026-01-02T03:04:05.51Z",
        "2026-01-02T03:04:05.6Z",
        "2026-01-02T03:04:06Z",
    ]
    one, two, three, four = ({"kind": "note", "created_at": at} for at in times)
    assert joined((two, one), (four, two, three)) == (one, two, three, four)


def test_events_of_one_instant_stay_in_their_order():
    written = tuple({"kind": kind, "created_at": "2026-01-02T03:04:05Z"} for kind in "cab")
    assert joined(written, ()) == written


# Attachments


def test_events_are_kept_beside_the_tracker_and_added_to(tmp_path):  # T-6
    kept = Attachments(str(tmp_path / "attachments"))
    assert kept.events("app-1") == ()
    kept.add("app-1", ({"kind": "b", "created_at": "2"}, {"kind": "a", "created_at": "1"}))
    kept.add("app-1", ({"created_at": "2", "kind": "b"}, {"kind": "c", "n": 1.5}))
    assert [happened["kind"] for happened in kept.events("app-1")] == ["b", "a", "c"]
    content = (tmp_path / "attachments/app-1/events.jsonl").read_bytes()
    assert content.splitlines()[0] == b'{"created_at":"2","kind":"b"}'


def test_no_events_make_no_folder(tmp_path):
    Attachments(str(tmp_path / "attachments")).add("app-1", ())
    assert not (tmp_path / "attachments").exists()


def test_a_bad_line_is_named(tmp_path):  # T-11
    kept = Attachments(str(tmp_path))
    kept.add("app-1", ({"kind": "a"},))
    with open(kept.path("app-1"), "ab") as file:
        file.write(b"{broken\n")
    with pytest.raises(CorruptFile, match=r"app-1/events\.jsonl:2: not JSON"):
        kept.events("app-1")


@pytest.mark.parametrize("bead_id", ["app-1a2b3c4d", "A.b_c-9"])
def test_a_plain_id_is_its_own_folder(bead_id):
    assert attachment_name(bead_id) == bead_id


ANY_ID = st.text(st.characters(exclude_categories=()), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(ANY_ID, ANY_ID)
def test_any_id_has_a_folder_of_its_own_inside_ours(one, other):  # T-3
    name = attachment_name(one)
    assert name.isascii()
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".")
    assert (name == attachment_name(other)) == (one == other)


def test_an_endless_id_has_a_short_folder():  # T-3
    assert len(attachment_name("x" * 5000)) < 200
    assert attachment_name("x" * 5000) != attachment_name("x" * 5001)


def test_a_close_that_a_crash_cut_off_stands_once_and_a_second_close_twice(tmp_path):  # T-6
    attachments = Attachments(str(tmp_path))

    def closed(at):
        return event("closed", summary="done", body="c0ffee", actor="helix", at=at)

    noted = event("note", summary="half-way", actor="mara", at="2026-01-01T00:00:00Z")
    first, again = closed("2026-01-02T00:00:00Z"), closed("2026-01-02T00:00:09Z")
    attachments.add("app-1", (noted, first))
    attachments.add("app-1", (noted, again))
    assert attachments.events("app-1") == (noted, again)

    reopened = event("reopened", summary="not yet", actor="mara", at="2026-01-03T00:00:00Z")
    later = closed("2026-01-04T00:00:00Z")
    attachments.add("app-1", (reopened, later))
    assert attachments.events("app-1") == (noted, again, reopened, later)
