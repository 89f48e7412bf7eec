"""A writer that is killed at any step leaves the old or the new tracker, whole (T-7, T-9)."""

# @requirement TC-102

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from benchmarks.generate import encode
from tests.support.crash import Accident, Experiment, cross_at_every_step, kill_at_every_step
from tests.support.tracker import REPLACED, Row, bead, edge, rows_in

EVENTS = [
    {"actor": "mara", "body": "", "created_at": f"2025-11-0{day}T10:00:00Z", "kind": "note"}
    for day in (1, 2)
]
BEADS = (
    bead("app-1", events=EVENTS),
    bead("app-2", dependencies=[edge("app-2", "app-1")]),
    bead("app-3", status="closed", closed_at="2025-11-03T10:00:00Z"),
    bead("app-4", status="closed", closed_at="2025-11-02T10:00:00Z"),
    bead("app-5", title="Bystander"),
)
ARCHIVED = (bead("app-0", status="closed"),)
INCOMING = (bead("old-1"), bead("old-2", priority=0))
EVERY_ID = {row["id"] for row in (*BEADS, *ARCHIVED)}

CHANGES = {
    "update": ["update", "app-1", "--title", "New words", "--add-label", "hot"],
    "create": ["create", "Another one", "--acceptance", "`true` passes", "--depends-on", "app-1"],
    "close": ["close", "app-1", "--reason", "done"],
    "archive": ["archive"],
    "supersede": ["supersede", "app-1", "--by", "app-5", "--reason", "better"],
    "import": ["import", "--from", "jsonl", ".ddx/incoming"],
}
AFTERWARDS = [
    ["list", "--all", "--json"],
    ["show", "app-1", "--json"],
    ["update", "app-5", "--add-label", "afterwards"],
]
pytestmark = pytest.mark.timeout(1200)
every_change = pytest.mark.parametrize("change", CHANGES)


def text(beads: tuple[Row, ...]) -> str:
    return b"".join(map(encode, beads)).decode()


@cache
def trial(change: str) -> tuple[Accident, list[Accident]]:
    """The change unharmed, and killed at each of its steps; once for all tests here."""
    files = {
        "beads.jsonl": text(BEADS),
        "beads-archive.jsonl": text(ARCHIVED),
        "incoming": text(INCOMING),
    }
    warm_up = ["update", "app-2", "--add-label", "warm"]
    return kill_at_every_step(Experiment(files, warm_up, CHANGES[change], AFTERWARDS))


def rows(files: dict[str, str], name: str = "beads.jsonl") -> dict[str, Row]:
    return rows_in(files[name].encode())


@every_change
def test_a_killed_writer_leaves_the_old_or_the_new_tracker(change: str) -> None:
    unharmed, killings = trial(change)
    old, new = unharmed.files["beads.jsonl"], unharmed.files_afterwards["beads.jsonl"]

    found = [killing.files["beads.jsonl"] for killing in killings]

    assert old != new
    for killing, content in zip(killings, found, strict=True):
        assert content in (old, new), killing
    published = found.index(new)
    assert found == [old] * published + [new] * (len(found) - published)


@every_change
def test_a_killed_writer_leaves_every_other_file_whole_too(change: str) -> None:
    unharmed, killings = trial(change)

    for killing in killings:
        for name, content in killing.files.items():
            allowed = (unharmed.files.get(name), unharmed.files_afterwards.get(name))
            assert content in allowed, (name, killing)


@every_change
def test_the_next_commands_work_at_once_and_say_nothing_of_it(change: str) -> None:
    """The lock is free (they wait 0 s), and nobody else is blamed for the file (T-8, T-14a)."""
    _, killings = trial(change)

    for killing in killings:
        for ended in killing.afterwards:
            assert (ended.code, ended.err) == (0, ""), killing


@every_change
def test_the_next_write_is_made_to_what_the_killed_one_left(change: str) -> None:
    _, killings = trial(change)

    for killing in killings:
        left, after = rows(killing.files), rows(killing.files_afterwards)
        touched = after.pop("app-5")
        assert touched["labels"] == ["afterwards"], killing
        del left["app-5"]
        assert after == left, killing


