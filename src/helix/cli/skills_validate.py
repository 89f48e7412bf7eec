"""`helix skills validate`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command

SOMETHING_FOUND = 1


def run(*, root: str | None, json: bool) -> int:
    import os

    from ddx import __version__
    from ddx.errors import NotFound
    from helix.cli.registry import words
    from helix.installing.skills import validate_skills
    from helix.resources import plugin_root

    place = os.path.abspath(root or plugin_root())
    if not os.path.isdir(os.path.join(place, "skills")):
        raise NotFound(f"there is no folder skills in {place}", hint="helix skills validate ROOT")
    faults = validate_skills(place, commands=words(), version=__version__)
    if json:
        answer({"root": place, "faults": [dict(fault.__dict__) for fault in faults]})
    else:
        for fault in faults:
            say(f"{os.path.relpath(fault.path, place)}: {fault.what}")
            say(f"  -> {fault.cure}")
        if not faults:
            say(f"the skills in {place} are sound")
    return SOMETHING_FOUND if faults else 0


COMMAND = Command(
    "skills validate",
    "Look whether the skills can be loaded and name only what exists (exit 1 if not).",
    run,
    "helix skills validate",
    arguments=(Argument("root", "the plugin's folder; without it our own", required=False),),
    flags=(JSON,),
    schema="helix-skills",
)
