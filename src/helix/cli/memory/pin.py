"""`helix memory pin`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command
from helix.cli.memory.session import NAME, open_session


def run(*, name: str, json: bool) -> int:
    from helix.memory.interchange import memory_row
    from helix.memory.tending import pin

    with open_session(writes="pinning memories") as session:
        memory = pin(session.store, name, pinned=True)
    if json:
        answer(memory_row(memory))
    else:
        say(f"{memory.name} is pinned")
    return 0


COMMAND = Command(
    "memory pin",
    "Keep a memory, however it does: prune and consolidate leave it alone.",
    run,
    "helix memory pin a-name",
    arguments=(NAME,),
    flags=(JSON,),
    schema="memory-pinned",
)
