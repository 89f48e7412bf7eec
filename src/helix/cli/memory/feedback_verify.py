"""`helix memory feedback-verify`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from ddx.text import listed
from helix.cli.memory.session import open_session, read_names, tell

_WORDS = {"true": True, "false": False}


def run(*, task_id: str, verify_passed: str, injected: str, json: bool) -> int:
    from helix.memory.crediting import credit

    passed = _WORDS.get(verify_passed.strip().lower())
    if passed is None:
        raise UsageError(f"--verify-passed must be true or false, not {verify_passed!r}")
    if not task_id.strip():
        raise UsageError("--task-id is empty: credit is given once for each task")
    names = read_names(injected, flag="--injected")
    with open_session(writes="crediting memories") as session:
        done = credit(session.store, task_id.strip(), names, passed=passed, now=session.now)
    if done.unknown:
        tell(f"no memory is called {listed(done.unknown, joiner='or')}")
    if json:
        answer(
            {
                "credited": len(done.credited),
                "task_id": done.bead,
                "verify_passed": done.passed,
                "injected_count": len(dict.fromkeys(names)),
                "unchanged": list(done.unchanged),
                "unknown": list(done.unknown),
            }
        )
        return 0
    word = "helped" if passed else "failed"
    already = f", {len(done.unchanged)} had this outcome already" if done.unchanged else ""
    say(f"{len(done.credited)} credited as {word}{already}")
    return 0


COMMAND = Command(
    "memory feedback-verify",
    "Credit the memories that a task was shown with what its checks said.",
    run,
    "helix memory feedback-verify --task-id app-1 --verify-passed true --injected '[\"a-name\"]'",
    flags=(
        Flag("--task-id", "the task; its last outcome is the one that counts", required=True),
        Flag("--verify-passed", "did its checks pass: true or false", required=True),
        Flag("--injected", "the names that it was shown, as a JSON list", required=True),
        JSON,
    ),
    schema="memory-credited",
)
