"""Changing a bead's fields and links (T-2, T-12)."""

from __future__ import annotations

from ddx.errors import UsageError
from ddx.fastjson import dumps
from ddx.text import require_clean
from ddx.tracker import fields
from ddx.tracker.drafting import place_below
from ddx.tracker.lifecycle import supersede_in
from ddx.tracker.model import Row, blockers_of, edges_of, labels_of, link_of, text_of
from ddx.tracker.working import Changes, Working
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.tracker.working import View


@value
class Patch:
    """What an update asks for; None and empty mean: leave it."""

    fields: Mapping[str, Any]
    unset: tuple[str, ...] = ()
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()
    append_notes: str = ""
    parent: str | None = None
    depends_on: tuple[str, ...] | None = None
    replaces: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Patch({})


def update(view: View, bead_id: str, patch: Patch, *, now: str, by: str) -> Changes:
    """The bead with the patch applied; a patch that changes nothing writes nothing."""
    working = Working(view, now=now)
    before = working.row(bead_id)
    row = fields.put_fields(before, patch.fields)
    row = _without_unset(row, patch.unset)
    row = _relabelled(row, patch)
    if patch.append_notes:
        said = require_clean(patch.append_notes, what="notes")
        notes = "\n".join(filter(None, (text_of(row, "notes"), said)))
        row = {**row, "notes": notes}
    if dumps(row) != dumps(before):  # to Python, 1 and true are equal
        working.put(row)
    if patch.parent and patch.parent != link_of(row, "parent"):
        place_below(working, working.row(bead_id), patch.parent)
    elif patch.parent == "" and "parent" in row:
        working.put(fields.with_parent(working, working.row(bead_id), ""))
    if patch.depends_on is not None:
        _depend_on(working, bead_id, patch.depends_on, by=by)
    for old in patch.replaces:
        supersede_in(working, old, by=(bead_id,), reason="", actor=by)
    return working.changes()


def add_dependency(view: View, bead_id: str, wanted: str, *, now: str, by: str) -> Changes:
    working = Working(view, now=now)
    row = working.row(bead_id)
    linked = fields.with_dependency(working, row, wanted, by=by)
    if linked is row:
        working.remarks.append(f"{bead_id} waits for {wanted} already")
    else:
        working.put(linked)
    return working.changes()


def remove_dependency(view: View, bead_id: str, wanted: str, *, now: str) -> Changes:
    """Every edge to `wanted` goes, also one that leads nowhere."""
    working = Working(view, now=now)
    row = working.row(bead_id)
    if not any(link_of(edge, "depends_on_id") == wanted for edge in edges_of(row)):
        working.remarks.append(f"{bead_id} has no dependency on {wanted}")
        return working.changes()
    working.put(fields.without_dependency(row, wanted))
    return working.changes()


def _without_unset(row: Row, names: tuple[str, ...]) -> Row:
    for name in names:
        if name in ("title", "priority", "issue_type", "schema_version"):
            raise UsageError(f"{name} cannot be taken away: every bead has one")
        fields.checked(name, None)
    return {name: found for name, found in row.items() if name not in names}


def _relabelled(row: Row, patch: Patch) -> Row:
    if not patch.add_labels and not patch.remove_labels:
        return row
    kept = [label for label in labels_of(row) if label not in patch.remove_labels]
    return fields.put_fields(row, {"labels": [*kept, *patch.add_labels]})


def _depend_on(working: Working, bead_id: str, wanted: tuple[str, ...], *, by: str) -> None:
    for old in blockers_of(working.row(bead_id)):
        if old not in wanted:
            row = working.row(bead_id)
            working.put(fields.without_dependency(row, old, only_blocking=True))
    for new in wanted:
        row = working.row(bead_id)
        linked = fields.with_dependency(working, row, new, by=by)
        if linked is not row:
            working.put(linked)
