"""The run, objectives and the records of attempts, from their files as far as they can be read.

S-4, S-24. Objectives that nobody is at go on only by a person's hand (O-3, O-5): what has ended is
known by the last line of its log; only for the others is the machine loaded.
"""

from __future__ import annotations

import os
from itertools import islice

from ddx.base import DdxError, Instant, JsonFile, cut, is_alive, loads
from helix.run import find_holder
from helix.status.model import (
    LONGEST_TEXT,
    MOST_RECENT,
    Need,
    ObjectiveStatus,
    RecentAttempt,
    RecentExecution,
    RunStatus,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ddx.project import Project
    from helix.objective import Orchestrator

LOGS = ".helix-logs"
RUN_STATE = "run-state.json"
WISHES = ("stop", "pause")
"""What a second terminal may ask, each a file: helix.run.journal writes them."""
HOME, LOG = (".helix", "objectives"), "events.jsonl"
ASKED, ANSWER = "asked", "answer"
"""Where the logs lie and which notes tell of questions: helix.objective's own, which costs too much
to load where there is no objective at all."""

_ORDERLY = (None, 0, 130, 143)
_OF_DECISION = ("question", "least_power_explanation")
_LONGEST_NAME = 80
_ENDED = ("DONE", "ERROR")
_LARGEST, _TAIL = 4 << 20, 1 << 16


# -- the run ---------------------------------------------------------------------------------


def read_run(project: Project, *, now: str) -> RunStatus | None:
    """None if there never was one. A run without an end whose process is gone has died."""
    row = _read_row(project.ddx(RUN_STATE))
    if not row:
        return None
    has_ended = bool(row.get("stop_reason")) or row.get("exit_code") is not None
    state = "ended" if has_ended else "running" if _lives(row) else "died"
    until = now if state == "running" else str(row.get("updated_at") or now)
    return RunStatus(
        state,
        row,
        Instant(str(row.get("started_at") or "")).seconds_until(until),
        asked=_asked(project) if state == "running" else (),
    )


def _lives(row: dict[str, Any]) -> bool:
    """Its process, as far as it has noted one."""
    pid, mark = row.get("pid"), row.get("pid_start")
    return isinstance(pid, int) and is_alive(pid, mark if isinstance(mark, str) else "")


def _asked(project: Project) -> tuple[str, ...]:
    return tuple(it for it in WISHES if os.path.exists(project.ddx("state", f"run-{it}")))


def needs_of(run: RunStatus | None) -> tuple[Need, ...]:
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
        question, why = (str(decision.get(it) or "") for it in _OF_DECISION)
        return (Need(why, question) if why and question == reason else Need(reason, question),)
    return ()


def read_decisions(
    project: Project, run: RunStatus | None, *, most: int = MOST_RECENT
) -> list[dict[str, Any]]:
    """The last decisions of the newest run, newest first (S-4)."""
    journal = os.path.basename(run.text("journal")) if run else ""
    rows = _read_tail(os.path.join(project.root, LOGS, journal)) if journal else ()
    return list(islice((row for row in rows if row.get("kind") == "decision"), most))


# -- objectives ------------------------------------------------------------------------------


def read_objective(project: Project, *, now: str) -> ObjectiveStatus | None:
    """The one whose driver holds the run's mark; None: it is a run's, or nobody's (S-20)."""
    holder = find_holder(project)
    if holder is None or not holder.objective:
        return None
    text, state, is_paused = _standing(project, holder.objective)
    return ObjectiveStatus(
        id=holder.objective,
        text=text,
        state=state,
        is_paused=is_paused,
        pid=holder.pid,
        elapsed_s=Instant(holder.since).seconds_until(now),
        asked=_asked(project),
    )


def _standing(project: Project, id: str) -> tuple[str, str, bool]:
    """Its words, its state, and whether it rests; a log that cannot be read is not ours to mend."""
    # seldom, so it is not even loaded else
    from helix.objective import NOTE, PAUSED, EventLog, Orchestrator

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


def pause_of(objective: ObjectiveStatus | None) -> tuple[Need, ...]:
    """A pause that somebody may have forgotten."""
    if objective is None or "pause" not in objective.asked:
        return ()
    return (Need("the objective is paused, or will be at its next boundary", "helix resume"),)


def needs_of_objectives(project: Project, *, at_work: str, is_idle: bool) -> Iterator[Need]:
    """Questions and stalls of the last few; where nobody works, that the last was broken off."""
    for place, id in enumerate(_newest(project)):
        if id != at_work and not _has_ended(_log(project, id)):
            yield from _needs_of(project, id, is_next=is_idle and not place)


def _newest(project: Project) -> list[str]:
    made = []
    for id in _names(os.path.join(project.root, *HOME)):
        try:
            made.append((os.stat(_log(project, id)).st_mtime_ns, id))
        except OSError:
            continue
    return [id for _, id in sorted(made, reverse=True)[:MOST_RECENT]]


def _has_ended(log: str) -> bool:
    for row in _read_tail(log):
        if row.get("kind") in ("event", "objective"):
            return row.get("to") in _ENDED
    return False


def _needs_of(project: Project, id: str, *, is_next: bool) -> Iterator[Need]:
    from helix.objective import EventLog, Orchestrator

    try:
        begun = EventLog(project.root, id).last_run()
        if not begun:
            return
        found = Orchestrator.resume(begun[0].name, project.root)
    except DdxError as problem:
        yield Need(problem.message, problem.hint)
        return
    name = f"the objective “{cut(found.objective, _LONGEST_NAME)}”"
    resume = f"helix objective resume --objective {id}"
    if questions := _open_questions(found):
        asked = cut("; ".join(questions), LONGEST_TEXT)
        yield Need(f"{name} asks: {asked}", f"{resume} --answer '...'")
    elif found.state == "STALLED":
        held = ", ".join(found.standing.pending)
        because = ", ".join(found.blocked or found.partial) or "what is not in the plan"
        said = cut(f"{held} cannot go on because of {because}", LONGEST_TEXT)
        ways = "replan, skip or abort"
        yield Need(f"{name} is stalled, {ways}: {said}", f"{resume} --on-stall replan")
    elif is_next:
        yield Need(f"{name} was broken off in {found.state}", resume)


def _open_questions(found: Orchestrator) -> tuple[str, ...]:
    """None once a person has answered, though the planner has not been asked again yet."""
    standing = found.standing
    is_answered = len(found.fresh_notes(ANSWER)) >= len(found.fresh_notes(ASKED))
    return standing.questions if standing.state == "PLANNING" and not is_answered else ()


def _log(project: Project, id: str) -> str:
    return os.path.join(project.root, *HOME, id, LOG)


# -- records ---------------------------------------------------------------------------------


def read_recent_attempts(project: Project) -> Iterator[RecentAttempt]:
    """The last ones, newest first; their ids begin with the time."""
    home = project.ddx("executions")
    names = (it for it in _names(home) if it[:1].isdigit())
    for name in sorted(names, reverse=True)[:MOST_RECENT]:
        intent = _read_row(os.path.join(home, name, "intent.json"))
        result = _read_row(os.path.join(home, name, "result.json"))
        beads = intent.get("beads")
        outcome = str(result.get("outcome") or ("ended" if result else ""))
        yield RecentAttempt(
            id=name,
            beads=tuple(str(it) for it in beads) if isinstance(beads, list) else (),
            action=str(intent.get("action") or ""),
            harness=str(intent.get("harness") or ""),
            outcome=outcome or ("running" if _lives(intent) else "died"),
            reason=cut(str(result.get("reason") or result.get("status") or ""), LONGEST_TEXT),
            began_at=str(intent.get("at") or ""),
        )


def read_executions(project: Project) -> Iterator[RecentExecution]:
    """The last runs of `ddx exec`: their names are by chance, so by the time of the folder."""
    home = project.ddx("exec-runs")
    try:
        with os.scandir(home) as entries:
            made = sorted((entry.stat().st_mtime_ns, entry.name) for entry in entries)
    except OSError:
        return
    for _, name in reversed(made[-MOST_RECENT:]):
        row = _read_row(os.path.join(home, name, "record.json"))
        if row:
            yield RecentExecution(
                name,
                str(row.get("definition_id") or ""),
                str(row.get("status") or ""),
                finished_at=str(row.get("finished_at") or ""),
            )


# -- files that others write -----------------------------------------------------------------


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read_row(path: str) -> dict[str, Any]:
    """A JSON object; empty where there is none that can be read."""
    try:
        found = JsonFile(path).read(largest=_LARGEST)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_tail(path: str) -> Iterator[dict[str, Any]]:
    """The whole lines at the end of a file of JSON lines, the last one first."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _TAIL, 0))
            lines = file.read(_TAIL).split(b"\n")
    except OSError:
        return
    for line in reversed(lines[:-1] if size <= _TAIL else lines[1:-1]):
        try:
            row = loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row
