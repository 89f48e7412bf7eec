"""`helix config show`"""

from __future__ import annotations

import os

from ddx.clock import SYSTEM_CLOCK
from ddx.console.configuration import FLAGS, show_settings
from ddx.console.spec import Command
from ddx.project import find_project
from helix.settings import read_helix_settings
from helix.slider import read_slider

_SLIDER = "slider."


def run(*, origin: bool, json: bool) -> int:
    """Both files of the policy; the keys of slider-config.yaml under that word."""
    project = find_project(os.getcwd())
    policy = read_helix_settings(project, clock=SYSTEM_CLOCK)
    slider = read_slider(project, clock=SYSTEM_CLOCK)
    found, origins = (
        {**ours, **{f"{_SLIDER}{name}": it for name, it in theirs.items()}}
        for ours, theirs in ((policy.found, slider.found), (policy.origins, slider.origins))
    )
    show_settings(found, origins, origin=origin, json=json)
    return 0


COMMAND = Command(
    "config show",
    "Show the policy's settings: .helix/config.yaml and, as slider.*, slider-config.yaml.",
    run,
    "helix config show --origin",
    flags=FLAGS,
    schema="helix-config",
)
