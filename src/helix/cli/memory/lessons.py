"""`helix memory`: storing lessons, and finding them again by question, name or relation."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ddx.base import Clock, UsageError
from ddx.console import JSON, Argument, Command, Flag, answer, bold, dim, say, table, when
from ddx.project import find_project
from helix.cli.context import present, tell
from helix.cli.memory.context import (
    NAME,
    credit_in_words,
    open_session,
    read_share,
    say_indented,
    show_memories,
    split_paths,
    tell_progress,
)

if TYPE_CHECKING:
    from helix.memory import RecalledMemory

REJECTED = 1
_MOST_HOPS = 10


@Command.of(
    example='helix memory store --trigger "Login test fails at night" '
    '--resolution "Freeze the clock"',
    flags=(
        Flag("--trigger", "the situation, in a sentence", required=True),
        Flag("--resolution", "what to do then", required=True),
        Flag("--type", "failure to avoid it, pattern to repeat it", default="failure"),
        Flag("--source", "where it comes from"),
        Flag("--files", "paths that it is about, separated by commas"),
        JSON,
    ),
    schema="memory-stored",
)
def store(
    *, trigger: str, resolution: str, type: str, source: str | None, files: str | None, json: bool
) -> int:
    """Store what was learned: when it applies, and what to do then."""
    from helix.memory import MemoryDraft, MemoryRejected, store_in_project, stored_row

    draft = MemoryDraft(type, trigger, resolution, source=source or "", files=split_paths(files))
    stored = store_in_project(find_project(os.getcwd()), draft, clock=Clock())
    row = stored_row(stored)
    said = f"  ({row['status']}: {row['reason']})" if row["reason"] else ""
    present(row, [f"{row['name']}{said}"] if row["name"] else (), json=json)
    if row["status"] != "rejected":
        return 0
    tell(f"not stored: {row['reason']}")
    if isinstance(stored, MemoryRejected) and stored.is_held:
        tell("look at it: helix memory review")
    return REJECTED


@Command.of(
    example='helix memory chunk --task "Add paging" --outcome success '
    '--approach "A cursor over the id"',
    flags=(
        Flag("--task", "what was to be done", required=True),
        Flag("--outcome", "how it ended; only success is worth repeating", required=True),
        Flag("--approach", "what worked", required=True),
        Flag("--source", "where it comes from"),
        JSON,
    ),
    schema="memory-chunked",
)
def chunk(*, source: str | None, json: bool, **lesson: str) -> int:
    """Make a pattern of an approach that worked; told again, the pattern is strengthened."""
    from helix.memory import chunk

    with open_session(writes="storing memories") as session:
        done = chunk(session.store, session.wits(), source=source or "", now=session.now, **lesson)
    present({**done.__dict__}, [f"{done.name}  ({done.status})"] if done.name else (), json=json)
    if done.status == "rejected":
        tell(f"not stored: {done.reason}")
        return REJECTED
    if done.status == "skipped":
        tell(f"skipped: {done.reason}")
    return 0


# -- finding them again ----------------------------------------------------------------------


@Command.of(
    example='helix memory recall "the login test is flaky" --limit 5',
    arguments=(Argument("query", "the task or the situation, in words"),),
    flags=(
        Flag("--type", "only failure, or only pattern"),
        Flag("--limit", "at most this many; 5 if not given", "number"),
        Flag("--min-effectiveness", "only what helped at least this often, from 0 to 1"),
        Flag("--files", "paths in question, separated by commas: what names them counts more"),
        Flag("--explain", "show every part of the score; --json always does", "switch"),
        JSON,
    ),
    schema="memory-recalled",
)
def recall(
    *,
    query: str,
    type: str | None,
    limit: int | None,
    min_effectiveness: str | None,
    files: str | None,
    explain: bool,
    json: bool,
) -> int:
    """Recall what fits a task or a question, best first; nothing is better than something wrong."""
    from helix.memory import LIMIT, RecallQuery, recall_memories, recalled_row

    question = RecallQuery(
        query,
        type or "",
        LIMIT if limit is None else limit,
        min_effectiveness=read_share(min_effectiveness, flag="--min-effectiveness", default=0.0),
        files=split_paths(files),
    )
    watched = sys.stderr.isatty()  # who watches can wait for all of them, and sees how far it is
    progress = tell_progress if watched else None
    project = find_project(os.getcwd())
    recalled = recall_memories(project, question, clock=Clock(), progress=progress)
    if recalled.note:
        tell(recalled.note)
    if json:
        answer([recalled_row(hit) for hit in recalled.hits])
        return 0
    for hit in recalled.hits:
        _show_hit(hit, explain=explain)
    if not recalled.hits:
        say("nothing that is known fits")
    return 0


def _show_hit(hit: RecalledMemory, *, explain: bool) -> None:
    memory = hit.memory
    credit = credit_in_words(memory.helped, memory.failed)
    say(f"{hit.score:.3f}  ", bold(memory.name), dim(f"  {memory.type}, {credit}"))
    say_indented(f"{memory.trigger}\n-> {memory.resolution}", by=7)
    if explain:
        say(dim(f"       {_parts(hit)}"))


def _parts(hit: RecalledMemory) -> str:
    from helix.memory import scoring

    like = hit.similarity
    sum_of = (
        f"{scoring.RELEVANCE_WEIGHT} x relevance {hit.relevance:.3f} + "
        f"{scoring.EFFECTIVENESS_WEIGHT} x effectiveness {hit.effectiveness:.3f} + "
        f"{scoring.RECENCY_WEIGHT} x recency {hit.recency:.3f}"
    )
    if hit.hop:
        return f"{sum_of}; {hit.hop} from {hit.via}, and not above the weakest direct hit"
    return (
        f"{sum_of}; similarity {like.raw:.3f} = cosine {like.cosine:.3f} + words {like.words:.3f}"
        f" (bm25 {like.bm25:.2f}) + files {like.files:.2f}"
    )


@Command.of(
    example="helix memory get login-test-fails-after-midnight",
    arguments=(NAME,),
    flags=(JSON,),
    schema="memory-shown",
)
def get(*, name: str, json: bool) -> int:
    """Show one memory with its record."""
    from helix.memory import edge_row, edges_around, effectiveness_of, memory_row, require_memory

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


@Command.of(
    example="helix memory list --type failure",
    flags=(
        Flag("--type", "only these", "choice", choices=("failure", "pattern")),
        Flag("--limit", "at most this many", "number"),
        JSON,
    ),
    schema="memory-list",
)
def list_memories(*, type: str | None, limit: int | None, json: bool) -> int:
    """List memories, the newest first."""
    from helix.memory import all_memories, memory_row

    with open_session() as session, session.store.reading() as db:
        known = all_memories(db)
    newest = [memory for memory in reversed(known) if type in (None, memory.type)][:limit]
    if json:
        answer([memory_row(memory) for memory in newest])
    else:
        none = "nothing is known yet: helix memory store --trigger ... --resolution ..."
        show_memories(newest, none=none)
    return 0


# -- how they stand to each other --------------------------------------------------------------


@Command.of(
    example="helix memory relate --from a-name --to another --type solves",
    flags=(
        Flag("--from", "the one memory", required=True),
        Flag("--to", "the other memory", required=True),
        Flag("--type", "co_occurs, causes, solves or similar", required=True),
        JSON,
    ),
    schema="memory-related",
)
def relate(*, type: str, json: bool, **ends: str) -> int:
    """Say how one memory stands to another; recall may then bring both."""
    from helix.memory import relate

    source, target = ends["from"], ends["to"]
    with open_session(writes="relating memories") as session:
        is_new = relate(session.store, source, target, type, now=session.now)
    status = "added" if is_new else "exists"
    row = {"status": status, "from": source, "to": target, "type": type}
    return present(row, (f"{source} {type} {target}  ({status})",), json=json)


@Command.of(
    example="helix memory connected a-name",
    arguments=(NAME,),
    flags=(Flag("--max-hops", "at most so many steps; 2 if not given", "number"), JSON),
    schema="memory-connected",
)
def connected(*, name: str, max_hops: int | None, json: bool) -> int:
    """List the memories that one is connected to, the nearest first."""
    from helix.memory import MOST_HOPS, connected, memory_row

    hops = MOST_HOPS if max_hops is None else max_hops
    if not 1 <= hops <= _MOST_HOPS:
        raise UsageError(f"--max-hops must be from 1 to {_MOST_HOPS}, not {hops}")
    with open_session() as session:
        found = connected(session.store, name, hops=hops)
    if json:
        answer(
            [
                memory_row(it.memory) | {"hop": it.hop, "via": it.via, "relation": str(it.relation)}
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
