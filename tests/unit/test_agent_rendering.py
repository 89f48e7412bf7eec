"""How attempts are put into words, rows and tables (X-7, X-15, C-4, C-5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.attempts.records import AttemptRecord
from ddx.base.text import shown
from ddx.cli.agent.attempt_lookup import AttemptState, ListedAttempt
from ddx.cli.agent.output import (
    UNKNOWN,
    Column,
    attempt_columns,
    attempt_row,
    cost_in_words,
    duration,
    event_in_words,
    fitting,
    local_time,
    outcome_in_words,
    tokens_in_words,
    usage_in_words,
    usage_row,
)
from ddx.project.project import Project

ID = "20260102T030405-abcdef"
REF = f"refs/helix/attempts/app-1/{ID}"
PROJECT = Project("/shop")
NOW = "2026-01-02T03:34:05.000000Z"
USED = {"input": 10, "cache_read": 200, "cache_write": 0, "output": 5}


def attempt(
    result: dict[str, Any] | None = None,
    *,
    state: AttemptState = AttemptState.ENDED,
    beads: tuple[str, ...] = ("app-1",),
    ref: str = "",
) -> ListedAttempt:
    intent = {"at": "2026-01-02T03:04:05.000000Z", "beads": list(beads), "harness": "script"}
    record = AttemptRecord(ID, f"/shop/.ddx/executions/{ID}", intent, result=result or {})
    return ListedAttempt(record, state, "2026-01-02T03:05:35.500000Z", ref=ref)


@pytest.mark.parametrize(
    ("outcome", "status", "ref", "words"),
    [
        ("landed", "success", "", "landed"),
        ("preserved", "check_failed", REF, "kept: check failed"),
        ("preserved", "check_failed", "", "preserved: check failed"),
        ("no_changes", "already_satisfied", "", "already satisfied"),
        ("no_changes", "nothing_done", "", "nothing done"),
        ("failed", "harness_fault", "", "failed: harness fault"),
        ("answered", "completed", "", "answered"),
        ("failed", "rate_limited", "", "failed: rate limited"),
    ],
)
def test_an_outcome_is_said_once(outcome, status, ref, words):
    assert outcome_in_words(attempt({"outcome": outcome, "status": status}, ref=ref)) == words


def test_work_that_landed_without_closing_its_bead_says_so():
    landed = {"outcome": "landed", "status": "success", "left_open": "app-1 changed meanwhile"}
    assert outcome_in_words(attempt(landed)) == "landed, left open"


@pytest.mark.parametrize("state", [AttemptState.RUNNING, AttemptState.DIED])
def test_what_has_not_ended_has_no_outcome(state):
    assert outcome_in_words(attempt(state=state)) == str(state)
    row = attempt_row(attempt(state=state), PROJECT)
    assert (row["outcome"], row["status"], row["usage"]) == ("", "", None)
    assert (row["harness"], row["seconds"]) == ("script", 90.5)


def test_what_nobody_counted_is_unknown_and_not_0():
    for usage in ({}, dict.fromkeys(USED, 0), {**dict.fromkeys(USED, 0), "cost_usd": None}):
        assert usage_row(usage) is None
        assert (tokens_in_words(usage), cost_in_words(usage)) == (UNKNOWN, UNKNOWN)
        assert usage_in_words(usage) == "tokens unknown, cost unknown"


def test_a_cost_of_nothing_is_a_cost():
    free = {**USED, "cost_usd": 0.0, "cost_source": "reported"}
    assert cost_in_words(free) == "$0.0000"
    assert usage_row(free) == free
    assert usage_in_words(free) == (
        "215 tokens (10 input, 200 cache read, 5 output), $0.0000 reported"
    )
    assert usage_in_words(USED).endswith(", cost unknown")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        *((1, "1"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (999_499, "999k")),
        *((1_234_567, "1.23M"), (123_456_789, "123M"), (5 * 10**9, "5G")),
    ],
)
def test_tokens_in_a_table_have_three_figures(count, words):
    assert tokens_in_words({"input": count}) == words


@given(st.integers(1, 10**12))
def test_a_number_of_tokens_is_never_long(count):
    assert 1 <= len(tokens_in_words({"output": count})) <= 6


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, UNKNOWN), (0.04, "0.0 s"), (9.94, "9.9 s"), (90.0, "2 min")]
)
def test_a_duration_is_read_at_a_glance(seconds, words):
    assert duration(seconds) == words


# A table that fits


def full_table() -> list[Column]:
    result = {
        "outcome": "preserved",
        "status": "operator_edits",
        "usage": {**USED, "cost_usd": 12.34, "cost_source": "priced"},
    }
    return attempt_columns([attempt(result, beads=("app-1a2b3c4d",), ref=REF)], now=NOW)


def test_on_80_columns_the_table_keeps_what_matters():
    heads = [column.head for column in fitting(full_table(), 80)]
    assert heads == ["attempt", "bead", "outcome", "age", "cost"]
    assert width(fitting(full_table(), 80)) <= 80


def test_with_room_the_table_has_everything_in_its_order():
    assert fitting(full_table(), 1000) == full_table()
    assert full_table()[-1].cells == (REF,)


@given(st.integers(10, 300))
def test_whatever_the_width_the_first_columns_stay_and_the_rest_fits(room):
    chosen = fitting(full_table(), room)
    assert [column.head for column in chosen][:3] == ["attempt", "bead", "outcome"]
    assert len(chosen) == 3 or width(chosen) <= room


def width(columns: list[Column]) -> int:
    return sum(column.width + 2 for column in columns) - 2


def test_a_prompt_of_nobody_stands_under_a_dash():
    [column] = [it for it in attempt_columns([attempt(beads=())], now=NOW) if it.head == "bead"]
    assert column.cells == ("-",)


def test_no_cell_can_steer_the_terminal():  # C-5
    evil = "\x1b[2J\nowned"
    columns = attempt_columns(
        [attempt({"outcome": evil, "status": "success"}, beads=(evil,))], now=NOW
    )
    for column in columns:
        assert all(cell.isprintable() for cell in column.cells)


# The story


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"kind": "claimed", "text": "app-1", "data": {}}, "claimed: app-1"),
        ({"kind": "agent-said", "text": "done", "data": {}}, "says: done"),
        ({"kind": "left-open", "text": "", "data": {"bead": "app-1"}}, "left open (bead app-1)"),
        (
            {
                "kind": "agent-ended",
                "text": "completed",
                "data": {
                    "end": "completed",
                    "code": 0,
                    "seconds": 1.5,
                    "strays": 2,
                    "usage": {**USED, "cost_usd": None},
                },
            },
            f"agent ended: completed (1.5 s, strays 2, {usage_in_words(USED)})",
        ),
        (
            {"kind": "agent-usage", "text": "215 tokens", "data": {"usage": USED}},
            "has used: 215 tokens",
        ),
        ({"kind": "odd", "text": None, "data": [1]}, "odd: None"),
        ({}, ""),
    ],
)
def test_an_event_is_one_line_in_words(row, words):
    assert event_in_words(row) == words


@given(st.text(st.characters(exclude_categories=()), max_size=2000), st.text(max_size=80))
def test_whatever_an_agent_says_is_one_short_line_and_safe(text, name):  # C-5
    line = event_in_words({"kind": "agent-said", "text": text, "data": {name: text}})
    assert "\n" not in line and len(line) <= 500
    assert shown(line) == line


def test_a_time_is_local_and_what_is_none_stays(monkeypatch):  # C-4
    import time

    monkeypatch.setenv("TZ", "Etc/GMT-3")
    time.tzset()
    try:
        assert local_time("2026-01-02T03:04:05.000000Z") == "06:04:05"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local_time("soon") == "soon"
