"""The flags that set a bead's fields, shared by create and update."""

from __future__ import annotations

from ddx.console.spec import Flag
from ddx.errors import UsageError
from ddx.tracker.model import PRIORITIES, TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELD_FLAGS = (
    Flag("--type", "what kind of work", kind="choice", choices=TYPES),
    Flag(
        "--priority",
        "0 is first, 4 is last",
        kind="choice",
        choices=tuple(map(str, PRIORITIES)),
    ),
    Flag("--labels", "labels, separated by commas", many=True),
    Flag("--parent", "the bead that this one is part of"),
    Flag("--depends-on", "beads that must be closed first, separated by commas", many=True),
    Flag("--spec-id", "the document that governs it, for example FEAT-001"),
    Flag("--refs", "further documents, separated by commas", many=True),
    Flag("--paths", "files and folders that it is about, separated by commas", many=True),
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
    Flag("--replaces", "beads that this one supersedes, separated by commas", many=True),
    Flag("--set", "any other field, as name=value; may be given several times", many=True),
)
_TEXTS = {
    "spec_id": "spec-id",
    "description": "description",
    "acceptance": "acceptance",
    "design": "design",
    "notes": "notes",
}


def split(given: tuple[str, ...]) -> list[str]:
    """Values that may be repeated and joined by commas."""
    return [word for text in given for part in text.split(",") if (word := part.strip())]


def given_fields(values: dict[str, Any]) -> dict[str, Any]:
    """The fields that flags set, by the names they have in a row."""
    found: dict[str, Any] = {}
    for key, name in _TEXTS.items():
        if values[key] is not None:
            found[name] = values[key]
    if values["type"] is not None:
        found["issue_type"] = values["type"]
    if values["priority"] is not None:
        found["priority"] = int(values["priority"])
    if values["execution_eligible"] is not None:
        found["execution-eligible"] = values["execution_eligible"] == "true"
    for key in ("labels", "refs", "paths"):
        if values[key]:
            found[key] = split(values[key])
    if values["verify"]:
        found["verify"] = list(values["verify"])
    for pair in values["set"]:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set wants name=value, not {pair!r}")
        found[name.strip()] = {"true": True, "false": False}.get(text, text)
    return found
