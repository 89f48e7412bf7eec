"""The front door of `ddx`: plain command lines run at once, all others are read by click (T-19)."""

from __future__ import annotations

import gc
import sys

from ddx.cli.registry import find_command
from ddx.console.guard import guarded
from ddx.console.spec import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is C-2's."""
    gc.disable()  # a command is over before the collector could earn its cost
    return guarded("ddx", lambda: run(sys.argv[1:] if words is None else words))


def run(words: Sequence[str]) -> int:
    found = find_command(words)
    if found is not None:
        command, rest = found
        values = parse(command, rest)
        if values is not None:
            return command.run(**values)
    from ddx.cli.full import run_with_click

    return run_with_click(words)
