"""`helix trust`"""

from __future__ import annotations

import os

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError
from ddx.project import find_project
from ddx.trust import grant, revoke, trusted

_SAID = {  # (is trust taken away?, did that change anything?)
    (False, True): "is trusted now",
    (False, False): "is trusted already",
    (True, True): "is no longer trusted",
    (True, False): "was not trusted",
}


def run(*, list: bool, remove: bool, json: bool) -> int:
    if list and remove:
        raise UsageError("--list and --remove exclude each other")
    if not list:
        project = find_project(os.getcwd())
        changed = revoke(project) if remove else grant(project)
        if not json:
            say(f"{project.root} {_SAID[remove, changed]}")
    known = trusted()
    if json:
        answer(known if list else {"trusted": known})
    elif list:
        for folder in known or ["no repository is trusted"]:
            say(folder)
    return 0


COMMAND = Command(
    "trust",
    "Let commands of this repository run: its hooks, checks and set-up.",
    run,
    "helix trust",
    flags=(
        Flag("--list", "show what is trusted", kind="switch"),
        Flag("--remove", "trust this repository no longer", kind="switch"),
        JSON,
    ),
    schema="trust",
)