@every_change
def test_nothing_temporary_is_left_after_the_next_write(change: str) -> None:
    _, killings = trial(change)

    for killing in killings:
        assert killing.leftovers == [], killing


@every_change
def test_a_killed_writer_loses_no_bead(change: str) -> None:
    _, killings = trial(change)

    for killing in killings:
        listed = [row["id"] for row in json.loads(killing.afterwards[0].out)]
        assert len(listed) == len(set(listed)), killing
        assert set(listed) >= EVERY_ID, killing


def test_a_killed_archive_leaves_each_row_in_one_file_or_in_both() -> None:
    unharmed, killings = trial("archive")
    moved = {"app-3", "app-4"}
    before = rows(unharmed.files)

    places = set()
    for killing in killings:
        live, archived = rows(killing.files), rows(killing.files, "beads-archive.jsonl")
        assert {**archived, **live} == {**before, "app-0": ARCHIVED[0]}, killing
        places.add((moved <= live.keys(), moved <= archived.keys()))

    assert places == {(True, False), (True, True), (False, True)}


def test_a_killed_close_loses_no_event() -> None:  # T-6
    _, killings = trial("close")

    for killing in killings:
        shown = json.loads(killing.afterwards[1].out)
        assert [event for event in shown["events"] if event["kind"] == "note"] == EVENTS, killing


ACKNOWLEDGED = ["create", "Acknowledged", "--acceptance", "`true` passes"]
REWOUND = Experiment(
    files={"beads.jsonl": text(BEADS)},
    warm_up=ACKNOWLEDGED,
    change=CHANGES["update"],
    afterwards=[["update", "app-5", "--add-label", "afterwards"]],
    replaced_by=text((*BEADS, bead("git-1"))),
)
"""Git puts another tracker there, without the bead that we had acknowledged (T-14a)."""


def test_a_writer_killed_while_it_keeps_a_replaced_file_keeps_it_all_the_same() -> None:
    _, killings = kill_at_every_step(replace(REWOUND, replaced_first=True))

    for killing in killings:
        (ended,) = killing.afterwards
        assert ended.code == 0, killing
        assert ended.err.count(REPLACED) <= 1, killing
        assert any("Acknowledged" in content for content in killing.kept_afterwards), killing
        assert killing.leftovers == [], killing


def test_a_file_replaced_at_any_step_of_a_write_costs_no_acknowledged_change() -> None:
    """Another program does not wait for us, and both of our changes are somewhere afterwards."""
    crossings = cross_at_every_step(REWOUND)

    for crossing in crossings:
        assert crossing.ended and crossing.ended.code == 0, crossing
        (ended,) = crossing.afterwards
        assert ended.code == 0, crossing
        assert (crossing.ended.err + ended.err).count(REPLACED) <= 1, crossing
        everything = [*crossing.files_afterwards.values(), *crossing.kept_afterwards]
        assert any("Acknowledged" in content for content in everything), crossing
        assert any("New words" in content for content in everything), crossing
        assert rows(crossing.files_afterwards)["app-5"]["labels"] == ["afterwards"], crossing
        assert crossing.leftovers == [], crossing
    overwritten = [each for each in crossings if "git-1" not in rows(each.files_afterwards)]
    assert [each.call.partition("(")[0] for each in overwritten] == ["rename"], (
        "only between our last look and the rename can we not help it; git still has that file"
    )


def test_a_writer_whose_lock_was_cleaned_away_overwrites_nobody() -> None:
    """`git clean -x` deletes the lock; another writer makes its change in the middle of ours."""
    crossings = cross_at_every_step(
        Experiment(
            files={"beads.jsonl": text(BEADS)},
            warm_up=["update", "app-2", "--add-label", "warm"],
            change=CHANGES["update"],
            afterwards=[["list"]],
            meanwhile=["update", "app-5", "--title", "Meanwhile"],
        )
    )

    for crossing in crossings:
        assert crossing.ended and crossing.ended.code == 0, crossing
        assert rows(crossing.files)["app-1"]["title"] == "New words", crossing
        assert rows(crossing.files)["app-5"]["title"] == "Meanwhile", crossing
