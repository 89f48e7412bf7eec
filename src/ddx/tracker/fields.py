"""What may be written into a bead's fields, wherever the words come from (T-2, T-12)."""

from __future__ import annotations

from ddx.base import UsageError, dumps, listed, loads, require_clean
from ddx.tracker.changeset import WorkingCopy
from ddx.tracker.row import BLOCKING_EDGES, PRIORITIES, TYPES, Row, blockers_of, edge_type, link_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TEXTS = ("title", "description", "acceptance", "notes", "design", "spec-id", "script")
LISTS = ("labels", "refs", "verify", "paths")
# Written only by the commands that own their meaning.
OWNED = {
    "id": "an id never changes",
    "status": "use close, reopen, cancel, block or update --claim",
    "owner": "use update --claim --owner NAME or --unclaim",
    "assignee": "use update --claim --owner NAME or --unclaim",
    "claim-id": "use update --claim or --unclaim",
    "claimed-at": "use update --claim or --unclaim",
    "claimed-pid": "use update --claim or --unclaim",
    "claimed-pid-start": "use update --claim or --unclaim",
    "claimed-machine": "use update --claim or --unclaim",
    "parent": "use update --parent, where an empty one means none",
    "depends-on": "use dep add and dep remove",
    "replaces": "use supersede",
    "superseded-by": "use supersede",
    "dependencies": "use dep add and dep remove",
    "events": "use evidence add",
    "merge-conflicts": "use resolve",
    "created_at": "it is written once",
    "updated_at": "it is written by every change",
    "revision": "it is computed",
}


def checked(name: str, given: Any) -> Any:
    """The value as it is stored under `name`; None means that the field is to go."""
    if name in OWNED:
        raise UsageError(f"{name} cannot be set by hand: {OWNED[name]}")
    require_clean(name, what="a field's name")
    match name:
        case "issue_type":
            return _one_of(name, given, TYPES)
        case "priority":
            return _one_of(name, _whole(name, given), PRIORITIES)
        case "execution-eligible":
            return _truth(name, given)
        case "queue-rank":
            return None if given in (None, "") else _whole(name, given)
        case "budget":
            return None if given in (None, "") else _number(name, given)
        case _ if name in LISTS:
            return _texts(name, given)
        case "title":
            return _title(given)
    return _anything(name, given)


def put_fields(row: Row, fields: Mapping[str, Any]) -> Row:
    """The row with each field set; an empty text or list takes the field away."""
    changed = dict(row)
    for name, given in fields.items():
        stored = checked(name, given)
        if stored is None or stored == "" or stored == []:
            changed.pop(name, None)
        else:
            changed[name] = stored
    return changed


def with_parent(working: WorkingCopy, row: Row, parent: str) -> Row:
    """The row below another bead, or below none."""
    if not parent:
        return {name: found for name, found in row.items() if name != "parent"}
    working.require_possible_parent(row["id"], parent)
    return {**row, "parent": parent}


def with_dependency(working: WorkingCopy, row: Row, wanted: str, *, by: str = "") -> Row:
    """The row waiting for one more bead; twice is once."""
    working.require_possible_dependency(row["id"], wanted)
    if wanted in blockers_of(row):
        return row
    edge = {
        "issue_id": row["id"],
        "depends_on_id": wanted,
        "type": "blocks",
        "created_at": working.now,
        **({"created_by": by} if by else {}),
    }
    return {**row, "dependencies": [*_edges(row), edge]}


def without_dependency(row: Row, wanted: str, *, only_blocking: bool = False) -> Row:
    """The row without its edges to `wanted`, of every type or only those that block."""
    edges = [
        edge
        for edge in _edges(row)
        if not isinstance(edge, dict)
        or link_of(edge, "depends_on_id") != wanted
        or (only_blocking and edge_type(edge) not in BLOCKING_EDGES)
    ]
    if edges:
        return {**row, "dependencies": edges}
    return {name: found for name, found in row.items() if name != "dependencies"}


def _edges(row: Row) -> list[Any]:
    """Also what is no edge: it is someone else's, and kept (T-2)."""
    found = row.get("dependencies")
    return found if isinstance(found, list) else []


def _one_of(name: str, given: Any, allowed: tuple[Any, ...]) -> Any:
    if given not in allowed:
        choices = listed(map(str, allowed), joiner="or")
        raise UsageError(f"{name} cannot be {given!r}: it is one of {choices}")
    return given


def _number(name: str, given: Any) -> Any:
    try:
        number = loads(given) if isinstance(given, str) else given
    except ValueError:
        number = None
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise UsageError(f"{name} must be a number, not {given!r}")
    return _anything(name, number)


def _whole(name: str, given: Any) -> int:
    number = _number(name, given)
    if not isinstance(number, int):
        raise UsageError(f"{name} must be a whole number, not {given!r}")
    return number


def _truth(name: str, given: Any) -> bool | None:
    if isinstance(given, bool) or given is None:
        return given
    words = {"true": True, "false": False, "": None}
    if str(given).lower() not in words:
        raise UsageError(f"{name} must be true or false, not {given!r}")
    return words[str(given).lower()]


def _texts(name: str, given: Any) -> list[str] | None:
    if given is None:
        return None
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list | tuple):
        raise UsageError(f"{name} must hold texts, not {given!r}")
    texts = []
    for item in found:
        if not isinstance(item, str):
            raise UsageError(f"{name} must hold texts, not {item!r}")
        text = require_clean(item, what=name).strip()
        if text and text not in texts:
            texts.append(text)
    return texts


def _title(given: Any) -> str:
    title = str(_anything("title", given or "")).strip()
    if not title:
        raise UsageError("a bead needs a title", hint='for example: ddx bead create "Fix login"')
    return title


def _anything(name: str, given: Any) -> Any:
    """Texts inside any JSON value are held to the same rule; its keys are sorted (T-1)."""
    if name in TEXTS and given is not None and not isinstance(given, str):
        raise UsageError(f"{name} must be text, not {given!r}")
    match given:
        case str():
            return require_clean(given, what=name)
        case list() | tuple():
            return [_anything(name, item) for item in given]
        case dict():
            named = {require_clean(str(key), what=name): item for key, item in given.items()}
            return {key: _anything(name, named[key]) for key in sorted(named)}
    try:
        dumps(given)
    except (TypeError, ValueError):  # YAML knows dates and NaN
        raise UsageError(f"{name} cannot hold {given!r}: JSON has no such value") from None
    return given
