"""Where a run stands, for everybody to read: `.ddx/run-state.json` (S-24).

Written whole at every boundary, so that it tells the truth after kill -9 as well.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ddx.fastjson import to_bytes
from ddx.files import replace
from ddx.values import changed, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.clock import Clock
    from ddx.project import Project

FILE = "run-state.json"
SCHEMA = 1


@value
class RunState:
    """The keys of the file, in its own words."""

    run_id: str
    pid: int
    pid_start: str = ""
    started_at: str = ""
    updated_at: str = ""
    agent: str = ""
    autonomy: str = ""
    scope: str = ""
    current_bead: str = ""
    current_attempt: str = ""
    phase: str = "starting"
    focused_epic: str = ""
    attempted_cycles: int = 0
    completed_cycles: int = 0
    harness_faults: int = 0
    skipped: Mapping[str, str] = {}
    """Beads that this run leaves alone, each with the reason."""
    total_tokens: int = 0
    total_cost_usd: float | None = None
    cycle_start: str = ""
    cycle_end: str = ""
    cycle_duration: float | None = None
    pending_review: str = ""
    owed_reviews: tuple[str, ...] = ()
    """Attempts whose review comes after that one."""
    last_decision: Mapping[str, Any] = {}
    blockers: tuple[Mapping[str, Any], ...] = ()
    stop_reason: str = ""
    exit_code: int | None = None
    attempts: tuple[Mapping[str, Any], ...] = ()
    """The live ones: attempt, beads and since when."""
    parked_until: str = ""
    log: str = ""
    journal: str = ""

    def as_row(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {"schema": SCHEMA, **self.__dict__, **lists}


_LISTS = ("owed_reviews", "blockers", "attempts")


class StateFile:
    """The one writer of the file; several threads of a run take turns."""

    def __init__(self, project: Project, clock: Clock, first: RunState) -> None:
        self._path = project.ddx(FILE)
        self._clock = clock
        self._mutex = threading.Lock()
        self._state = first

    @property
    def now(self) -> RunState:
        return self._state

    def put(self, **fields: Any) -> RunState:
        """The next state, on the disk before anything else happens."""
        with self._mutex:
            self._state = changed(self._state, **fields, updated_at=self._clock.stamp())
            replace(self._path, (to_bytes(self._state.as_row()), b"\n"))
            return self._state
