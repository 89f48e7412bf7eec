"""`helix memory import`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.errors import Busy, CorruptFile, NotFound, Refused
from ddx.text import counted
from helix.cli.memory.session import Session, open_session, tell, tell_progress

if TYPE_CHECKING:
    from helix.memory.embedders.base import Absent, Embedder
    from helix.memory.interchange import Imported

REJECTED = 1
_MOST_SHOWN = 20


def run(*, file: str, json: bool) -> int:
    from helix.memory.interchange import import_rows

    text = _read(file)
    with open_session(writes="importing memories") as session:
        wits = session.wits()
        done = import_rows(session.store, text, wits.masker, where=file, now=session.now)
        _show(done, file, json=json)
        _embed(session, wits.embedder)
    return REJECTED if done.rejected else 0


def _show(done: Imported, file: str, *, json: bool) -> None:
    for line in done.rejected[:_MOST_SHOWN]:
        tell(f"{file}:{line.number}: not imported: {line.reason}")
    if len(done.rejected) > _MOST_SHOWN:
        tell(f"{len(done.rejected) - _MOST_SHOWN} more lines were not imported")
    if json:
        answer(
            {
                "added": list(done.added),
                "merged": list(done.merged),
                "rejected": [{"line": it.number, "reason": it.reason} for it in done.rejected],
                "edges": done.edges,
            }
        )
    else:
        say(
            f"{len(done.added)} added, {len(done.merged)} known already,"
            f" {counted(done.edges, 'relationship')}, {len(done.rejected)} rejected"
        )


def _embed(session: Session, embedder: Embedder | Absent) -> None:
    """Now, while somebody looks: no later question shall have to wait for it (M-5)."""
    from helix.memory.embedders.base import Absent, EmbedderFailed
    from helix.memory.vectors import embed_waiting

    if isinstance(embedder, Absent):
        return
    try:
        embed_waiting(session.store, embedder, progress=tell_progress)
    except (EmbedderFailed, Busy) as problem:
        tell(f"imported, but not embedded yet: {problem.message}")


def _read(file: str) -> str:
    from helix.memory.interchange import LARGEST_FILE

    try:
        if file == "-":
            content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with open(file, "rb") as source:
                content = source.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        hint = "make one: helix memory export FILE"
        raise NotFound(f"there is no file {file}", hint=hint) from None
    if len(content) > LARGEST_FILE:
        raise Refused(f"{file} is larger than {LARGEST_FILE >> 20} MB; nothing was imported")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise CorruptFile(f"{file} is not UTF-8 at byte {problem.start + 1}") from None


COMMAND = Command(
    "memory import",
    "Take memories over from lines of JSON; what is known already stays as it is.",
    run,
    "helix memory import memories.jsonl",
    arguments=(Argument("file", "the file to read, `-` for stdin"),),
    flags=(JSON,),
    schema="memory-imported",
)
