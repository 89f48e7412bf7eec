"""`helix memory forget`"""

from __future__ import annotations

from ddx.console.screen import answer
from ddx.console.spec import JSON, Argument, Command
from helix.cli.memory.removal import show_removed
from helix.cli.memory.session import DRY_RUN, open_session


def run(*, names: tuple[str, ...], dry_run: bool, json: bool) -> int:
    from helix.memory.tending import forget

    with open_session(writes="forgetting memories") as session:
        done = forget(session.store, names, now=session.now, dry_run=dry_run)
    if json:
        answer(
            {
                "dry_run": dry_run,
                "forgotten": len(done.memories),
                "names": [memory.name for memory in done.memories],
                "remaining": done.remaining,
                "undo": done.undo,
            }
        )
    else:
        show_removed(done, dry_run=dry_run, verb="forgotten")
    return 0


COMMAND = Command(
    "memory forget",
    "Remove these memories.",
    run,
    "helix memory forget a-name another --dry-run",
    arguments=(Argument("names", "the memories' names", many=True),),
    flags=(DRY_RUN, JSON),
    schema="memory-forgotten",
)
