"""Beads that rest on an assumption, and who has looked at them (I-10)."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.testing import FakeClock
from ddx.tracker.bead import Bead
from helix.passes.scope import (
    BASIS,
    Expire,
    NoteBasis,
    basis_of,
    carried_over,
    judge_assumption,
)

LABEL = "kind:speculative"
DAY_S = 86_400


def assumption(clock: FakeClock, **fields: Any) -> dict[str, Any]:
    now = clock.stamp()
    row = {"id": "a-1", "title": "Pay in euro", "status": "open", "labels": [LABEL]}
    return {**row, "created_at": now, "updated_at": now, **fields}


def noted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, BASIS: basis_of(Bead.of(row))}


def changed_by_helix(row: dict[str, Any], **fields: Any) -> dict[str, Any]:
    after = {**row, **fields}
    return {**after, **carried_over(Bead.of(row), Bead.of(after))}


def judged(row: dict[str, Any], clock: FakeClock) -> Any:
    return judge_assumption(Bead.of(row), label=LABEL, ttl_days=14, now=clock.stamp())


def test_what_it_says_is_noted_when_it_is_first_seen() -> None:  # I-10
    clock = FakeClock()
    row = assumption(clock)
    assert judged(row, clock) == NoteBasis(basis_of(Bead.of(row)))
    assert judged(noted(row), clock) is None


@pytest.mark.parametrize("is_noted", [True, False])
def test_it_expires_once_its_days_are_over(is_noted: bool) -> None:  # I-10
    clock = FakeClock()
    row = noted(assumption(clock)) if is_noted else assumption(clock)
    clock.advance(14 * DAY_S - 1)
    assert not isinstance(judged(row, clock), Expire)
    clock.advance(1)
    assert isinstance(judged(row, clock), Expire)


def said_by(actor: str) -> dict[str, Any]:
    return {"kind": "note", "actor": actor, "summary": "", "body": "", "created_at": ""}


@pytest.mark.parametrize(
    "change",
    [
        {"description": "as the shop has it"},
        {"acceptance": "- `make test` passes"},
        {"notes": "yes"},
        {"spec-id": "FEAT-001"},
        {"events": [said_by("mara")]},
        {"labels": []},
        {"status": "in_progress"},
    ],
)
def test_whoever_changes_it_or_speaks_of_it_has_looked(change: dict[str, Any]) -> None:  # I-10
    clock = FakeClock()
    row = {**noted(assumption(clock)), **change}
    clock.advance(100 * DAY_S)
    assert judged(row, clock) is None


@pytest.mark.parametrize(
    "change",
    [
        {"attempts": 3, "retry-after": "2026-01-02T03:04:05Z", "updated_at": "later"},
        {"polished-upstream": {"prd": "x"}, "updated_at": "later"},
        {"events": [said_by("helix")], "updated_at": "later"},
    ],
)
def test_that_helix_worked_on_it_is_no_look(change: dict[str, Any]) -> None:  # I-10
    clock = FakeClock()
    row = {**noted(assumption(clock)), **change}
    clock.advance(100 * DAY_S)
    assert isinstance(judged(row, clock), Expire)


def test_what_a_polish_changes_is_no_look_and_what_a_person_changed_stays_one() -> None:  # I-10
    clock = FakeClock()
    row = noted(assumption(clock))
    polished = changed_by_helix(row, acceptance="- `make test` passes")
    clock.advance(100 * DAY_S)
    assert isinstance(judged(polished, clock), Expire)
    looked_at = {**row, "title": "Pay in dollars"}
    assert judged(changed_by_helix(looked_at, acceptance="x"), clock) is None


def test_somebody_who_came_before_the_first_run_has_looked() -> None:  # I-10
    clock = FakeClock()
    row = assumption(clock, updated_at="2026-01-02T04:00:00Z")
    clock.advance(100 * DAY_S)
    note = judged(row, clock)
    assert note == NoteBasis("")
    assert judged({**row, BASIS: note.basis}, clock) is None
