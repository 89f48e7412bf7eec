"""The first phase: explorers side by side, and what they found made into one (O-6)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError
from ddx.git import visible_files
from ddx.threads import as_they_end
from helix.meter import FAULTS
from helix.objective.asking import EXPLORER, Answered, Unanswered, ask_agent
from helix.objective.explore import MEMORY, choose_scopes
from helix.objective.session import RESUME, Halt
from helix.objective.synthesis import synthesize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from helix.desk import Desk
    from helix.objective.asking import Answer
    from helix.objective.explore import Scope
    from helix.objective.session import Session

FOUND = "explored"
"""The note of what one scope's explorer found: after a crash it is not asked again."""
MISSED = "not-explored"

_MOST_FILES = 50_000
_MOST_MEMORIES = 8


def explore(session: Session) -> dict[str, Any] | Halt:
    """What all of them found; where nobody answered, or it was cut off, it can be resumed."""
    desk, orchestrator = session.desk, session.orchestrator
    objective = orchestrator.objective
    files = list_files(desk.site.project.root)
    scopes = choose_scopes(files, objective, most=session.explorers)
    found = {str(note["scope"]): note["found"] for note in orchestrator.notes(FOUND)}
    if MEMORY not in found:
        found[MEMORY] = _remembered(desk, objective, session.tell)
    missed = ""
    waiting = [scope for scope in scopes if scope.name not in found]
    while waiting:
        asking = session.desk_for_asking()
        if isinstance(asking, Halt):
            return asking
        answers = list(_ask_all(session, asking, waiting))
        found |= {it.name: answer.found for it, answer in answers if isinstance(answer, Answered)}
        failed = [(it, answer) for it, answer in answers if isinstance(answer, Unanswered)]
        if halt := next(filter(None, (session.cut_off(answer.end) for _, answer in failed)), None):
            return halt
        waiting = [it for it, answer in failed if answer.end in FAULTS]
        for scope, answer in failed:
            if scope not in waiting:
                missed = answer.reason
                orchestrator.note(MISSED, {"scope": scope.name, "reason": missed})
                session.tell(f"nobody explored {scope.name}: {missed}")
    if missed and not found.keys() - {MEMORY}:
        return Halt(f"no explorer answered: {missed}; {RESUME}", 1)
    explored = synthesize(objective, scopes, found, files)
    _keep(desk, objective, explored, session.tell)
    return explored


def _keep(
    desk: Desk, objective: str, explored: Mapping[str, Any], tell: Callable[[str], None]
) -> None:
    """Beside the memories, where whoever asks the database finds it."""
    from helix.memory.exploring import keep_exploration
    from helix.memory.opening import open_store

    site = desk.site
    try:
        with open_store(site.project) as store:
            keep_exploration(store, objective, explored, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"what was explored is in the log alone: {problem}")


def _ask_all(
    session: Session, desk: Desk, scopes: Sequence[Scope]
) -> Iterator[tuple[Scope, Answer]]:
    """Each scope with its answer, as they come in; what was found is on record at once."""
    orchestrator = session.orchestrator
    session.tell(f"exploring {', '.join(scope.name for scope in scopes)}")
    with ThreadPoolExecutor(len(scopes), thread_name_prefix="explorer") as pool:
        asked = {
            pool.submit(
                ask_agent,
                desk,
                EXPLORER,
                {"scope": scope.name, "focus": scope.focus, "objective": orchestrator.objective},
            ): scope
            for scope in scopes
        }
        for future in as_they_end(asked):
            scope, answer = asked[future], future.result()
            if isinstance(answer, Answered):
                orchestrator.note(FOUND, {"scope": scope.name, "found": dict(answer.found)})
            yield scope, answer


def _remembered(desk: Desk, objective: str, tell: Callable[[str], None]) -> Mapping[str, Any]:
    """What the memory knows of it: it answers by itself, no agent need guess names."""
    from helix.memory.opening import embedder_of, open_store
    from helix.memory.recall import Question, Recall

    site = desk.site
    try:
        with open_store(site.project) as store:
            embedder = embedder_of(site.project, desk.settings, clock=site.clock)
            question = Question(objective, limit=_MOST_MEMORIES)
            recalled = Recall(store, embedder).ask(question, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"no memories for this objective: {problem}")
        return {}
    if recalled.note:
        tell(recalled.note)
    return {
        "memories": [
            {
                "name": hit.memory.name,
                "type": str(hit.memory.type),
                "trigger": hit.memory.trigger,
                "resolution": hit.memory.resolution,
            }
            for hit in recalled.hits
        ]
    }


def list_files(root: str) -> list[str]:
    """Every file that git sees; where there is no git, every one that a plain walk finds."""
    found = visible_files(root)
    return (list(_walked(root)) if found is None else found)[:_MOST_FILES]


def _walked(root: str) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)
            count += 1
        if count > _MOST_FILES:
            return
