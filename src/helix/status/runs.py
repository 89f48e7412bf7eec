"""The run, its decisions and the records, from their files (S-4, S-24)."""

from __future__ import annotations

import os

from ddx.errors import DdxError
from ddx.instants import seconds_between
from ddx.process import is_alive
from ddx.text import cut
from helix.run_lock import find_holder
from helix.status.files import read_names, read_row, read_tail
from helix.status.model import LONGEST_TEXT, MOST_RECENT, Attempt, Executed, Need, Objective, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ddx.project import Project

LOGS = ".helix-logs"
RUN_STATE = "run-state.json"
WISHES = ("stop", "pause")
"""What a second terminal may ask, each a file: helix.supervisor.controls writes them."""

_ORDERLY = (None, 0, 130, 143)
_ASKED = ("question", "least_power_explanation")


def read_run(project: Project, *, now: str) -> Run | None:
    """None if there never was one. A run without an end whose process is gone has died."""
    row = read_row(project.ddx(RUN_STATE))
    if not row:
        return None
    pid = row.get("pid")
    mark = row.get("pid_start")
    lives = isinstance(pid, int) and is_alive(pid, mark if isinstance(mark, str) else "")
    has_ended = bool(row.get("stop_reason")) or row.get("exit_code") is not None
    state = "ended" if has_ended else "running" if lives else "died"
    until = now if state == "running" else str(row.get("updated_at") or now)
    return Run(
        state,
        row,
        seconds_between(str(row.get("started_at") or ""), until),
        _asked(project) if state == "running" else (),
    )


def _asked(project: Project) -> tuple[str, ...]:
    return tuple(it for it in WISHES if os.path.exists(project.ddx("state", f"run-{it}")))


def read_objective(project: Project, *, now: str) -> Objective | None:
    """The one whose driver holds the run's mark; None: it is a run's, or nobody's (S-20)."""
    holder = find_holder(project)
    if holder is None or not holder.objective:
        return None
    return Objective(
        holder.objective,
        *_standing(project, holder.objective),
        holder.pid,
        seconds_between(holder.since, now),
        _asked(project),
    )


def _standing(project: Project, id: str) -> tuple[str, str, bool]:
    """Its words, its state, and whether it rests; a log that cannot be read is not ours to mend."""
    # seldom, so it is not even loaded else
    from helix.objective.events import NOTE, PAUSED, EventLog
    from helix.objective.orchestrator import Orchestrator

    try:
        entries = EventLog(project.root, id).last_run()
        if not entries:
            return "", "INIT", False
        text = entries[0].name
        state = str(Orchestrator.resume(text, project.root).state)
        is_paused = (entries[-1].kind, entries[-1].name) == (NOTE, PAUSED)
        return cut(text, LONGEST_TEXT), state, is_paused
    except (DdxError, OSError):
        return "", "unknown", False


def read_decisions(project: Project, run: Run | None, *, most: int = MOST_RECENT) -> list[Any]:
    """The last decisions of the newest run, newest first (S-4)."""
    path = journal_of(project, run)
    found: list[Any] = []
    for row in read_tail(path) if path else ():
        if row.get("kind") == "decision":
            found.append(row)
            if len(found) == most:
                break
    return found


def journal_of(project: Project, run: Run | None) -> str:
    """The journal that belongs to the run; empty if there is none."""
    named = os.path.basename(run.text("journal")) if run else ""
    return os.path.join(project.root, LOGS, named) if named else ""


def pause_of(objective: Objective | None) -> tuple[Need, ...]:
    """A pause that somebody may have forgotten."""
    if objective is None or "pause" not in objective.asked:
        return ()
    return (Need("the objective is paused, or will be at its next boundary", "helix resume"),)


def needs_of(run: Run | None) -> tuple[Need, ...]:
    if run is None:
        return ()
    if run.state == "died":
        at = f" at {run.text('current_bead')}" if run.text("current_bead") else ""
        said = f"the run (pid {run.row.get('pid')}) died in phase {run.text('phase')}{at}"
        cure = "helix run goes on, and recovers first; only that: helix recover"
        return (Need(f"{said}; what it made is kept", cure),)
    if run.state == "running" and "pause" in run.asked:
        return (Need("the run is paused, or will be at its next boundary", "helix resume"),)
    if run.state == "ended" and run.row.get("exit_code") not in _ORDERLY:
        reason = run.text("stop_reason") or "the last run failed"
        decision = run.table("last_decision")
        question, why = (str(decision.get(it) or "") for it in _ASKED)
        return (Need(why, question) if why and question == reason else Need(reason, question),)
    return ()


def read_attempts(project: Project, *, most: int = MOST_RECENT) -> Iterator[Attempt]:
    """The last ones, newest first; their ids begin with the time."""
    home = project.ddx("executions")
    for name in sorted((it for it in read_names(home) if it[:1].isdigit()), reverse=True)[:most]:
        intent = read_row(os.path.join(home, name, "intent.json"))
        result = read_row(os.path.join(home, name, "result.json"))
        pid, mark = intent.get("pid"), intent.get("pid_start")
        lives = isinstance(pid, int) and is_alive(pid, mark if isinstance(mark, str) else "")
        beads = intent.get("beads")
        outcome = str(result.get("outcome") or ("ended" if result else ""))
        yield Attempt(
            name,
            tuple(str(it) for it in beads) if isinstance(beads, list) else (),
            str(intent.get("action") or ""),
            str(intent.get("harness") or ""),
            outcome or ("running" if lives else "died"),
            cut(str(result.get("reason") or result.get("status") or ""), LONGEST_TEXT),
            str(intent.get("at") or ""),
        )


def read_executions(project: Project) -> Iterator[Executed]:
    """The last runs of `ddx exec`: their names are by chance, so by the time of the folder."""
    home = project.ddx("exec-runs")
    try:
        with os.scandir(home) as entries:
            made = sorted((entry.stat().st_mtime_ns, entry.name) for entry in entries)
    except OSError:
        return
    for _, name in reversed(made[-MOST_RECENT:]):
        row = read_row(os.path.join(home, name, "record.json"))
        if row:
            words = (str(row.get(it) or "") for it in ("definition_id", "status", "finished_at"))
            yield Executed(name, *words)
