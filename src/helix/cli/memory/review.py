"""`helix memory review`"""

from __future__ import annotations

from ddx.console.screen import answer, bold, dim, say, when
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.session import Session, open_session, say_indented, tell


def run(*, accept: int | None, drop: int | None, json: bool) -> int:
    from helix.memory.reviewing import all_held

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


def _decide(session: Session, accept: int | None, drop: int | None) -> None:
    from helix.memory.reviewing import accept_held, drop_held

    if accept is not None:
        name = accept_held(session.store, accept, session.wits(), now=session.now)
        tell(f"{accept} was accepted as {name}")
    if drop is not None:
        drop_held(session.store, drop)
        tell(f"{drop} was dropped")


COMMAND = Command(
    "memory review",
    "List what was held back because it may carry orders or secrets; accept or drop it.",
    run,
    "helix memory review",
    flags=(
        Flag("--accept", "store the one with this number after all", kind="number"),
        Flag("--drop", "remove the one with this number", kind="number"),
        JSON,
    ),
    schema="memory-review",
)
