"""The words of the snapshot: what waits for a person, the run, the queue, what was done. Pure."""

from __future__ import annotations

from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_ROWS = 50
MOST_RECENT = 5
LONGEST_TEXT = 400
_INFINITE = 1e300


@value
class Need:
    """Something that waits for a person: what it is, and what to type or to decide."""

    what: str
    next: str = ""


@value
class Run:
    """The active run, or the last one; `state` is running, died or ended."""

    state: str
    row: Mapping[str, Any]
    """Its own file, in its own words (S-24)."""
    elapsed_s: float | None
    asked: tuple[str, ...] = ()
    """What a second terminal asked of it: stop, pause."""

    def text(self, name: str) -> str:
        found = self.row.get(name)
        return found if isinstance(found, str) else ""

    def count(self, name: str) -> int:
        found = self.row.get(name)
        return found if isinstance(found, int) else 0

    def number(self, name: str) -> float | None:
        """None where nobody knows it: unknown is not 0."""
        found = self.row.get(name)
        if not isinstance(found, int | float) or isinstance(found, bool):
            return None
        return float(found) if abs(found) < _INFINITE else None

    def rows(self, name: str) -> list[dict[str, Any]]:
        found = self.row.get(name)
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

    def table(self, name: str) -> dict[str, Any]:
        found = self.row.get(name)
        return found if isinstance(found, dict) else {}


@value
class Objective:
    """The one that is being worked on, and where it stands."""

    id: str
    text: str
    """Its words; empty while it has said nothing."""
    state: str
    is_paused: bool
    pid: int
    elapsed_s: float | None
    asked: tuple[str, ...] = ()


@value
class Claim:
    id: str
    title: str
    holder: str
    age_s: float | None
    is_orphaned: bool = False
    """A runner's on this machine, and its process is gone."""


@value
class Held:
    """A bead that waits, and why; `until` where that is known."""

    id: str
    title: str
    reason: str
    until: str = ""


@value
class Queue:
    total: int
    statuses: Mapping[str, int]
    ready: int
    ready_for_execution: int
    not_ready: Mapping[str, int]
    """By the kind of what is in the way."""


@value
class Attempt:
    """An attempt's record; `outcome` is running or died while it has none."""

    id: str
    beads: tuple[str, ...]
    action: str
    harness: str
    outcome: str
    reason: str
    began_at: str


@value
class Executed:
    """One run of a definition by `ddx exec`."""

    id: str
    definition: str
    status: str
    finished_at: str


@value
class Status:
    at: str
    needs: tuple[Need, ...]
    run: Run | None
    queue: Queue | None
    """None: there is no tracker, or it cannot be read."""
    claims: tuple[Claim, ...] = ()
    blocked: tuple[Held, ...] = ()
    parked: tuple[Held, ...] = ()
    decisions: tuple[Mapping[str, Any], ...] = ()
    """The newest first."""
    attempts: tuple[Attempt, ...] = ()
    executions: tuple[Executed, ...] = ()
    objective: Objective | None = None
