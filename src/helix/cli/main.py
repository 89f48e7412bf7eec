"""The front door of `helix`."""

from __future__ import annotations

import sys

from ddx.console.guard import guarded
from ddx.console.spec import parse
from helix.cli.registry import COMMANDS, GROUPS, SECTIONS, find_command, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code is C-2's."""
    return guarded("helix", lambda: run(sys.argv[1:] if words is None else words))


def run(words: Sequence[str]) -> int:
    found = find_command(words)
    if found is not None:
        command, rest = found
        values = parse(command, rest)
        if values is not None:
            return command.run(**values)
    if list(words) == ["--version"]:
        return _tell_version()
    from ddx.console.clicking import LazyGroup, click_command, names_below, run_click, run_group

    if found is not None:
        shown = click_command(command, below=names_below(command.path, COMMANDS))
        return run_click(shown, f"helix {command.path}", rest)
    root = LazyGroup(
        "",
        "Run AI coding agents on your repository and trust what comes back.",
        commands_at=tuple(COMMANDS),
        groups={name: what for name, what in GROUPS.items() if name not in COMMANDS},
        load_command=load,
        sections=SECTIONS,
    )
    return run_group(root, "helix", words)


def _tell_version() -> int:
    """Asked by scripts and by other programs all day: without click (C-7)."""
    from ddx.console.version import version_of

    print(version_of("helix"))
    return 0
