"""Work that a build left for later (A-7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.beads import NOW, bead

from ddx.attempts.prompt import write_prompt
from ddx.testing import MemoryView
from ddx.tracker.edits import create
from ddx.tracker.row import blockers_of
from helix.passes.drafts import KnownBead
from helix.passes.follow_ups import (
    LARGEST_FOLLOW_UP,
    MOST_FOLLOW_UPS,
    FollowUp,
    FollowUpList,
    FollowUpOrigin,
    plan_follow_ups,
    read_follow_ups,
)

ORIGIN = FollowUpOrigin("hx-1", parent="hx-epic", spec_id="FEAT-1")
OPEN = FollowUpOrigin("hx-1", parent="hx-epic", above=("hx-top",), is_open=True)


def line(**fields: Any) -> str:
    return f"FOLLOW_UP: {json.dumps(fields)}"


def titles_in(text: str) -> list[str]:
    return [each.title for each in read_follow_ups(text).found]


def reasons_in(text: str) -> list[str]:
    return [each.reason for each in read_follow_ups(text).rejected]


# Reading


def test_a_follow_up_is_read_with_all_it_says() -> None:
    text = line(
        title="Rename the field",
        description="Both names are in use.",
        acceptance="`pytest -q` passes",
        area="api",
        blocks=True,
        depends_on=["hx-2", " ", "Another one"],
    )
    assert read_follow_ups(f"Done.\n{text}\nThat is all.") == FollowUpList(
        (
            FollowUp(
                title="Rename the field",
                description="Both names are in use.",
                acceptance="`pytest -q` passes",
                area="api",
                blocks=True,
                depends_on=("hx-2", "Another one"),
            ),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        'FOLLOW_UP: {"title": "x"}',
        'FOLLOW_UP:{"title": "x"}\r',
        '- FOLLOW_UP: {"title": "x"}',
        '* FOLLOW_UP: {"title": "x"}',
        '**FOLLOW_UP:** {"title": "x"}',
        '`FOLLOW_UP: {"title": "x"}`',
        'FOLLOW_UP: `{"title": "x"}`',
        'FOLLOW_UP: {"title": "x", "description": null, "blocks": "yes", "depends_on": null}',
    ],
)
def test_a_line_may_be_dressed(text: str) -> None:
    assert read_follow_ups(text).found == (FollowUp("x"),)


@pytest.mark.parametrize(
    "text",
    ["", "no follow-ups", 'I print FOLLOW_UP: {"title": "x"}', '> FOLLOW_UP: {"title": "x"}'],
)
def test_a_mark_within_a_line_is_none(text: str) -> None:
    assert read_follow_ups(text) == FollowUpList()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{title: x}", "it is no JSON"),
        ('{"title": "x"', "it is no JSON"),
        ("[" * 20_000, "larger"),
        ("[" * 8_000, "it is no JSON"),
        ('["x"]', "it is no JSON object"),
        ('"x"', "it is no JSON object"),
        ("{}", "it has no title"),
        ('{"title": "..."}', "it has no title"),
        ('{"title": 5}', "its title is no text"),
        ('{"title": "x", "description": ["y"]}', "its description is no text"),
        ('{"title": "x", "depends_on": {"a": 1}}', "its depends_on is no list of texts"),
        ('{"title": "x", "depends_on": [1]}', "its depends_on is no list of texts"),
        ("", "it is no JSON"),
    ],
)
def test_what_cannot_be_read_is_named_and_not_lost(given: str, reason: str) -> None:
    found = read_follow_ups(f"FOLLOW_UP: {given}\n{line(title='good')}")
    assert [each.title for each in found.found] == ["good"]
    (rejected,) = found.rejected
    assert reason in rejected.reason
    assert rejected.text[:20] == given[:20]
    assert len(rejected.text) <= 400


def test_what_stands_in_a_code_fence_is_quoted_and_said() -> None:
    text = f"```\n{line(title='quoted')}\n```\n{line(title='meant')}"
    assert titles_in(text) == ["meant"]
    assert reasons_in(text) == ["it stands in a code fence"]


def test_their_number_and_size_are_bounded() -> None:
    text = "\n".join(line(title=f"number {n}") for n in range(MOST_FOLLOW_UPS + 30))
    found = read_follow_ups(text)
    assert len(found.found) == MOST_FOLLOW_UPS
    assert 0 < len(found.rejected) <= MOST_FOLLOW_UPS
    assert reasons_in(line(title="x", description="y" * LARGEST_FOLLOW_UP)) == [
        "it is larger than 8 KB"
    ]


def test_hostile_text_is_made_visible() -> None:  # T-12
    found = read_follow_ups('FOLLOW_UP: {"title": "a\\u001b[2Jb\\u0000", "description": "\\ud800"}')
    (each,) = found.found
    assert each.title.isprintable()
    assert each.description == "\\ud800"
    assert read_follow_ups("FOLLOW_UP: \x1b[2J").rejected[0].text.isprintable()


def test_an_echo_of_our_own_prompt_files_nothing() -> None:
    prompt = write_prompt([])
    assert "FOLLOW_UP:" in prompt
    assert read_follow_ups(prompt).found == ()


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    found = read_follow_ups(f"FOLLOW_UP: {text}\n{text}")
    assert len(found.found) + len(found.rejected) >= 1


# Planning


def test_a_follow_up_is_filed_beside_its_origin() -> None:  # A-7, T-18
    planned = plan_follow_ups([FollowUp("Tidy up", "later", area="API v2")], [], origin=ORIGIN)
    (draft,) = planned.new
    assert (draft.parent, draft.spec_id, draft.discovered_from) == ("hx-epic", "FEAT-1", "hx-1")
    assert draft.labels == ("follow-up", "area:api-v2")
    assert draft.depends_on == ()
    assert planned.waits_for == ()


@pytest.mark.parametrize(
    ("area", "label"),
    [
        ("api", "area:api"),
        ("area:Web UI", "area:web-ui"),
        ("", ""),
        ("!?", ""),
        ("prüfung", "area:pr-fung"),
    ],
)
def test_an_area_is_a_plain_label(area: str, label: str) -> None:
    (draft,) = plan_follow_ups([FollowUp("x", area=area)], [], origin=ORIGIN).new
    assert draft.labels == tuple(filter(None, ("follow-up", label)))


@pytest.mark.parametrize(
    ("status", "is_new"),
    [
        ("open", False),
        ("in_progress", False),
        ("blocked", False),
        ("closed", True),
        ("cancelled", True),
    ],
)
def test_what_an_unfinished_bead_says_already_is_not_filed_again(
    status: str, is_new: bool
) -> None:
    known = KnownBead("hx-7", "tidy  UP!", status)
    planned = plan_follow_ups([FollowUp("Tidy up")], [known], origin=ORIGIN)
    assert bool(planned.new) is is_new
    assert bool(planned.referenced) is not is_new


def test_two_of_one_title_are_one() -> None:
    planned = plan_follow_ups([FollowUp("Tidy up"), FollowUp("tidy up.")], [], origin=ORIGIN)
    assert len(planned.new) == 1


def test_what_blocks_its_origin_comes_before_it() -> None:
    found = [FollowUp("First this", blocks=True), FollowUp("Known", blocks=True), FollowUp("Other")]
    existing = [KnownBead("hx-7", "known")]
    planned = plan_follow_ups(found, existing, origin=OPEN)
    assert planned.waits_for == (planned.new[0].key, "hx-7")


def test_what_is_done_waits_for_nothing() -> None:
    assert plan_follow_ups([FollowUp("x", blocks=True)], [], origin=ORIGIN).waits_for == ()


def test_a_bead_that_asks_for_itself_does_not_wait_for_itself() -> None:
    own = KnownBead("hx-1", "Do it")
    planned = plan_follow_ups([FollowUp("Do it", blocks=True)], [own], origin=OPEN)
    assert (planned.new, planned.waits_for) == ((), ())


def test_order_is_taken_where_it_can_be_kept() -> None:  # A-7, T-12
    found = [
        FollowUp("A", depends_on=("hx-7", "b", "nowhere", "hx-8", "hx-epic", "hx-top")),
        FollowUp("B", depends_on=("A", "Known", "B")),
    ]
    existing = [
        KnownBead("hx-7", "Known"),
        KnownBead("hx-8", "Gone", "cancelled"),
        KnownBead("hx-epic", "Epic"),
        KnownBead("hx-top", "Top"),
    ]
    planned = plan_follow_ups(found, existing, origin=OPEN)
    first, second = planned.new
    assert first.depends_on == ("hx-7", second.key)
    assert second.depends_on == ("hx-7",)
    dropped = [remark.partition("wait for ")[2] for remark in planned.remarks]
    assert [each.partition(":")[0] for each in dropped] == [
        *("'nowhere'", "'hx-8'", "'hx-epic'", "'hx-top'"),
        *("'A'", "'B'"),
    ]


def test_nothing_waits_for_what_waits_for_it() -> None:  # T-12
    found = [FollowUp("A", depends_on=("hx-1",)), FollowUp("B", blocks=True, depends_on=("A",))]
    planned = plan_follow_ups(found, [KnownBead("hx-1", "Origin")], origin=OPEN)
    assert [draft.depends_on for draft in planned.new] == [("hx-1",), ()]
    assert len(planned.remarks) == 1


names = st.sampled_from(["A", "B", "C", "D", "hx-1", "hx-7", "hx-epic", "nothing"])
wishes = st.lists(
    st.builds(
        FollowUp,
        st.sampled_from(["A", "B", "C", "D"]),
        blocks=st.booleans(),
        depends_on=st.lists(names, max_size=4).map(tuple),
    ),
    max_size=5,
)


@given(wishes)
def test_the_tracker_takes_every_plan(found: list[FollowUp]) -> None:  # A-7, T-12
    rows = (
        bead("hx-epic", issue_type="epic"),
        bead("hx-1", parent="hx-epic"),
        bead("hx-7", parent="hx-epic"),
    )
    existing = [KnownBead(row["id"], f"title of {row['id']}") for row in rows]
    planned = plan_follow_ups(found, existing, origin=OPEN)
    ids = iter(f"new-{n}" for n in range(9))
    drafts = [draft.as_row() for draft in planned.new]
    put = create(MemoryView(rows), drafts, now=NOW, by="helix", draw_id=lambda: next(ids)).put
    assert len([each for each in put if each.startswith("new-")]) == len(planned.new)
    by_key = {draft.key: f"new-{n}" for n, draft in enumerate(planned.new)}
    waits = {by_key[draft.key]: blockers_of(put[by_key[draft.key]]) for draft in planned.new}
    reached = {by_key[key] for key in planned.waits_for}
    for _ in range(9):
        reached |= {each for name in reached for each in waits.get(name, ())}
    assert "hx-1" not in reached
