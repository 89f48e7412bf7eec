"""`ddx config show`"""

from __future__ import annotations

from ddx.cli.place import here, settings
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag


def run(*, origin: bool, json: bool) -> int:
    found = settings(here())
    if json:
        answer(
            {
                name: {"value": _plain(given), "origin": found.origins[name]}
                for name, given in found.found.items()
            }
        )
    elif origin:
        table(
            ("setting", "from", "value"),
            [(name, found.origins[name], _spoken(given)) for name, given in found.found.items()],
        )
    else:
        for name, given in found.found.items():
            say(f"{name}: {_spoken(given)}")
    return 0


def _plain(given: object) -> object:
    return list(given) if isinstance(given, tuple) else given


def _spoken(given: object) -> str:
    if isinstance(given, list | tuple):
        return "; ".join(map(str, given)) or "none"
    return str(given) or "none"


COMMAND = Command(
    "config show",
    "Show the settings of this project.",
    run,
    "ddx config show --origin",
    flags=(Flag("--origin", "where each one comes from", kind="switch"), JSON),
    schema="config",
)
