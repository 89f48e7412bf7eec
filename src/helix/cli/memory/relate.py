"""`helix memory relate`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.session import open_session


def run(*, type: str, json: bool, **ends: str) -> int:
    from helix.memory.relating import relate

    source, target = ends["from"], ends["to"]
    with open_session(writes="relating memories") as session:
        is_new = relate(session.store, source, target, type, now=session.now)
    status = "added" if is_new else "exists"
    if json:
        answer({"status": status, "from": source, "to": target, "type": type})
    else:
        say(f"{source} {type} {target}  ({status})")
    return 0


COMMAND = Command(
    "memory relate",
    "Say how one memory stands to another; recall may then bring both.",
    run,
    "helix memory relate --from a-name --to another --type solves",
    flags=(
        Flag("--from", "the one memory", required=True),
        Flag("--to", "the other memory", required=True),
        Flag("--type", "co_occurs, causes, solves or similar", required=True),
        JSON,
    ),
    schema="memory-related",
)
