"""How one task is built: what its builder is told, its delta, and its credit (O-6, O-7, O-12)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.attempts import Boundary, Drift, PromptSection, read_attempts
from ddx.base import Clock, DdxError, NotFound, changed, cut, dumps
from ddx.git import Repository
from ddx.project import Project
from helix.objective.agents import outside_delta
from helix.objective.orchestrator import root_here
from helix.objective.plan import DEFAULT_BUDGET, FRAMEWORK_KEY, IDIOMS_KEY, TASK_KEY
from helix.objective.task_outcome import LONGEST_SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.attempts import Preparation
    from ddx.tracker import Bead
    from helix.memory import Injection, RecalledMemory
    from helix.objective.orchestrator import Orchestrator
    from helix.run import BuildPolicy


MEMORY_LIMIT = 5
_LONGEST_OBJECTIVE = 2000
_INSTRUCTION = "Do this task and nothing else; its VERIFY command proves it."
_ENDING = """\
Stay inside of the paths that your task names: what lies outside of them will not land. After all
else, say on one line of its own how it ended, with one of these words, a colon and a few words
more: DELIVERED, what there is now; PARTIAL, what is missing; BLOCKED, why. If it is not DELIVERED,
add a line that begins with TRIED and a colon, and one that begins with ERROR and a colon."""


def build_context(
    task: Mapping[str, Any],
    lineage: Sequence[Mapping[str, Any]] = (),
    memory_limit: int = MEMORY_LIMIT,
    *,
    root: str = "",
) -> dict[str, Any]:
    """{prompt, injected} for a task {id, subject, description, metadata{delta, verify, ...}}."""
    metadata = task.get("metadata") or {}
    hits, remark = _recalled(task, metadata, memory_limit, root or root_here())
    lines = [*task_lines(task, metadata), *memory_lines(hits)]
    lines += [f"PARENT_DELIVERIES: {dumps([dict(it) for it in lineage])}", "", _INSTRUCTION]
    found = {"prompt": "\n".join(lines), "injected": [hit.memory.name for hit in hits]}
    return {**found, "remark": remark} if remark else found


def task_lines(task: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[str]:
    """The task itself, a line for each thing that its builder must know."""
    return [
        f"TASK: {task.get('subject', '')}",
        f"OBJECTIVE: {task.get('description', '')}",
        f"DELTA: {dumps(list(metadata.get('delta') or ()))}",
        f"VERIFY: {metadata.get('verify') or ''}",
        f"BUDGET: {metadata.get('budget') or DEFAULT_BUDGET}",
        f"FRAMEWORK: {metadata.get('framework') or 'none'}",
        f"IDIOMS: {dumps(metadata.get('idioms') or {})}",
    ]


def memory_lines(hits: Sequence[RecalledMemory]) -> list[str]:
    """What to avoid, what to do again, and by which names: in the order of their scores."""

    def told(kind: str) -> str:
        return dumps(
            [
                f"{hit.memory.trigger} -> {hit.memory.resolution}"
                for hit in hits
                if hit.memory.type == kind
            ]
        )

    return [
        f"FAILURES_TO_AVOID: {told('failure')}",
        f"PATTERNS_TO_APPLY: {told('pattern')}",
        f"INJECTED_MEMORIES: {dumps([hit.memory.name for hit in hits])}",
    ]


def build_lineage(tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """{seq, slug, delivered} of tasks `001: slug` that say what they delivered."""
    found = []
    for task in tasks:
        delivered = str((task.get("metadata") or {}).get("delivered") or "")
        seq, colon, slug = str(task.get("subject", "")).partition(":")
        if delivered:
            name = slug.strip() if colon else seq
            found.append({"seq": seq.strip(), "slug": name, "delivered": delivered})
    return found


def _recalled(
    task: Mapping[str, Any], metadata: Mapping[str, Any], limit: int, root: str
) -> tuple[tuple[RecalledMemory, ...], str]:
    """The memories for it; trouble with memory never stops work, it is told."""
    from helix.memory import Recall, RecallQuery, embedder_of, open_store
    from helix.project import read_helix_settings

    text = " ".join(str(task.get(key, "")) for key in ("subject", "description")).strip()
    files = tuple(map(str, metadata.get("delta") or ()))
    project = Project(root)
    if not text or limit < 1:
        return (), ""
    try:
        settings = read_helix_settings(project, clock=Clock())
        embedder = embedder_of(project, settings, clock=Clock())
        with open_store(project) as store:
            question = RecallQuery(text, limit=limit, files=files)
            found = Recall(store, embedder).ask(question, now=Clock().stamp())
    except (DdxError, OSError) as problem:
        return (), f"no memories: {problem}"
    return found.hits, found.note


def close_feedback_loop_verified(
    task_id: str, verify_passed: bool, injected: Sequence[str], *, root: str = ""
) -> dict[str, Any]:
    """Credit by what the checks said: {credited, task_id, verify_passed, injected_count, ...}."""
    from helix.memory import credit, open_store

    with open_store(Project(root or root_here())) as store:
        done = credit(store, task_id, injected, passed=verify_passed, now=Clock().stamp())
    return {
        "credited": len(done.credited),
        "task_id": task_id,
        "verify_passed": verify_passed,
        "injected_count": len(dict.fromkeys(injected)),
        "unchanged": list(done.unchanged),
        "unknown": list(done.unknown),
    }


def context_of(orchestrator: Orchestrator, bead: Bead) -> str:
    """The task's own lines, the whole objective, and what the tasks before it delivered."""
    task = {
        "subject": bead.text(TASK_KEY) or bead.title,
        "description": cut(orchestrator.objective, _LONGEST_OBJECTIVE),
    }
    metadata = {
        "delta": bead.paths,
        "verify": " && ".join(bead.verify),
        "budget": bead.get("budget"),
        "framework": bead.text(FRAMEWORK_KEY),
        "idioms": bead.get(IDIOMS_KEY) or {},
    }
    standing = orchestrator.standing
    names = {task: seq for seq, task in standing.task_mapping.items()}
    before = [
        {
            "subject": names.get(it, it),
            "metadata": {"delivered": cut(standing.summaries.get(it, ""), LONGEST_SUMMARY)},
        }
        for it in standing.dependencies.get(bead.id, ())
    ]
    deliveries = dumps(build_lineage(before))
    return "\n".join((*task_lines(task, metadata), f"PARENT_DELIVERIES: {deliveries}"))


