"""`helix memory`: what is kept, what goes, what is held back, and how the whole of it does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ddx.base import Refused, counted
from ddx.console import JSON, Argument, Command, Flag, answer, bold, dim, say, table, when
from helix.cli.context import present, tell
from helix.cli.memory.context import (
    NAME,
    credit_in_words,
    memories,
    open_session,
    read_share,
    say_indented,
    show_memories,
    tell_progress,
)

if TYPE_CHECKING:
    from helix.cli.memory.context import MemoryContext
    from helix.memory import RemovalResult

DRY_RUN = Flag("--dry-run", "only say what would happen", "switch")


# -- what goes -------------------------------------------------------------------------------


@Command.of(
    example="helix memory prune --dry-run",
    flags=(
        Flag("--min-effectiveness", "what helped less often goes; 0.25 if not given"),
        Flag(
            "--min-uses",
            "points that a verdict needs, half of one an outcome; 3 if not given",
            "number",
        ),
        DRY_RUN,
        JSON,
    ),
    schema="memory-pruned",
)
def prune(*, min_effectiveness: str | None, min_uses: int | None, dry_run: bool, json: bool) -> int:
    """Remove memories that were tried often and hardly ever helped; pinned ones stay."""
    from helix.memory import LEAST_EFFECTIVENESS, LEAST_USES, prune

    least = read_share(min_effectiveness, flag="--min-effectiveness", default=LEAST_EFFECTIVENESS)
    with open_session(writes="pruning memories") as session:
        done = prune(
            session.store,
            now=session.now,
            dry_run=dry_run,
            least_effectiveness=least,
            least_uses=LEAST_USES if min_uses is None else float(min_uses),
        )
    return _show_removed(done, "pruned", dry_run=dry_run, json=json)


@Command.of(
    example="helix memory forget a-name another --dry-run",
    arguments=(Argument("names", "the memories' names", many=True),),
    flags=(DRY_RUN, JSON),
    schema="memory-forgotten",
)
def forget(*, names: tuple[str, ...], dry_run: bool, json: bool) -> int:
    """Remove these memories."""
    from helix.memory import forget

    with open_session(writes="forgetting memories") as session:
        done = forget(session.store, names, now=session.now, dry_run=dry_run)
    return _show_removed(done, "forgotten", dry_run=dry_run, json=json)


def _show_removed(done: RemovalResult, verb: str, *, dry_run: bool, json: bool) -> int:
    """What was removed, or would be."""
    if json:
        row = {"dry_run": dry_run, verb: len(done.memories)}
        names = [memory.name for memory in done.memories]
        answer({**row, "names": names, "remaining": done.remaining, "undo": done.undo})
        return 0
    if done.memories:
        rows = [
            (it.name, str(it.type), credit_in_words(it.helped, it.failed), it.trigger)
            for it in done.memories
        ]
        table(("name", "type", "record", "trigger"), rows)
    _say_count(len(done.memories), verb, done.remaining, dry_run=dry_run, undo=done.undo)
    return 0


def _say_count(count: int, verb: str, remaining: int, *, dry_run: bool, undo: str) -> None:
    say(f"{count} {'would be ' if dry_run else ''}{verb}, {remaining} remain")
    if undo:
        say("take it back: helix memory undo")


@Command.of(
    example="helix memory consolidate --dry-run",
    flags=(DRY_RUN, JSON),
    schema="memory-consolidated",
)
def consolidate(*, dry_run: bool, json: bool) -> int:
    """Make one memory of those that say the same."""
    from helix.memory import NoEmbedder, consolidate

    with open_session(writes="consolidating memories") as session:
        embedder = session.embedder()
        if isinstance(embedder, NoEmbedder):
            raise Refused(
                f"nothing can be compared without an embedder: {embedder.reason}",
                hint=embedder.hint,
            )
        done = consolidate(
            session.store, embedder, now=session.now, dry_run=dry_run, progress=tell_progress
        )
    if json:
        pairs = [
            {"kept": it.kept.name, "merged": it.merged.name, "similarity": round(it.similarity, 4)}
            for it in done.pairs
        ]
        row = {"dry_run": dry_run, "merged": len(pairs), "pairs": pairs}
        answer({**row, "remaining": done.remaining, "undo": done.undo})
        return 0
    if done.pairs:
        rows = [
            (it.merged.name, it.kept.name, f"{it.similarity:.2f}", it.merged.trigger)
            for it in done.pairs
        ]
        table(("merged", "into", "alike", "trigger"), rows)
    _say_count(len(done.pairs), "merged", done.remaining, dry_run=dry_run, undo=done.undo)
    return 0


@Command.of(
    example="helix memory decay --days 30",
    flags=(
        Flag("--days", "unused for so many days; 30 if not given", "number"),
        Flag(
            "--min-uses",
            "points that keep a memory, half of one an outcome; 2 if not given",
            "number",
        ),
        JSON,
    ),
    schema="memory-decayed",
)
def decay(*, days: int | None, min_uses: int | None, json: bool) -> int:
    """List memories that nobody has used for long; nothing is changed."""
    from helix.memory import OLD_DAYS, USES_TO_SURVIVE, fading, memory_row

    limit = OLD_DAYS if days is None else days
    uses = USES_TO_SURVIVE if min_uses is None else float(min_uses)
    with open_session() as session:
        found = fading(session.store, now=session.now, days=limit, uses=uses)
    if json:
        rows = [memory_row(memory) for memory in found]
        row = {"candidates_for_decay": rows, "count": len(rows)}
        answer({**row, "threshold_days": limit, "min_uses_to_survive": uses})
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


@Command.of(example="helix memory undo", flags=(JSON,), schema="memory-undone")
def undo(*, json: bool) -> int:
    """Take the last prune, consolidate or forget back."""
    from helix.memory import undo_last

    with open_session(writes="restoring memories") as session:
        done = undo_last(session.store, now=session.now)
    for name in done.kept:
        tell(f"{name} is here already and was left alone")
    at = when(done.at, now=session.now)
    line = f"{len(done.restored)} restored; {done.command} of {at} was taken back"
    return present(done.__dict__, (line,), json=json)


# -- what stays, and what is held back -------------------------------------------------------


def _pin(*, name: str, json: bool, pinned: bool) -> int:
    from helix.memory import memory_row, pin

    with open_session(writes="pinning memories") as session:
        memory = pin(session.store, name, pinned=pinned)
    line = f"{memory.name} is {'pinned' if pinned else 'unpinned'}"
    return present(memory_row(memory), (line,), json=json)


PIN, UNPIN = (
    Command(
        summary,
        partial(_pin, pinned=verb == "pin"),
        example=f"helix memory {verb} a-name",
        arguments=(NAME,),
        flags=(JSON,),
        schema="memory-pinned",
    )
    for verb, summary in (
        ("pin", "Keep a memory, however it does: prune and consolidate leave it alone."),
        ("unpin", "Let a pinned memory be judged like any other."),
    )
)


@Command.of(
    example="helix memory review",
    flags=(
        Flag("--accept", "store the one with this number after all", "number"),
        Flag("--drop", "remove the one with this number", "number"),
        JSON,
    ),
    schema="memory-review",
)
def review(*, accept: int | None, drop: int | None, json: bool) -> int:
    """List what was held back because it may carry orders or secrets; accept or drop it."""
    from helix.memory import all_held

    writes = "reviewing memories" if accept is not None or drop is not None else ""
    with open_session(writes=writes) as session:
        _decide(session, accept, drop)
        held = all_held(session.store)
    if json:
        answer([dict(one.__dict__) for one in held])
        return 0
    for one in held:
        say(bold(f"{one.id}"), f"  {one.reason}", dim(f"  {when(one.created_at, now=session.now)}"))
        say_indented(f"{one.type}: {one.trigger}\n-> {one.resolution}", by=3)
        if one.source:
            say_indented(f"source: {one.source}", by=3)
    if held:
        say("look closely, then: helix memory review --accept N, or --drop N")
    else:
        say("nothing is held back")
    return 0


def _decide(session: MemoryContext, accept: int | None, drop: int | None) -> None:
    from helix.memory import accept_held, drop_held

    if accept is not None:
        name = accept_held(session.store, accept, session.wits(), now=session.now)
        tell(f"{accept} was accepted as {name}")
    if drop is not None:
        drop_held(session.store, drop)
        tell(f"{drop} was dropped")


# -- how it does -----------------------------------------------------------------------------


@Command.of(example="helix memory health", flags=(JSON,), schema="memory-health")
def health(*, json: bool) -> int:
    """Show how many memories there are, how they do, and what wants attention."""
    from helix.memory import health_of

    with open_session() as session:
        health = health_of(session.store, session.embedder())
    if json:
        row = {name: getattr(health, name) for name in _HEALTH}
        tallies = {str(kind): dict(tally.__dict__) for kind, tally in health.by_type}
        answer({**row, "by_type": tallies, "effectiveness": round(health.effectiveness, 4)})
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


_HEALTH = (
    *("status", "total", "by_type", "effectiveness", "with_feedback", "relationships"),
    *("embedder", "waiting", "held", "schema", "path", "issues"),
)
