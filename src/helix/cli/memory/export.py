"""`helix memory export`"""

from __future__ import annotations

import os

from ddx.console.screen import answer, say, write
from ddx.console.spec import JSON, Argument, Command
from ddx.errors import UsageError
from ddx.text import counted
from helix.cli.memory.session import memories, open_session


def run(*, file: str | None, json: bool) -> int:
    from ddx.fastjson import to_bytes
    from ddx.files import replace
    from helix.memory.interchange import export_rows

    if json and file is None:
        raise UsageError(
            "--json tells about the file; without a file the answer is lines of JSON already",
            hint="helix memory export memories.jsonl --json",
        )
    with open_session() as session:
        rows = list(export_rows(session.store))
    lines = [to_bytes(row) + b"\n" for row in rows]
    if file is None:
        write(*lines)
        return 0
    path = os.path.abspath(file)
    replace(path, lines)
    edges = sum("from" in row for row in rows)
    if json:
        answer({"file": path, "memories": len(rows) - edges, "edges": edges})
    else:
        say(f"wrote {memories(len(rows) - edges)} and {counted(edges, 'relationship')} to {file}")
    return 0


COMMAND = Command(
    "memory export",
    "Write all memories and relationships as lines of JSON, to a file or to the screen.",
    run,
    "helix memory export memories.jsonl",
    arguments=(Argument("file", "where to; without it the screen", required=False),),
    flags=(JSON,),
    schema="memory-exported",
)
