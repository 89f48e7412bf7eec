"""`ddx config show`"""

from __future__ import annotations

from ddx.cli.place import here, settings
from ddx.console.configuration import FLAGS, show_settings
from ddx.console.spec import Command


def run(*, origin: bool, json: bool) -> int:
    found = settings(here())
    show_settings(found.found, found.origins, origin=origin, json=json)
    return 0


COMMAND = Command(
    "config show",
    "Show the settings of this project.",
    run,
    "ddx config show --origin",
    flags=FLAGS,
    schema="config",
)
