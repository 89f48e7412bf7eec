"""What was held back, for a person to accept or to drop (M-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import NotFound, Refused
from ddx.values import value
from helix.memory.model import Draft, rejection
from helix.memory.storing import admit

if TYPE_CHECKING:
    from helix.memory.store import MemoryStore
    from helix.memory.storing import Wits

_ALL = """
    SELECT id, type, trigger, resolution, source, reason, created_at FROM quarantine ORDER BY id
"""


@value
class Held:
    """Its secrets are masked already."""

    id: int
    type: str
    trigger: str
    resolution: str
    source: str
    reason: str
    created_at: str


def all_held(store: MemoryStore) -> list[Held]:
    with store.reading() as db:
        return [Held(*row) for row in db.execute(_ALL)]


def accept_held(store: MemoryStore, number: int, wits: Wits, *, now: str) -> str:
    """A person has looked: it becomes a memory like any other; its name."""
    held = _require(store, number)
    draft = Draft(held.type, held.trigger, held.resolution, held.source)
    if reason := rejection(draft):
        raise Refused(f"{number} cannot become a memory: {reason}")
    name = admit(store, draft, wits, now=now).memory.name
    drop_held(store, number)
    return name


def drop_held(store: MemoryStore, number: int) -> None:
    _require(store, number)
    with store.writing() as db:
        db.execute("DELETE FROM quarantine WHERE id = ?", (number,))


def _require(store: MemoryStore, number: int) -> Held:
    for held in all_held(store):
        if held.id == number:
            return held
    raise NotFound(f"nothing is held back under {number}", hint="see: helix memory review")
