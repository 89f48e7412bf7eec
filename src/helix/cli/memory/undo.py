"""`helix memory undo`"""

from __future__ import annotations

from ddx.console.screen import answer, say, when
from ddx.console.spec import JSON, Command
from helix.cli.memory.session import open_session, tell


def run(*, json: bool) -> int:
    from helix.memory.undoing import undo_last

    with open_session(writes="restoring memories") as session:
        done = undo_last(session.store, now=session.now)
    for name in done.kept:
        tell(f"{name} is here already and was left alone")
    if json:
        answer(
            {
                "command": done.command,
                "at": done.at,
                "restored": list(done.restored),
                "kept": list(done.kept),
                "file": done.file,
            }
        )
    else:
        at = when(done.at, now=session.now)
        say(f"{len(done.restored)} restored; {done.command} of {at} was taken back")
    return 0


COMMAND = Command(
    "memory undo",
    "Take the last prune, consolidate or forget back.",
    run,
    "helix memory undo",
    flags=(JSON,),
    schema="memory-undone",
)
