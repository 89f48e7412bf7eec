"""`helix memory consolidate`"""

from __future__ import annotations

from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command
from ddx.errors import Refused
from helix.cli.memory.session import DRY_RUN, open_session, tell_progress


def run(*, dry_run: bool, json: bool) -> int:
    from helix.memory.embedders.base import Absent
    from helix.memory.tending import consolidate

    with open_session(writes="consolidating memories") as session:
        embedder = session.embedder()
        if isinstance(embedder, Absent):
            raise Refused(
                f"nothing can be compared without an embedder: {embedder.reason}",
                hint=embedder.hint,
            )
        done = consolidate(
            session.store, embedder, now=session.now, dry_run=dry_run, progress=tell_progress
        )
    if json:
        answer(
            {
                "dry_run": dry_run,
                "merged": len(done.pairs),
                "pairs": [
                    {
                        "kept": pair.kept.name,
                        "merged": pair.merged.name,
                        "similarity": round(pair.similarity, 4),
                    }
                    for pair in done.pairs
                ],
                "remaining": done.remaining,
                "undo": done.undo,
            }
        )
        return 0
    if done.pairs:
        rows = [
            (pair.merged.name, pair.kept.name, f"{pair.similarity:.2f}", pair.merged.trigger)
            for pair in done.pairs
        ]
        table(("merged", "into", "alike", "trigger"), rows)
    would = "would be " if dry_run else ""
    say(f"{len(done.pairs)} {would}merged, {done.remaining} remain")
    if done.undo:
        say("take it back: helix memory undo")
    return 0


COMMAND = Command(
    "memory consolidate",
    "Make one memory of those that say the same.",
    run,
    "helix memory consolidate --dry-run",
    flags=(DRY_RUN, JSON),
    schema="memory-consolidated",
)
