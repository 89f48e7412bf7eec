"""What must still hold when work that was selected is claimed, landed and closed (D-6). Pure."""

from __future__ import annotations

from ddx.execution.model import Drift
from ddx.tracker.model import (
    RUNNER,
    Row,
    blockers_of,
    is_eligible,
    link_of,
    links_of,
    status_of,
    text_of,
    type_of,
)

Fingerprint = dict[str, str]
"""The governing fields of one bead; absent and empty are equal."""


def fingerprint(row: Row) -> Fingerprint:
    return {
        "spec-id": link_of(row, "spec-id"),
        "parent": link_of(row, "parent"),
        "superseded-by": _together(links_of(row, "superseded-by")),
        "replaces": _together(links_of(row, "replaces")),
        "dependencies": _together(blockers_of(row)),
        "execution-eligible": str(is_eligible(row)).lower(),
        "issue_type": type_of(row),
    }


def find_drift(
    bead_id: str, selected: Fingerprint, row: Row | None, *, claim_id: str = ""
) -> Drift | None:
    """How the bead differs from what was selected and, once claimed, from what our claim wrote."""
    if row is None:
        return Drift(bead_id, ("it is gone",))
    now = fingerprint(row)
    fields = [name for name in now if now[name] != selected.get(name, "")]
    if claim_id:
        expected = {"status": "in_progress", "owner": RUNNER, "claim-id": claim_id}
        found = {"status": status_of(row), **{key: text_of(row, key) for key in list(expected)[1:]}}
        fields += [name for name in expected if found[name] != expected[name]]
    elif status_of(row) != "open":
        fields.append("status")
    return Drift(bead_id, tuple(fields)) if fields else None


def _together(links: tuple[str, ...]) -> str:
    return ",".join(sorted(links))
