"""The same commands through click: help, completion, and every mistake explained."""

from __future__ import annotations

from collections.abc import Sequence

from ddx.cli.registry import COMMANDS, GROUPS, load
from ddx.console.clicking import LazyGroup, run_group


def run_with_click(words: Sequence[str]) -> int:
    root = LazyGroup(
        "",
        "A tracker of beads for people and agents, kept in your repository.",
        commands_at=tuple(COMMANDS),
        groups=GROUPS,
        load_command=load,
    )
    return run_group(root, "ddx", words)
