"""Filing beads: one or many in one write, all or nothing (T-3, T-12, T-18)."""

from __future__ import annotations

from ddx.errors import Refused, UsageError
from ddx.tracker import fields
from ddx.tracker.lifecycle import supersede_in
from ddx.tracker.model import (
    DEFAULT_PRIORITY,
    FINISHED,
    SCHEMA_VERSION,
    Row,
    eligible_by_default,
    labels_of,
    link_of,
    require_new_id,
    status_of,
    type_of,
    typed,
)
from ddx.tracker.working import Changes, Working

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ddx.tracker.working import View

_LINKS = ("parent", "depends-on", "replaces")
_SYNONYMS = {"type": "issue_type", "depends_on": "depends-on", "deps": "depends-on"}
_DRAWS = 100


def create(
    view: View,
    drafts: Sequence[Mapping[str, Any]],
    *,
    now: str,
    by: str,
    draw_id: Callable[[], str],
) -> Changes:
    """New beads from drafts; links may name another draft by its `key` or its id."""
    working = Working(view, now=now)
    named: list[tuple[str, dict[str, Any]]] = []
    keys: dict[str, str] = {}
    for draft in drafts:
        given = {_SYNONYMS.get(name, name): found for name, found in draft.items()}
        bead_id = _new_id(given.pop("id", None), working, keys, draw_id)
        key = given.pop("key", None)
        if key is not None and keys.setdefault(str(key), bead_id) != bead_id:
            raise UsageError(f"two drafts have the key {key!r}")
        keys.setdefault(bead_id, bead_id)
        named.append((bead_id, given))
    for bead_id, given in named:
        working.put(_plain_row(bead_id, given, now=now, by=by))
    for bead_id, given in named:
        _link(working, bead_id, given, keys=keys, by=by)
    return working.changes()


def place_below(working: Working, row: Row, parent: str) -> Row:
    """The row below `parent`, which becomes an epic with its second child (T-18)."""
    working.require_known(parent)
    above = working.row(parent)
    if status_of(above) in FINISHED:
        raise Refused(
            f"{parent} is {status_of(above)}, so nothing can be added below it",
            hint=f"ddx bead reopen {typed(parent)} --reason '...'",
        )
    if status_of(above) == "in_progress" and type_of(above) != "epic":
        working.remarks.append(f"{parent} is claimed, so {row['id']} was filed beside it")
        parent = link_of(above, "parent")
    row = working.put(fields.with_parent(working, row, parent))
    if len(working.children(parent)) > 1:
        _promote(working, parent)
    return row


def _promote(working: Working, bead_id: str) -> None:
    """An epic from now on, unless someone holds it or it has ended (T-18)."""
    if working.status(bead_id) in ("", "in_progress", *FINISHED):
        return
    row = working.row(bead_id)
    if type_of(row) != "epic":
        working.put({**row, "issue_type": "epic", "execution-eligible": False})
        working.remarks.append(f"{bead_id} has several children now and became an epic")


def _new_id(
    wanted: Any, working: Working, taken: Mapping[str, str], draw_id: Callable[[], str]
) -> str:
    if wanted is not None:
        bead_id = require_new_id(str(wanted))
        if bead_id in taken or working.exists(bead_id):
            raise Refused(
                f"there is a bead {bead_id} already", hint=f"ddx bead show {typed(bead_id)}"
            )
        return bead_id
    for _ in range(_DRAWS):
        bead_id = require_new_id(draw_id())
        if bead_id not in taken and not working.exists(bead_id):
            return bead_id
    raise Refused(f"{_DRAWS} drawn ids were all taken already; the last one was {bead_id}")


def _plain_row(bead_id: str, given: Mapping[str, Any], *, now: str, by: str) -> Row:
    if "title" not in given:
        raise UsageError("a bead needs a title", hint='for example: ddx bead create "Fix login"')
    row = {
        "id": bead_id,
        "status": "open",
        "priority": DEFAULT_PRIORITY,
        "issue_type": "task",
        "created_at": now,
        "schema_version": SCHEMA_VERSION,
        **({"created_by": by} if by else {}),
    }
    plain = {name: found for name, found in given.items() if name not in _LINKS}
    row = fields.put_fields(row, plain)
    row.setdefault("execution-eligible", eligible_by_default(type_of(row), labels_of(row)))
    return row


def _link(
    working: Working,
    bead_id: str,
    given: Mapping[str, Any],
    *,
    keys: Mapping[str, str],
    by: str,
) -> None:
    parent = str(given.get("parent") or "")
    if parent:
        place_below(working, working.row(bead_id), keys.get(parent, parent))
    for wanted in _ids(given.get("depends-on")):
        row = working.row(bead_id)
        working.put(fields.with_dependency(working, row, keys.get(wanted, wanted), by=by))
    for old in _ids(given.get("replaces")):
        supersede_in(working, keys.get(old, old), by=(bead_id,), reason="", actor=by)


def _ids(given: Any) -> tuple[str, ...]:
    listed = given if isinstance(given, list | tuple) else str(given or "").split(",")
    return tuple(text for item in listed if (text := str(item).strip()))
