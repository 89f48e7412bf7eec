"""Proven work that waits to be landed: one small file an attempt, and the beads it holds (X-13)."""

from __future__ import annotations

import os

from ddx.base import JsonFile, loads, value
from ddx.tracker.queue import Blocker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_END = ".json"
_LARGEST = 1 << 20


@value
class PendingLanding:
    """A commit that passed every check and could not land because of the operator's edits."""

    attempt: str
    beads: tuple[str, ...]
    ref: str
    commit: str
    reason: str
    at: str


def read_pending(
    folder: str, *, tell: Callable[[str], None] = lambda sentence: None
) -> list[PendingLanding]:
    """What waits, in the order of the attempts' names; a file that cannot be read is told of."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_END))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            found.append(_read(path))
        except FileNotFoundError:
            continue  # landed meanwhile
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else str(problem)
            tell(f"{path}: {why}; the landing that waits there holds no bead")
    return found


def held_by_pending(
    folder: str, *, tell: Callable[[str], None] = lambda sentence: None
) -> dict[str, Blocker]:
    """The beads that nobody may be handed until their work has landed or was dropped."""
    held: dict[str, Blocker] = {}
    for pending in read_pending(folder, tell=tell):
        reason = f"attempt {pending.attempt} is proven and waits to land: {pending.reason}"
        for bead_id in pending.beads:
            held.setdefault(bead_id, Blocker("pending-landing", reason=reason))
    return held


def write_pending(folder: str, pending: PendingLanding) -> None:
    row = {**pending.__dict__, "beads": list(pending.beads)}
    JsonFile(_path(folder, pending.attempt)).write(row)


def remove_pending(folder: str, attempt: str) -> bool:
    """False if nothing of this attempt waited."""
    try:
        os.unlink(_path(folder, attempt))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _path(folder: str, attempt: str) -> str:
    return os.path.join(folder, f"{attempt}{_END}")


def _read(path: str) -> PendingLanding:
    with open(path, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("too large for a pending landing")
    row = loads(content.decode("utf-8"))
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    beads = row.get("beads")
    if not isinstance(beads, list) or not all(isinstance(bead_id, str) for bead_id in beads):
        raise ValueError("its beads are not a list of ids")
    texts = {name: _text(row, name) for name in ("attempt", "ref", "commit", "reason", "at")}
    return PendingLanding(beads=tuple(beads), **texts)


def _text(row: dict[str, Any], name: str) -> str:
    found = row.get(name)
    if not isinstance(found, str):
        raise ValueError(f"{name} is not a text")
    return found
