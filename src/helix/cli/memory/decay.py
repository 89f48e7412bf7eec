"""`helix memory decay`"""

from __future__ import annotations

from ddx.console.screen import answer, say, when
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.listing import show_memories
from helix.cli.memory.session import open_session


def run(*, days: int | None, min_uses: int | None, json: bool) -> int:
    from helix.memory.interchange import memory_row
    from helix.memory.tending import OLD_DAYS, USES_TO_SURVIVE, fading

    limit = OLD_DAYS if days is None else days
    uses = USES_TO_SURVIVE if min_uses is None else float(min_uses)
    with open_session() as session:
        found = fading(session.store, now=session.now, days=limit, uses=uses)
    if json:
        answer(
            {
                "candidates_for_decay": [memory_row(memory) for memory in found],
                "count": len(found),
                "threshold_days": limit,
                "min_uses_to_survive": uses,
            }
        )
        return 0
    show_memories(
        found,
        last="unused since",
        cell=lambda it: when(it.last_used or it.created_at, now=session.now),
        none=f"nothing has been unused for {limit} days",
    )
    if found:
        say("nothing was changed; remove with: helix memory forget NAME...")
    return 0


COMMAND = Command(
    "memory decay",
    "List memories that nobody has used for long; nothing is changed.",
    run,
    "helix memory decay --days 30",
    flags=(
        Flag("--days", "unused for so many days; 30 if not given", kind="number"),
        Flag(
            "--min-uses",
            "points that keep a memory, half of one an outcome; 2 if not given",
            kind="number",
        ),
        JSON,
    ),
    schema="memory-decayed",
)
