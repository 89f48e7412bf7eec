"""`ddx bead supersede`"""

from __future__ import annotations

from ddx.cli.bead.fields import split
from ddx.cli.bead.transition import finish
from ddx.cli.place import actor
from ddx.cli.session import open_tracker
from ddx.console.spec import ID, IF_REVISION, JSON, REASON, Command, Flag
from ddx.errors import UsageError
from ddx.text import listed
from ddx.tracker.lifecycle import supersede


def run(*, id: str, by: tuple[str, ...], reason: str, if_revision: str | None, json: bool) -> int:
    replacements = tuple(split(by))
    if not replacements:
        raise UsageError("--by names the bead that takes the place")
    tracker = open_tracker()
    applied = tracker.change(
        lambda view, now: supersede(
            view, id, by=replacements, reason=reason, actor=actor(), now=now
        ),
        expect={id: if_revision} if if_revision else None,
    )
    done = f"{id} is superseded by {listed(replacements)}"
    return finish(tracker, applied, id, done, json=json)


COMMAND = Command(
    "bead supersede",
    "Put other beads in the place of one; what waited for it waits for them.",
    run,
    'ddx bead supersede app-1a2b3c4d --by app-5e6f7a8b --reason "split in two"',
    arguments=(ID,),
    flags=(
        Flag("--by", "the replacement; several by commas or repeated", many=True, required=True),
        REASON,
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
