"""What a builder is told of its task, and the credit that its memories get (O-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.errors import DdxError
from ddx.fastjson import dumps
from ddx.project import Project
from helix.objective.orchestrator import root_here
from helix.objective.plan import DEFAULT_BUDGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix.memory.scoring import Hit

MEMORY_LIMIT = 5
_INSTRUCTION = "Do this task and nothing else; its VERIFY command proves it."


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


def memory_lines(hits: Sequence[Hit]) -> list[str]:
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
) -> tuple[tuple[Hit, ...], str]:
    """The memories for it; trouble with memory never stops work, it is told."""
    from helix.memory.opening import embedder_of, open_store
    from helix.memory.recall import Question, Recall
    from helix.settings import read_helix_settings

    text = " ".join(str(task.get(key, "")) for key in ("subject", "description")).strip()
    files = tuple(map(str, metadata.get("delta") or ()))
    project = Project(root)
    if not text or limit < 1:
        return (), ""
    try:
        settings = read_helix_settings(project, clock=SYSTEM_CLOCK)
        embedder = embedder_of(project, settings, clock=SYSTEM_CLOCK)
        with open_store(project) as store:
            question = Question(text, limit=limit, files=files)
            found = Recall(store, embedder).ask(question, now=SYSTEM_CLOCK.stamp())
    except (DdxError, OSError) as problem:
        return (), f"no memories: {problem}"
    return found.hits, found.note


def close_feedback_loop_verified(
    task_id: str, verify_passed: bool, injected: Sequence[str], *, root: str = ""
) -> dict[str, Any]:
    """Credit by what the checks said: {credited, task_id, verify_passed, injected_count, ...}."""
    from helix.memory.crediting import credit
    from helix.memory.opening import open_store

    with open_store(Project(root or root_here())) as store:
        done = credit(store, task_id, injected, passed=verify_passed, now=SYSTEM_CLOCK.stamp())
    return {
        "credited": len(done.credited),
        "task_id": task_id,
        "verify_passed": verify_passed,
        "injected_count": len(dict.fromkeys(injected)),
        "unchanged": list(done.unchanged),
        "unknown": list(done.unknown),
    }
