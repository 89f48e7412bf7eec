"""Which module carries out which `helix` command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.console.spec import Command

COMMANDS = {
    "demo": "helix.cli.demo",
    "trust": "helix.cli.trust",
}


def load(path: str) -> Command:
    module = __import__(COMMANDS[path], fromlist=["COMMAND"])
    command: Command = module.COMMAND
    return command
