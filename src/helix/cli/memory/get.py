"""`helix memory get`"""

from __future__ import annotations

from ddx.console.screen import answer, bold, dim, say, when
from ddx.console.spec import JSON, Command
from helix.cli.memory.session import NAME, credit_in_words, open_session


def run(*, name: str, json: bool) -> int:
    from helix.memory.interchange import edge_row, memory_row
    from helix.memory.rows import edges_around, require_memory
    from helix.memory.scoring import effectiveness_of

    with open_session() as session, session.store.reading() as db:
        memory = require_memory(db, name)
        edges = edges_around(db, (name,))
    if json:
        effectiveness = round(effectiveness_of(memory.helped, memory.failed), 4)
        row = memory_row(memory)
        answer({**row, "effectiveness": effectiveness, "edges": [edge_row(it) for it in edges]})
        return 0
    credit = credit_in_words(memory.helped, memory.failed)
    pinned = ", pinned" if memory.pinned else ""
    say(bold(memory.name), dim(f"  {memory.type}, {credit}{pinned}"))
    say(memory.trigger)
    say(f"-> {memory.resolution}")
    used = f", last helped {when(memory.last_used, now=session.now)}" if memory.last_used else ""
    source = f" from {memory.source}" if memory.source else ""
    say(dim(f"learned {when(memory.created_at, now=session.now)}{source}{used}"))
    if memory.file_patterns:
        say(dim(f"files: {', '.join(memory.file_patterns)}"))
    for edge in edges:
        say(dim(f"{edge.source} {edge.relation} {edge.target}"))
    return 0


COMMAND = Command(
    "memory get",
    "Show one memory with its record.",
    run,
    "helix memory get login-test-fails-after-midnight",
    arguments=(NAME,),
    flags=(JSON,),
    schema="memory-shown",
)
