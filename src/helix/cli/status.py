"""`helix status`"""

from __future__ import annotations

import os
import sys

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import Styled, answer, on_terminal, say, screen_width
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from ddx.project import find_project
from helix.cli.status_text import frame
from helix.status import read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from helix.status.model import Attempt, Run, Status

_PAUSE_S = 1.0
_FRESH = Styled("\x1b[H\x1b[J")
_TEXTS = (
    *("run_id", "started_at", "updated_at", "agent", "autonomy", "scope", "phase"),
    *("current_bead", "current_attempt", "focused_epic", "cycle_start", "cycle_end"),
    *("pending_review", "stop_reason", "parked_until", "log", "journal"),
)
_COUNTS = ("pid", "attempted_cycles", "completed_cycles", "harness_faults", "total_tokens")
_NUMBERS = ("total_cost_usd", "cycle_duration", "exit_code")
_DECISION = (
    *("action", "target", "least_power_explanation", "blocking_authority"),
    *("queue_drift_reason", "question", "until"),
)


def run(*, json: bool, watch: bool) -> int:
    if json and watch:
        raise UsageError("--json is one value; --watch goes on and on")
    project = find_project(os.getcwd())
    if watch:
        return _watch()
    status = read_status(project, clock=SYSTEM_CLOCK)
    if json:
        answer(as_row(status))
    else:
        _print(status)
    return 0


def as_row(status: Status) -> dict[str, Any]:
    """The snapshot as docs/reference/schemas/helix-status.json has it."""
    return {
        "at": status.at,
        "needs": [need.__dict__ for need in status.needs],
        "run": _run_row(status.run) if status.run else None,
        "objective": (
            {**status.objective.__dict__, "asked": list(status.objective.asked)}
            if status.objective
            else None
        ),
        "queue": status.queue.__dict__ if status.queue else None,
        "claims": [claim.__dict__ for claim in status.claims],
        "blocked": [{**held.__dict__, "until": held.until or None} for held in status.blocked],
        "parked": [{**held.__dict__, "until": held.until or None} for held in status.parked],
        "decisions": [
            {"at": str(row.get("at") or ""), **_decision_row(row)} for row in status.decisions
        ],
        "attempts": [_attempt_row(attempt) for attempt in status.attempts],
        "executions": [item.__dict__ for item in status.executions],
    }


def _run_row(run: Run) -> dict[str, Any]:
    """Its file in a fixed form, whichever version of us has written it; unknown is null."""
    numbers = {name: run.number(name) for name in _NUMBERS}
    decision = run.table("last_decision")
    return {
        "state": run.state,
        "elapsed_s": run.elapsed_s,
        "asked": list(run.asked),
        **{name: run.text(name) for name in _TEXTS},
        **{name: run.count(name) for name in _COUNTS},
        **{name: _whole(found) for name, found in numbers.items()},
        "skipped": {bead_id: str(why) for bead_id, why in run.table("skipped").items()},
        "last_decision": _decision_row(decision) if decision else None,
        "attempts": [
            {
                "attempt": str(row.get("attempt", "")),
                "beads": _texts(row.get("beads")),
                "since": str(row.get("since", "")),
            }
            for row in run.rows("attempts")
        ],
    }


def _decision_row(row: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: str(row.get(name) or "") for name in _DECISION}
    return {**said, "beads": _texts(row.get("beads"))}


def _texts(given: Any) -> list[str]:
    return [str(it) for it in given] if isinstance(given, list) else []


def _whole(number: float | None) -> float | int | None:
    return int(number) if number is not None and number == int(number) else number


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    return {**attempt.__dict__, "beads": list(attempt.beads)}


def _watch() -> int:
    """Drawn again whenever something has changed, at most once a second, until Ctrl-C."""
    shown: list[Styled] = []
    try:
        while True:
            status = read_status(find_project(os.getcwd()), clock=SYSTEM_CLOCK)
            lines = _lines(status)
            if lines != shown:
                _draw(lines)
            shown = lines
            SYSTEM_CLOCK.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        return 0


def _draw(lines: list[Styled]) -> None:
    """On a terminal in the place of the last one, as far as it fits; else one below the other."""
    if on_terminal():
        say(_FRESH, Styled("\n".join(lines[: max(_height() - 1, 1)])))
    else:
        say(Styled("\n".join([*lines, ""])))
    sys.stdout.flush()


def _print(status: Status) -> None:
    for line in _lines(status):
        say(line)


def _lines(status: Status) -> list[Styled]:
    return frame(status, width=screen_width() if on_terminal() else 0)


def _height() -> int:
    try:
        return os.get_terminal_size(1).lines
    except OSError:
        return 24


COMMAND = Command(
    "status",
    "Show what needs you, the run, the queue and what was done last.",
    run,
    "helix status",
    flags=(JSON, Flag("--watch", "show it again when it changes, until Ctrl-C", kind="switch")),
    schema="helix-status",
)
