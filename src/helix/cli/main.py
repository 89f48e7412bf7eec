"""The front door of `helix`."""

from __future__ import annotations

import sys

from ddx.console.guard import guarded
from ddx.console.spec import parse
from helix.cli.registry import COMMANDS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is C-2's."""
    return guarded("helix", lambda: run(sys.argv[1:] if words is None else words))


def run(words: Sequence[str]) -> int:
    if words and words[0] in COMMANDS:
        command = load(words[0])
        values = parse(command, words[1:])
        if values is not None:
            return command.run(**values)
    from ddx.console.clicking import LazyGroup, run_group

    root = LazyGroup(
        "",
        "Run AI coding agents on your repository and trust what comes back.",
        commands_at=tuple(COMMANDS),
        groups={},
        load_command=load,
    )
    return run_group(root, "helix", words)
