"""The first phase: explorers side by side, and what they found made into one (O-6)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

from ddx.attempts import End
from ddx.base import DdxError
from ddx.git import Repository
from helix.objective.agents import EXPLORER, RESUME, Answered, ask_agent
from helix.objective.exploration import MEMORY, choose_scopes, synthesize
from helix.objective.threads import as_they_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from helix.objective.agents import AgentCalls, QuestionOutcome
    from helix.objective.exploration import ExplorerScope
    from helix.objective.operator import Operator
    from helix.objective.orchestrator import Orchestrator
    from helix.project import PassContext

FOUND = "explored"
"""The note of what one scope's explorer found: after a crash it is not asked again."""
MISSED = "not-explored"

_MOST_FILES = 50_000
_MOST_MEMORIES = 8


class Exploration:
    """What is to be looked at, and what was found; rounds of explorers, asked side by side."""

    def __init__(self, calls: AgentCalls, orchestrator: Orchestrator, operator: Operator) -> None:
        self._calls = calls
        self._orchestrator = orchestrator
        self._tell = operator.tell
        context, objective = calls.context, orchestrator.objective
        self._files = list_files(context.site.project.root)
        self._scopes = choose_scopes(self._files, objective, most=context.settings.explorers)
        notes = orchestrator.notes(FOUND)
        self._found = {str(note["scope"]): note["found"] for note in notes}
        if MEMORY not in self._found:
            self._found[MEMORY] = _remembered(context, objective, self._tell)
        self._missed: dict[str, str] = {}
        """Why nobody explored it, by scope."""

    @property
    def waiting(self) -> list[ExplorerScope]:
        """Nobody has answered for these yet."""
        known = {*self._found, *self._missed}
        return [scope for scope in self._scopes if scope.name not in known]

    def ask(self, context: PassContext) -> End | None:
        """One round; whom only the harness failed is asked again in the next."""
        ends = []
        for scope, answer in self._ask_all(context, self.waiting):
            if isinstance(answer, Answered):
                self._found[scope.name] = answer.found
                continue
            ends.append(self._calls.cut_off(answer.end))
            if not answer.end.is_harness_fault and ends[-1] is None:
                self._missed[scope.name] = answer.reason
                missed = {"scope": scope.name, "reason": answer.reason}
                self._orchestrator.note(MISSED, missed)
                self._tell(f"nobody explored {scope.name}: {answer.reason}")
        return next(filter(None, ends), None)

    def result(self) -> dict[str, Any] | End:
        """What all of them found, made into one; where nobody answered, it can be resumed."""
        missed = next(reversed(self._missed.values()), "")
        if missed and not self._found.keys() - {MEMORY}:
            return End(f"no explorer answered: {missed}; {RESUME}", 1)
        objective = self._orchestrator.objective
        explored = synthesize(objective, self._scopes, self._found, self._files)
        _keep(self._calls.context.site, objective, explored, self._tell)
        return explored

    def _ask_all(
        self, context: PassContext, scopes: Sequence[ExplorerScope]
    ) -> Iterator[tuple[ExplorerScope, QuestionOutcome]]:
        """Each scope with its answer, as they come in; what was found is on record at once."""
        objective = self._orchestrator.objective
        self._tell(f"exploring {', '.join(scope.name for scope in scopes)}")
        with ThreadPoolExecutor(len(scopes), thread_name_prefix="explorer") as pool:
            asked = {}
            for scope in scopes:
                given = {"scope": scope.name, "focus": scope.focus, "objective": objective}
                asked[pool.submit(ask_agent, context, EXPLORER, given)] = scope
            for future in as_they_end(asked):
                scope, answer = asked[future], future.result()
                if isinstance(answer, Answered):
                    found = {"scope": scope.name, "found": dict(answer.found)}
                    self._orchestrator.note(FOUND, found)
                yield scope, answer


def _keep(
    site: AttemptContext, objective: str, explored: Mapping[str, Any], tell: Callable[[str], None]
) -> None:
    """Beside the memories, where whoever asks the database finds it."""
    from helix.memory import keep_exploration, open_store

    try:
        with open_store(site.project) as store:
            keep_exploration(store, objective, explored, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"what was explored is in the log alone: {problem}")


def _remembered(
    context: PassContext, objective: str, tell: Callable[[str], None]
) -> Mapping[str, Any]:
    """What the memory knows of it: it answers by itself, no agent need guess names."""
    from helix.memory import Recall, RecallQuery, embedder_of, open_store

    site = context.site
    try:
        with open_store(site.project) as store:
            embedder = embedder_of(site.project, context.settings, clock=site.clock)
            question = RecallQuery(objective, limit=_MOST_MEMORIES)
            recalled = Recall(store, embedder).ask(question, now=site.clock.stamp())
    except (DdxError, OSError) as problem:  # trouble with memory never stops work
        tell(f"no memories for this objective: {problem}")
        return {}
    if recalled.note:
        tell(recalled.note)
    keys = ("name", "type", "trigger", "resolution")
    memories = [{key: str(getattr(hit.memory, key)) for key in keys} for hit in recalled.hits]
    return {"memories": memories}


def list_files(root: str) -> list[str]:
    """Every file that git sees; where there is no git, every one that a plain walk finds."""
    found = Repository(root).visible_files()
    return list(islice(_walked(root) if found is None else found, _MOST_FILES))


def _walked(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)
