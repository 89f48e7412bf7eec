"""`ddx bead create`"""

from __future__ import annotations

from ddx.cli.bead.fields import FIELD_FLAGS, given_fields, split
from ddx.cli.place import actor, tell
from ddx.cli.rows import changed_row
from ddx.cli.session import id_maker, open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import UsageError
from ddx.tracker.drafting import create

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def run(*, title: str | None, from_file: str | None, json: bool, **values: Any) -> int:
    tracker = open_tracker()
    drafts = _drafts(title, from_file, values)
    applied = tracker.change(
        lambda view, now: create(
            view, drafts, now=now, by=actor(), draw_id=id_maker(tracker.project)
        )
    )
    for remark in applied.remarks:
        tell(remark)
    if json:
        ids = list(applied.created)
        answer({"ids": ids, "beads": [changed_row(applied, bead_id) for bead_id in ids]})
    else:
        for bead_id in applied.created:
            say(bead_id)
    return 0


def _drafts(
    title: str | None, from_file: str | None, values: dict[str, Any]
) -> Sequence[Mapping[str, Any]]:
    if from_file is not None:
        if title is not None or any(given not in (None, (), False) for given in values.values()):
            raise UsageError("--from-file takes everything from the file: leave out the rest")
        from ddx.cli.bead.drafts_file import read_drafts

        return read_drafts(from_file)
    if title is None:
        raise UsageError("a bead needs a title", hint='for example: ddx bead create "Fix login"')
    return [
        {
            "title": title,
            **given_fields(values),
            "parent": values["parent"],
            "depends-on": split(values["depends_on"]),
            "replaces": split(values["replaces"]),
        }
    ]


COMMAND = Command(
    "bead create",
    "File a bead, or many from a file; prints the new ids.",
    run,
    "ddx bead create \"Throttle logins\" --type task --acceptance '`pytest -q` passes'",
    arguments=(Argument("title", "what is to be done, in a few words", required=False),),
    flags=(
        *FIELD_FLAGS,
        Flag("--from-file", "JSON, JSONL or YAML with many beads, `-` for stdin; all or nothing"),
        JSON,
    ),
    schema="bead-created",
)
