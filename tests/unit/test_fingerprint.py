"""Drift: what must still hold when selected work is claimed, landed and closed."""

from __future__ import annotations

from typing import Any

import pytest

from ddx.attempts.claims import find_drift
from ddx.tracker.bead import Bead

ROW: dict[str, Any] = {
    "id": "app-1",
    "title": "greet",
    "status": "open",
    "issue_type": "task",
    "spec-id": "TD-001",
    "parent": "app-e",
    "dependencies": [{"depends_on_id": "app-0", "type": "blocks"}],
}
CLAIMED = {**ROW, "status": "in_progress", "owner": "helix", "claim-id": "c1"}


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("spec-id", {"spec-id": "TD-002"}),
        ("spec-id", {"spec-id": ""}),
        ("parent", {"parent": ""}),
        ("superseded-by", {"superseded-by": "app-2"}),
        ("replaces", {"replaces": "app-3"}),
        ("dependencies", {"dependencies": []}),
        ("dependencies", {"dependencies": [{"depends_on_id": "app-9", "type": "waits-for"}]}),
        ("execution-eligible", {"execution-eligible": False}),
        ("execution-eligible", {"labels": ["kind:planning"]}),
        ("issue_type", {"issue_type": "bug"}),
    ],
)
def test_every_governing_field_is_drift_before_the_claim_and_after(  # D-6
    field: str, change: dict[str, Any]
) -> None:
    before = find_drift("app-1", Bead.of(ROW).fingerprint, {**ROW, **change})
    after = find_drift("app-1", Bead.of(ROW).fingerprint, {**CLAIMED, **change}, claim_id="c1")
    assert before is not None
    assert field in before.fields
    assert after is not None
    assert field in after.fields


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("status", {"status": "closed"}),
        ("status", {"status": "open"}),
        ("owner", {"owner": "mara"}),
        ("claim-id", {"claim-id": "c2"}),
        ("claim-id", {"claim-id": None}),
    ],
)
def test_a_claim_that_is_not_as_ours_wrote_it_is_drift(  # D-6, T-21
    field: str, change: dict[str, Any]
) -> None:
    drift = find_drift("app-1", Bead.of(ROW).fingerprint, {**CLAIMED, **change}, claim_id="c1")
    assert drift is not None
    assert field in drift.fields


@pytest.mark.parametrize(
    "change",
    [
        {"description": "other words"},
        {"title": "other"},
        {"priority": 0},
        {"labels": ["area:cli"]},
        {"superseded-by": None},
        {"replaces": ""},
        {"dependencies": [*ROW["dependencies"], {"depends_on_id": "app-7", "type": "related"}]},
    ],
)
def test_words_and_absent_values_are_not_material(change: dict[str, Any]) -> None:  # D-6
    assert find_drift("app-1", Bead.of(ROW).fingerprint, {**ROW, **change}) is None
    assert (
        find_drift("app-1", Bead.of(ROW).fingerprint, {**CLAIMED, **change}, claim_id="c1") is None
    )


def test_a_bead_that_is_gone_has_drifted() -> None:
    drift = find_drift("app-1", Bead.of(ROW).fingerprint, None, claim_id="c1")
    assert drift is not None
    assert drift.reason == "app-1 changed meanwhile: it is gone"


def test_a_bead_that_is_not_open_cannot_be_claimed() -> None:
    drift = find_drift("app-1", Bead.of(ROW).fingerprint, CLAIMED)
    assert drift is not None
    assert drift.fields == ("status",)
