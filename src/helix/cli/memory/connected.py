"""`helix memory connected`"""

from __future__ import annotations

from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from helix.cli.memory.session import NAME, open_session

_MOST_HOPS = 10


def run(*, name: str, max_hops: int | None, json: bool) -> int:
    from helix.memory.interchange import memory_row
    from helix.memory.relating import connected
    from helix.memory.scoring import MOST_HOPS

    hops = MOST_HOPS if max_hops is None else max_hops
    if not 1 <= hops <= _MOST_HOPS:
        raise UsageError(f"--max-hops must be from 1 to {_MOST_HOPS}, not {hops}")
    with open_session() as session:
        found = connected(session.store, name, hops=hops)
    if json:
        answer(
            [
                {
                    **memory_row(it.memory),
                    "hop": it.hop,
                    "via": it.via,
                    "relation": str(it.relation),
                }
                for it in found
            ]
        )
    elif found:
        rows = [
            (it.memory.name, str(it.hop), f"{it.relation} {it.via}", it.memory.trigger)
            for it in found
        ]
        table(("name", "hop", "by", "trigger"), rows)
    else:
        say(f"nothing is connected to {name}")
    return 0


COMMAND = Command(
    "memory connected",
    "List the memories that one is connected to, the nearest first.",
    run,
    "helix memory connected a-name",
    arguments=(NAME,),
    flags=(Flag("--max-hops", "at most so many steps; 2 if not given", kind="number"), JSON),
    schema="memory-connected",
)
