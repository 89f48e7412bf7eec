"""How often a person is asked (S-34)."""

from __future__ import annotations

import pytest

from helix.project.settings import Autonomy
from helix.run.model import (
    EXIT_CODES,
    STARTS_SOMETHING,
    TERMINAL,
    Action,
    Ask,
    Decision,
    Gap,
    Proceed,
    Refuse,
    declined,
    needs_confirmation,
    permission,
    stops_at,
)

STARTING = ["build", "review", "polish", "design", "evolve", "align", "check"]
BUILD = Decision(Action.BUILD, "hx-1", ("hx-1", "hx-2"), least_power_explanation="it is first")


@pytest.mark.parametrize("action", [*Action])
def test_low_confirms_whatever_starts_something(action: Action) -> None:  # S-34
    decision = Decision(action, "x")
    assert needs_confirmation(decision, Autonomy.LOW) is (action in STARTING)
    assert not needs_confirmation(decision, Autonomy.MEDIUM)
    assert not needs_confirmation(decision, Autonomy.HIGH)


def test_every_action_either_starts_something_or_ends_or_waits() -> None:
    assert {*Action} == STARTS_SOMETHING | TERMINAL | {Action.WAIT}
    assert set(EXIT_CODES) == TERMINAL | {Action.WAIT}


@pytest.mark.parametrize(
    ("action", "code"), [("stop", 0), ("wait", 0), ("guidance", 4), ("backfill", 4)]
)
def test_a_run_ends_with_the_code_of_its_last_decision(action: str, code: int) -> None:  # C-2
    assert EXIT_CODES[Action(action)] == code


def test_looking_for_orphans_starts_no_agent() -> None:
    assert not needs_confirmation(Decision(Action.CHECK, recovers=True), Autonomy.LOW)


def test_a_person_is_asked_with_the_reason() -> None:  # S-34
    assert permission(BUILD, Autonomy.LOW, has_terminal=True) == Ask("build hx-1 hx-2? it is first")
    bare = Decision(Action.ALIGN, "repo")
    assert permission(bare, Autonomy.LOW, has_terminal=True) == Ask("align repo?")


def test_without_a_terminal_nothing_starts_and_the_run_ends_with_4() -> None:  # S-34, C-2
    found = permission(BUILD, Autonomy.LOW, has_terminal=False)
    assert isinstance(found, Refuse)
    assert found.exit_code == 4
    assert "hx-1" in found.reason


@pytest.mark.parametrize("autonomy", [Autonomy.MEDIUM, Autonomy.HIGH])
def test_other_levels_ask_nobody(autonomy: Autonomy) -> None:  # S-34
    assert permission(BUILD, autonomy, has_terminal=False) == Proceed()


def test_a_no_is_an_orderly_stop() -> None:
    assert declined(BUILD).action is Action.STOP


@pytest.mark.parametrize(
    ("gap", "stops"),
    [
        (Gap("a decision", "which?"), {"low", "medium", "high"}),
        (Gap("two meanings", "which?", is_ambiguity=True), {"low", "medium"}),
        (Gap("physics", "which?", is_physics=True), {"low", "medium", "high"}),
        (Gap("both", "which?", is_physics=True, is_ambiguity=True), {"low", "medium", "high"}),
    ],
)
def test_high_goes_on_where_something_is_only_unclear(gap: Gap, stops: set[str]) -> None:  # S-34
    assert {str(level) for level in Autonomy if stops_at(gap, level)} == stops
