"""Two states of the tracker, told as sentences that a reviewer can read (T-22)."""

from __future__ import annotations

from ddx.text import cut, listed, shown_on_one_line
from ddx.tracker.journal import changed_fields
from ddx.tracker.model import CLAIM_KEYS, Row, blockers_of, labels_of, status_of, text_of
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LONGEST = 60
_SILENT = {*CLAIM_KEYS, "closed_at", "schema_version"}


@value
class Difference:
    """One bead that is new, gone or changed."""

    bead_id: str
    kind: str
    fields: dict[str, Any]
    sentences: tuple[str, ...]


def compare(before: Mapping[str, Row], after: Mapping[str, Row]) -> tuple[Difference, ...]:
    """In the order of ids."""
    found = []
    for bead_id in sorted({*before, *after}):
        old, new = before.get(bead_id), after.get(bead_id)
        if old is None and new is not None:
            what = f"filed as {text_of(new, 'issue_type') or 'task'}: {_short(new.get('title'))}"
            found.append(Difference(bead_id, "added", {}, (f"{bead_id} was {what}",)))
        elif new is None and old is not None:
            gone = f"{bead_id} left the tracker ({status_of(old)}): {_short(old.get('title'))}"
            found.append(Difference(bead_id, "removed", {}, (gone,)))
        elif old is not None and new is not None and (names := changed_fields(old, new)):
            fields = {name: {"from": old.get(name), "to": new.get(name)} for name in names}
            told = tuple(f"{bead_id} {told}" for told in _told(old, new, names))
            found.append(Difference(bead_id, "changed", fields, told))
    return tuple(found)


def _told(old: Row, new: Row, names: list[str]) -> list[str]:
    sentences = []
    for name in names:
        match name:
            case _ if name in _SILENT:
                continue
            case "status":
                sentences.append(_status(old, new))
            case "labels":
                sentences += _set("label", labels_of(old), labels_of(new))
            case "dependencies":
                sentences += _waiting(blockers_of(old), blockers_of(new))
            case "events":
                sentences.append("has new events")
            case _ if name not in new:
                sentences.append(f"has no {name} any more")
            case _ if name not in old:
                sentences.append(f"got {name}: {_short(new[name])}")
            case _:
                sentences.append(f"{name}: {_short(old[name])} -> {_short(new[name])}")
    return sentences or ["changed in its claim only"]


def _status(old: Row, new: Row) -> str:
    by = f" by {text_of(new, 'owner')}" if status_of(new) == "in_progress" else ""
    reason = text_of(new, "close_reason") or text_of(new, "blocked-reason")
    return f"went from {status_of(old)} to {status_of(new)}{by}{f': {reason}' if reason else ''}"


def _set(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    gained = [item for item in new if item not in old]
    lost = [item for item in old if item not in new]
    return [
        *([f"got the {name} {listed(gained)}"] if gained else []),
        *([f"lost the {name} {listed(lost)}"] if lost else []),
    ] or [f"has its {name}s in another order"]


def _waiting(old: tuple[str, ...], new: tuple[str, ...]) -> list[str]:
    gained = [item for item in new if item not in old]
    lost = [item for item in old if item not in new]
    return [
        *([f"waits for {listed(gained)} now"] if gained else []),
        *([f"waits for {listed(lost)} no more"] if lost else []),
    ] or ["changed the details of a dependency"]


def _short(found: object) -> str:
    return cut(shown_on_one_line(found if isinstance(found, str) else repr(found)), _LONGEST)
