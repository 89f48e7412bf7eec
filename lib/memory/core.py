"""The memory by its seed's name: `python3 lib/memory/core.py recall "flaky login" --limit 5`.

Each function is one command of ours in a process of its own: the same locks, the same answers, and
no package that the caller's Python must have.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.realpath(__file__ + "/../../.."))
    from lib import become

    become("memory", sys.argv[1:])

from typing import TYPE_CHECKING, Any

from ddx.base.json import dumps, loads
from ddx.base.process import for_children, run
from lib import HELIX

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT_S = 300.0
"""The very first call sets HELIX up."""


class MemoryCommandFailed(Exception):
    """What a person would have read, and the exit code."""


def recall(
    query: str, type: str | None = None, limit: int = 5, min_effectiveness: float = 0.0
) -> list[dict[str, Any]]:
    """The memories that fit a task or a question, best first."""
    flags = {"type": type, "limit": limit, "min-effectiveness": min_effectiveness}
    found: list[dict[str, Any]] = _ask("recall", query, **flags)
    return found


def store(trigger: str, resolution: str, type: str = "failure", source: str = "") -> dict[str, Any]:
    """{status: added | merged | rejected, name, reason}."""
    return _row("store", trigger=trigger, resolution=resolution, type=type, source=source or None)


def feedback_from_verification(
    task_id: str, verify_passed: bool, injected: Iterable[str]
) -> dict[str, Any]:
    """Credit by what the checks said: {credited, task_id, verify_passed, injected_count, ...}."""
    flags = {"task-id": task_id, "verify-passed": str(bool(verify_passed)).lower()}
    return _row("feedback-verify", **flags, injected=dumps(list(injected)))


def feedback(utilized: Iterable[str], injected: Iterable[str]) -> dict[str, Any]:
    """Deprecated: by a builder's own word, {helped, unhelpful, missing}."""
    return _row("feedback", utilized=dumps(list(utilized)), injected=dumps(list(injected)))


def health() -> dict[str, Any]:
    """{status, total, by_type, effectiveness, with_feedback, relationships, issues, ...}."""
    return _row("health")


def consolidate() -> dict[str, Any]:
    """Make one memory of those that say the same: {merged, pairs, remaining, undo}."""
    return _row("consolidate")


def prune() -> dict[str, Any]:
    """Remove what hardly ever helped: {pruned, remaining, undo, ...}."""
    return _row("prune")


def decay(days: int = 30, min_uses: int = 2) -> dict[str, Any]:
    """List what nobody has used for long; nothing is changed."""
    return _row("decay", days=days, **{"min-uses": min_uses})


def chunk(task: str, outcome: str, approach: str, source: str = "") -> dict[str, Any]:
    """Make a pattern of an approach that worked."""
    return _row("chunk", task=task, outcome=outcome, approach=approach, source=source or None)


def relate(from_name: str, to_name: str, rel_type: str) -> dict[str, Any]:
    """Say how two memories belong together."""
    return _row("relate", **{"from": from_name, "to": to_name, "type": rel_type})


def connected(name: str, max_hops: int = 2) -> list[dict[str, Any]]:
    """The memories that one is connected to, the nearest first."""
    found: list[dict[str, Any]] = _ask("connected", name, **{"max-hops": max_hops})
    return found


def get(name: str) -> dict[str, Any]:
    """One memory with its record."""
    return _row("get", name)


def _row(command: str, *arguments: str, **flags: str | float | None) -> dict[str, Any]:
    return dict(_ask(command, *arguments, **flags))


def _ask(command: str, *arguments: str, **flags: str | float | None) -> Any:
    given = [f"--{name}={said}" for name, said in flags.items() if said is not None]
    done = run(
        [HELIX, "memory", command, *given, "--json", "--", *arguments],
        cwd=os.getcwd(),
        env=for_children(),
        timeout_s=LIMIT_S,
    )
    if done.timed_out or not done.stdout.strip():
        said = done.stderr.decode("utf-8", "replace").strip()
        raise MemoryCommandFailed(f"{said or 'it said nothing'} (exit {done.code})")
    return loads(done.text)
