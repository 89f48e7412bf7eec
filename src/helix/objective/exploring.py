"""The first phase: explorers side by side, and what they found made into one (O-6)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError, Refused
from ddx.git import visible_files
from helix.objective.asking import EXPLORER, Answered, ask_agent
from helix.objective.explore import MEMORY, choose_scopes
from helix.objective.synthesis import synthesize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from helix.desk import Desk
    from helix.objective.explore import Scope
    from helix.objective.orchestrator import Orchestrator

FOUND = "explored"
"""The note of what one scope's explorer found: after a crash it is not asked again."""
MISSED = "not-explored"

_MOST_FILES = 50_000
_MOST_MEMORIES = 8


def explore(
    desk: Desk, orchestrator: Orchestrator, *, most: int, tell: Callable[[str], None]
) -> dict[str, Any] | None:
    """The exploration; None if a person stopped it. Where nobody answered, it can be resumed."""
    objective = orchestrator.objective
    files = list_files(desk.site.project.root)
    scopes = choose_scopes(files, objective, most=most)
    found = {str(note["scope"]): note["found"] for note in orchestrator.notes(FOUND)}
    waiting = [scope for scope in scopes if scope.name not in found]
    if MEMORY in {scope.name for scope in waiting}:
        found[MEMORY] = _remembered(desk, objective, tell)
    waiting = [scope for scope in waiting if scope.name != MEMORY]
    missed = ""
    for scope, answer in _ask_all(desk, objective, waiting, tell):
        if isinstance(answer, Answered):
            found[scope.name] = answer.found
            orchestrator.note(FOUND, {"scope": scope.name, "found": dict(answer.found)})
        else:
            missed = answer.reason
            orchestrator.note(MISSED, {"scope": scope.name, "reason": missed})
            tell(f"nobody explored {scope.name}: {missed}")
    if desk.site.stop.asked:
        return None
    if missed and not found.keys() - {MEMORY}:
        raise Refused(f"no explorer answered: {missed}", hint="try again: helix objective resume")
    explored = synthesize(objective, scopes, found, files)
    _keep(desk, objective, explored, tell)
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
    desk: Desk, objective: str, scopes: Sequence[Scope], tell: Callable[[str], None]
) -> Iterator[tuple[Scope, Any]]:
    """Each scope with its answer, as they come in."""
    if not scopes:
        return
    tell(f"exploring {', '.join(scope.name for scope in scopes)}")
    with ThreadPoolExecutor(len(scopes), thread_name_prefix="explorer") as pool:
        asked = {
            pool.submit(
                ask_agent,
                desk,
                EXPLORER,
                {"scope": scope.name, "focus": scope.focus, "objective": objective},
            ): scope
            for scope in scopes
        }
        for future in as_completed(asked):
            yield asked[future], future.result()


def _remembered(desk: Desk, objective: str, tell: Callable[[str], None]) -> Mapping[str, Any]:
    """What the memory knows of it: it answers by itself, no agent need guess names."""
    from helix.memory.opening import embedder_of, open_store
    from helix.memory.recall import Question, Recall

    site = desk.site
    try:
        with open_store(site.project) as store:
            embedder = embedder_of(site.project, desk.settings, clock=site.clock)
            question = Question(objective, limit=_MOST_MEMORIES)
            hits = Recall(store, embedder).ask(question, now=site.clock.stamp()).hits
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"no memories for this objective: {problem}")
        return {}
    return {
        "memories": [
            {
                "name": hit.memory.name,
                "type": str(hit.memory.type),
                "trigger": hit.memory.trigger,
                "resolution": hit.memory.resolution,
            }
            for hit in hits
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
