"""Which ready bead `helix build` takes for a word (50-actions, the table)."""

from __future__ import annotations

import pytest

from helix.run.model import BuildCandidate, meant

PARSER = BuildCandidate(
    "hx-1", "Teach the parser dates", "hx-9", spec_id="TD-001", labels=("area:parser",)
)
CLOCK = BuildCandidate(
    id="hx-2",
    title="Show a clock",
    parent="hx-9",
    spec_id="FEAT-002",
    labels=("area:screen",),
    priority=1,
)
DATES = BuildCandidate("hx-3", "Dates: print them", "", spec_id="TD-001", labels=("TD-001",))
READY = (PARSER, CLOCK, DATES)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("hx-1", ["hx-1"]),
        ("hx-9", ["hx-2", "hx-1"]),  # the children, in the queue's order
        ("td-001", ["hx-1", "hx-3"]),  # the document outweighs the label of the same name
        ("area:screen", ["hx-2"]),
        ("print dates", ["hx-3"]),
        ("PARSER", ["hx-1"]),
        ("clock dates", []),  # all the words, or it is not meant
        ("hx-4", []),
        ("  ", ["hx-2", "hx-1", "hx-3"]),
        ("!?", []),
    ],
)
def test_the_first_way_of_naming_that_names_any_decides(word: str, found: list[str]) -> None:
    assert [bead.id for bead in meant(word, READY)] == found


def test_nothing_that_is_not_ready_is_ever_meant() -> None:  # S-2
    assert meant("hx-1", ()) == ()
