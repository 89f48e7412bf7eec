"""`helix memory health`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command
from ddx.text import counted
from helix.cli.memory.session import memories, open_session


def run(*, json: bool) -> int:
    from helix.memory.health import health_of

    with open_session() as session:
        health = health_of(session.store, session.embedder())
    if json:
        answer(
            {
                "status": health.status,
                "total": health.total,
                "by_type": {str(kind): dict(tally.__dict__) for kind, tally in health.by_type},
                "effectiveness": round(health.effectiveness, 4),
                "with_feedback": health.with_feedback,
                "relationships": health.relationships,
                "embedder": health.embedder,
                "waiting": health.waiting,
                "held": health.held,
                "schema": health.schema,
                "path": health.path,
                "issues": list(health.issues),
            }
        )
        return 0
    kinds = ", ".join(counted(tally.count, str(kind)) for kind, tally in health.by_type)
    edges = counted(health.relationships, "relationship")
    say(f"{health.status}: {memories(health.total)} ({kinds}), {edges}")
    if health.with_feedback:
        judged = memories(health.with_feedback)
        say(f"checks judged {judged}, {health.effectiveness:.0%} of it in their favour")
    if health.embedder:
        waiting = f", {health.waiting} still to be embedded" if health.waiting else ""
        say(f"embedder: {health.embedder}{waiting}")
    else:
        say("embedder: none; recall goes by words alone")
    for issue in health.issues:
        say(f"- {issue}")
    return 0


COMMAND = Command(
    "memory health",
    "Show how many memories there are, how they do, and what wants attention.",
    run,
    "helix memory health",
    flags=(JSON,),
    schema="memory-health",
)
