"""`helix memory store`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.session import open_session, split_paths, tell

REJECTED = 1


def run(
    *,
    trigger: str,
    resolution: str,
    type: str,
    source: str | None,
    files: str | None,
    json: bool,
) -> int:
    from helix.memory.model import Draft
    from helix.memory.storing import Added, Merged, Rejected, store_memory

    draft = Draft(type, trigger, resolution, source or "", split_paths(files))
    with open_session(writes="storing memories") as session:
        stored = store_memory(session.store, draft, session.wits(), now=session.now)
    match stored:
        case Added(memory=memory):
            row = {"status": "added", "name": memory.name, "reason": ""}
        case Merged(memory=memory, reason=reason):
            row = {"status": "merged", "name": memory.name, "reason": reason}
        case Rejected(reason=reason):
            row = {"status": "rejected", "name": "", "reason": reason}
    if json:
        answer(row)
    elif row["name"]:
        said = f"  ({row['status']}: {row['reason']})" if row["reason"] else ""
        say(f"{row['name']}{said}")
    if row["status"] != "rejected":
        return 0
    tell(f"not stored: {row['reason']}")
    if isinstance(stored, Rejected) and stored.is_held:
        tell("look at it: helix memory review")
    return REJECTED


COMMAND = Command(
    "memory store",
    "Store what was learned: when it applies, and what to do then.",
    run,
    'helix memory store --trigger "Login test fails at night" --resolution "Freeze the clock"',
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
