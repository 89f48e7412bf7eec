"""Objectives that nobody is at and that go on only by a person's hand, from their logs (O-3, O-5).

What has ended is known by the last line of its log; only for the others is the machine loaded.
"""

from __future__ import annotations

import os

from ddx.errors import DdxError
from ddx.text import cut
from helix.status.files import read_names, read_tail
from helix.status.model import LONGEST_TEXT, MOST_RECENT, Need

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.project import Project
    from helix.objective.orchestrator import Orchestrator

HOME, LOG = (".helix", "objectives"), "events.jsonl"
ASKED, ANSWER = "asked", "answer"
"""Where the logs lie and which notes tell of questions: helix.objective's own, which costs too much
to load where there is no objective at all."""

_LONGEST_NAME = 80
_ENDED = ("DONE", "ERROR")


def needs_of_objectives(project: Project, *, at_work: str, is_idle: bool) -> Iterator[Need]:
    """Questions and stalls of the last few; where nobody works, that the last was broken off."""
    for place, id in enumerate(_newest(project)):
        if id != at_work and not _has_ended(_log(project, id)):
            yield from _needs_of(project, id, is_next=is_idle and not place)


def _newest(project: Project) -> list[str]:
    made = []
    for id in read_names(os.path.join(project.root, *HOME)):
        try:
            made.append((os.stat(_log(project, id)).st_mtime_ns, id))
        except OSError:
            continue
    return [id for _, id in sorted(made, reverse=True)[:MOST_RECENT]]


def _has_ended(log: str) -> bool:
    for row in read_tail(log):
        if row.get("kind") in ("event", "objective"):
            return row.get("to") in _ENDED
    return False


def _needs_of(project: Project, id: str, *, is_next: bool) -> Iterator[Need]:
    from helix.objective.events import EventLog
    from helix.objective.orchestrator import Orchestrator

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
