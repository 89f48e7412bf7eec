"""The front door of `ddx`."""

from __future__ import annotations

import gc

from ddx.cli.registry import PROGRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is C-2's."""
    gc.disable()  # a command is over before the collector could earn its cost
    return PROGRAM.main(words)
