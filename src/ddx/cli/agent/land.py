"""`ddx agent land`"""

from __future__ import annotations

from ddx.cli.agent.finding import find_landable
from ddx.cli.place import here
from ddx.console.spec import JSON, Argument, Command


def run(*, attempt: str, json: bool) -> int:
    from ddx.cli.agent.drain_session import land

    project = here()
    return land(project, find_landable(project, attempt), json=json)


COMMAND = Command(
    "agent land",
    "Land what an attempt left at its ref, if it passes its checks now, and close its beads.",
    run,
    "ddx agent land 20260102T030405-1a2b3c",
    arguments=(Argument("attempt", "its id, or a part of it that no other begins with"),),
    flags=(JSON,),
    schema="agent-outcome",
)
