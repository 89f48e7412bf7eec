"""The commands that beads of a story are proven by, and what each says of some files."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.git_fake import UnknownCommand


def passes(command: str, has: Callable[[str], bool]) -> bool:
    """What a check says of files; the commands that beads of a story are proven by."""
    match command.split():
        case ["true"]:
            return True
        case ["false"]:
            return False
        case ["test", "-e", path]:
            return has(path)
    raise UnknownCommand(command)