class TaskPolicy:
    """The policy of a build, and two things more: the form of the end, and the delta."""

    def __init__(self, build: BuildPolicy, project: Project) -> None:
        self._build = build
        self._project = project
        self.outside: tuple[str, ...] = ()
        """The files that kept it from landing; empty: none did."""

    @property
    def attempt(self) -> str:
        return self._build.attempt

    @property
    def injection(self) -> Injection:
        return self._build.injection

    def pick(self, ready: Sequence[Bead]) -> tuple[str, ...]:
        return self._build.pick(ready)

    def prepare(self, beads: Sequence[Bead], attempt: str) -> Preparation:
        prepared = self._build.prepare(beads, attempt)
        ending = PromptSection("How your task ends", _ENDING)
        return changed(prepared, closing_sections=(*prepared.closing_sections, ending))

    def still_valid(self, beads: Sequence[Bead], boundary: Boundary) -> Drift | None:
        """Before it lands, what it made is held against the delta; by real paths (O-7)."""
        if boundary is Boundary.LANDING and (made := self._made()):
            delta = [path for bead in beads for path in bead.paths]
            self.outside = outside_delta(made, delta, root=self._project.root)
            if self.outside:
                return Drift(beads[0].id, (f"files outside of its delta: {self.outside[0]}",))
        return self._build.still_valid(beads, boundary)

    def _made(self) -> list[str]:
        """The files of its commit, as the project calls them."""
        try:
            paths = read_attempts(self._project).read(self.attempt).made.get("paths", ())
        except NotFound:
            return []
        prefix = Repository(self._project.root).prefix
        return [os.path.relpath(path, prefix or ".") for path in paths]
