"""`ddx bead merge`"""

from __future__ import annotations

import os

from ddx.cli.place import tell
from ddx.console.screen import say
from ddx.console.spec import Argument, Command
from ddx.errors import CorruptFile, DdxError, NeedsPerson
from ddx.tracker.merge_files import merge_files


def run(*, base: str, ours: str, theirs: str) -> int:
    try:
        return _merge(*map(os.path.abspath, (base, ours, theirs)))
    except (DdxError, OSError) as problem:
        # Exit 1 would tell git that OURS holds both sides now; any other makes it merge by lines.
        raise NeedsPerson(f"nothing was merged: {problem}") from problem


def _merge(base: str, ours: str, theirs: str) -> int:
    try:
        merged = merge_files(base, ours, theirs, draw=lambda: os.urandom(4).hex())
    except CorruptFile as problem:
        from ddx.git import merge_file

        say(f"{problem.message}; merging line by line instead")
        return 0 if merge_file(ours, base, theirs) else 1
    for renamed in merged.renamed:
        tell(f"both sides filed {renamed.old}: theirs is {renamed.new} now")
    for conflict in merged.conflicts:
        say(f"{conflict.bead}: both sides changed {conflict.field}")
    if merged.conflicts:
        tell("our values stand; settle each one: ddx bead resolve ID --field F --take ours|theirs")
    return 1 if merged.conflicts else 0


COMMAND = Command(
    "bead merge",
    "Merge three versions of a tracker file by bead and field into OURS; git calls this.",
    run,
    "ddx bead merge base.jsonl ours.jsonl theirs.jsonl",
    arguments=(
        Argument("base", "the version both sides began with"),
        Argument("ours", "our version; the result is written here"),
        Argument("theirs", "their version"),
    ),
)
