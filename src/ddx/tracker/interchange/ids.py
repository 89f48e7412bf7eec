"""Ids from outside are new to our file: those that may not stand there get another (T-3)."""

from __future__ import annotations

from hashlib import blake2b

from ddx.base import UsageError
from ddx.tracker.merge import BEAD_LINKS
from ddx.tracker.row import Row, require_new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

IMPORTED_ID = "imported-id"
"""The key of ours for an id that its tracker allows and we do not."""


def with_new_ids(rows: list[Row], prefix: str) -> tuple[list[Row], dict[str, str]]:
    """The rows under ids we allow, links included, with the new id of each that changed.

    The new id follows from the old one, so that importing twice finds the same bead."""
    taken = {row["id"] for row in rows}
    names: dict[str, str] = {}
    for old in sorted(taken):
        if not _is_allowed(old):
            names[old] = _draw(prefix, old, taken)
            taken.add(names[old])
    if not names:
        return rows, {}
    marked = [{**row, IMPORTED_ID: row["id"]} if row["id"] in names else row for row in rows]
    return [_follow(row, names) for row in marked], names


def with_original_ids(rows: list[Row]) -> list[Row]:
    """For export: beads that were renamed on import are called by their own id again."""
    return under_names(rows, {row["id"]: row[IMPORTED_ID] for row in rows if _was_renamed(row)})


def under_names(rows: Iterable[Row], names: Mapping[str, str]) -> list[Row]:
    """The rows as they were before `with_new_ids` gave them the ids in `names`."""
    if not names:
        return list(rows)
    return [_follow(_unmarked(row) if row["id"] in names else row, names) for row in rows]


def _unmarked(row: Row) -> Row:
    return {key: row[key] for key in row if key != IMPORTED_ID}


def _was_renamed(row: Row) -> bool:
    old = row.get(IMPORTED_ID)
    if not isinstance(old, str) or not old.strip() or _is_allowed(old):
        return False
    prefix, _, _ = row["id"].rpartition("-")
    return bool(row["id"] == _name(prefix, old, 0))


def _is_allowed(bead: str) -> bool:
    try:
        require_new_id(bead)
    except UsageError:
        return False
    return True


def _draw(prefix: str, old: str, taken: set[str]) -> str:
    draw = 0
    while (new := _name(prefix, old, draw)) in taken:  # T-18
        draw += 1
    return new


def _name(prefix: str, old: str, draw: int) -> str:
    salted = f"{draw}:{old}" if draw else old
    digest = blake2b(salted.encode(errors="surrogatepass"), digest_size=4)
    return f"{prefix}-{digest.hexdigest()}"


def _follow(row: Row, names: Mapping[str, str]) -> Row:
    """The row with every mention of a renamed bead under its new name."""
    followed = dict(row)
    for key in ("id", *BEAD_LINKS):
        if key in row:
            followed[key] = _renamed(row[key], names)
    for key in ("dependencies", "comments"):
        if isinstance(row.get(key), list):
            followed[key] = [_renamed_ends(item, names) for item in row[key]]
    return followed


def _renamed_ends(item: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(item, dict):
        return item
    ends = {key: item[key] for key in ("issue_id", "depends_on_id") if key in item}
    return {**item, **{key: _renamed(found, names) for key, found in ends.items()}}


def _renamed(found: Any, names: Mapping[str, str]) -> Any:
    """One id, ids with commas between them, or a list of ids."""
    if isinstance(found, list):
        return [_renamed(item, names) for item in found]
    if not isinstance(found, str):
        return found
    if found in names:
        return names[found]
    return ",".join(names.get(part.strip(), part) for part in found.split(","))
