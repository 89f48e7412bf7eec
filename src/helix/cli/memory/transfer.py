"""`helix memory export` and `helix memory import`: lessons as lines of JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx.base import Busy, CorruptFile, NotFound, Refused, UsageError, counted
from ddx.console import JSON, Argument, Command, write
from helix.cli.context import present, tell
from helix.cli.memory.context import MemoryContext, memories, open_session, tell_progress

if TYPE_CHECKING:
    from helix.memory import Embedder, ImportResult, NoEmbedder

REJECTED = 1
_MOST_SHOWN = 20


@Command.of(
    example="helix memory export memories.jsonl",
    arguments=(Argument("file", "where to; without it the screen", required=False),),
    flags=(JSON,),
    schema="memory-exported",
)
def export_memories(*, file: str | None, json: bool) -> int:
    """Write all memories and relationships as lines of JSON, to a file or to the screen."""
    from ddx.base import replace, to_bytes
    from helix.memory import export_rows

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
    count = len(rows) - edges
    line = f"wrote {memories(count)} and {counted(edges, 'relationship')} to {file}"
    return present({"file": path, "memories": count, "edges": edges}, (line,), json=json)


@Command.of(
    example="helix memory import memories.jsonl",
    arguments=(Argument("file", "the file to read, `-` for stdin"),),
    flags=(JSON,),
    schema="memory-imported",
)
def import_memories(*, file: str, json: bool) -> int:
    """Take memories over from lines of JSON; what is known already stays as it is."""
    from helix.memory import import_rows

    text = _read(file)
    with open_session(writes="importing memories") as session:
        wits = session.wits()
        done = import_rows(session.store, text, wits.masker, where=file, now=session.now)
        _show(done, file, json=json)
        _embed(session, wits.embedder)
    return REJECTED if done.rejected else 0


def _show(done: ImportResult, file: str, *, json: bool) -> None:
    for line in done.rejected[:_MOST_SHOWN]:
        tell(f"{file}:{line.number}: not imported: {line.reason}")
    if len(done.rejected) > _MOST_SHOWN:
        tell(f"{len(done.rejected) - _MOST_SHOWN} more lines were not imported")
    rejected = [{"line": it.number, "reason": it.reason} for it in done.rejected]
    summary = (
        f"{len(done.added)} added, {len(done.merged)} known already,"
        f" {counted(done.edges, 'relationship')}, {len(rejected)} rejected"
    )
    present({**done.__dict__, "rejected": rejected}, (summary,), json=json)


def _embed(session: MemoryContext, embedder: Embedder | NoEmbedder) -> None:
    """Now, while somebody looks: no later question shall have to wait for it (M-5)."""
    from helix.memory import EmbedderFailed, NoEmbedder, embed_waiting

    if isinstance(embedder, NoEmbedder):
        return
    try:
        embed_waiting(session.store, embedder, progress=tell_progress)
    except (EmbedderFailed, Busy) as problem:
        tell(f"imported, but not embedded yet: {problem.message}")


def _read(file: str) -> str:
    from helix.memory import LARGEST_FILE

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
