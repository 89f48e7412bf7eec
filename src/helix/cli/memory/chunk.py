"""`helix memory chunk`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.session import open_session, tell

REJECTED = 1


def run(*, task: str, outcome: str, approach: str, source: str | None, json: bool) -> int:
    from helix.memory.learning import chunk

    with open_session(writes="storing memories") as session:
        done = chunk(
            session.store,
            session.wits(),
            task=task,
            outcome=outcome,
            approach=approach,
            source=source or "",
            now=session.now,
        )
    if json:
        answer(dict(done.__dict__))
    elif done.name:
        say(f"{done.name}  ({done.status})")
    if done.status == "rejected":
        tell(f"not stored: {done.reason}")
        return REJECTED
    if done.status == "skipped":
        tell(f"skipped: {done.reason}")
    return 0


COMMAND = Command(
    "memory chunk",
    "Make a pattern of an approach that worked; told again, the pattern is strengthened.",
    run,
    'helix memory chunk --task "Add paging" --outcome success --approach "A cursor over the id"',
    flags=(
        Flag("--task", "what was to be done", required=True),
        Flag("--outcome", "how it ended; only success is worth repeating", required=True),
        Flag("--approach", "what worked", required=True),
        Flag("--source", "where it comes from"),
        JSON,
    ),
    schema="memory-chunked",
)
