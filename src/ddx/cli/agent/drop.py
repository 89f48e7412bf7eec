"""`ddx agent drop`"""

from __future__ import annotations

from ddx.cli.agent.finding import find_landable
from ddx.cli.place import here
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.errors import NotFound


def run(*, attempt: str, json: bool) -> int:
    from ddx.environment import refuse_inside_an_attempt
    from ddx.execution.keeping import find_kept, forget_kept

    project = here()
    refuse_inside_an_attempt(project, what="dropping what is kept")
    attempt = find_landable(project, attempt)
    kept = find_kept(project, attempt)
    if kept is None:
        raise NotFound(f"nothing of attempt {attempt} is kept", hint="see: ddx agent attempts")
    forget_kept(project, attempt)
    if json:
        answer({"attempt": attempt, "ref": kept.ref, "commit": kept.commit})
    else:
        say(f"dropped {kept.ref}; until git cleans up, its commit is {kept.commit[:12]}")
    return 0


COMMAND = Command(
    "agent drop",
    "Let go of what an attempt left at its ref.",
    run,
    "ddx agent drop 20260102T030405-1a2b3c",
    arguments=(Argument("attempt", "its id, or a part of it that no other begins with"),),
    flags=(JSON,),
    schema="agent-dropped",
)
