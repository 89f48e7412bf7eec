"""`helix config show` and `helix trust`: what holds in this repository, and may it run."""

from __future__ import annotations

import os

from ddx.base import Clock, UsageError
from ddx.console import JSON, Command, Flag, answer, say, settings_command
from ddx.project import find_project, trusted
from helix.project import read_helix_settings, read_slider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _read() -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Both files of the policy; the keys of slider-config.yaml under that word."""
    project = find_project(os.getcwd())
    policy = read_helix_settings(project, clock=Clock())
    slider = read_slider(project, clock=Clock())
    found, origins = (
        {**ours, **{f"slider.{name}": it for name, it in theirs.items()}}
        for ours, theirs in ((policy.found, slider.found), (policy.origins, slider.origins))
    )
    return found, origins


CONFIG_SHOW = settings_command(
    "helix",
    "Show the policy's settings: .helix/config.yaml and, as slider.*, slider-config.yaml.",
    _read,
    schema="helix-config",
)


_SAID = {  # (is trust taken away?, did that change anything?)
    (False, True): "is trusted now",
    (False, False): "is trusted already",
    (True, True): "is no longer trusted",
    (True, False): "was not trusted",
}


@Command.of(
    example="helix trust",
    flags=(
        Flag("--list", "show what is trusted", "switch"),
        Flag("--remove", "trust this repository no longer", "switch"),
        JSON,
    ),
    schema="trust",
)
def trust(*, list: bool, remove: bool, json: bool) -> int:
    """Let commands of this repository run: its hooks, checks and set-up."""
    if list and remove:
        raise UsageError("--list and --remove exclude each other")
    if not list:
        project = find_project(os.getcwd())
        changed = project.revoke_trust() if remove else project.grant_trust()
        if not json:
            say(f"{project.root} {_SAID[remove, changed]}")
    known = trusted()
    if json:
        answer(known if list else {"trusted": known})
    elif list:
        for folder in known or ["no repository is trusted"]:
            say(folder)
    return 0
