"""The flags that set a bead's fields, the same for every command that files or changes one."""

from __future__ import annotations

from ddx.console.command import Flag
from ddx.tracker import PRIORITIES, TYPES

FIELD_FLAGS = (
    Flag("--type", "what kind of work", kind="choice", choices=TYPES),
    Flag("--priority", "0 is first, 4 is last", kind="choice", choices=tuple(map(str, PRIORITIES))),
    Flag("--labels", "labels, separated by commas", many=True, joined=True),
    Flag("--parent", "the bead that this one is part of"),
    Flag(
        "--depends-on",
        "beads that must be closed first, separated by commas",
        many=True,
        joined=True,
    ),
    Flag("--spec-id", "the document that governs it, for example FEAT-001"),
    Flag("--refs", "further documents, separated by commas", many=True, joined=True),
    Flag(
        "--paths", "files and folders that it is about, separated by commas", many=True, joined=True
    ),
    Flag("--description", "what and why"),
    Flag("--acceptance", "how to see that it is done; name a command that passes"),
    Flag("--design", "how it is to be built"),
    Flag("--notes", "notes; replaces those that are there"),
    Flag("--verify", "a command that must exit 0; may be given several times", many=True),
    Flag(
        "--execution-eligible",
        "may an agent be handed this bead",
        kind="choice",
        choices=("true", "false"),
    ),
    Flag(
        "--replaces", "beads that this one supersedes, separated by commas", many=True, joined=True
    ),
    Flag("--set", "any other field, as name=value; may be given several times", many=True),
)


def field_flags(*names: str) -> tuple[Flag, ...]:
    """Those of the flags that a command takes, in their usual order."""
    return tuple(flag for flag in FIELD_FLAGS if flag.name in names)
