"""`ddx bead import` and `ddx bead export`: beads of other trackers, and beads for them."""

from __future__ import annotations

import os
import sys

from ddx.base import CorruptFile, NotFound, UsageError, replace
from ddx.cli.context import open_tracker, settings, tell
from ddx.console import JSON, Argument, Command, Flag, answer, say, write
from ddx.tracker import (
    FORMATS,
    AllBeads,
    ChangeSet,
    ImportedRows,
    ImportPlan,
    events_of,
    health,
    id_prefix,
    merge_incoming,
    parse,
    render,
    status_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker import Snapshot, Tracker

_USUAL_PLACES = {
    "bd": ".beads/issues.jsonl",
    "br": ".beads/issues.jsonl",
    "helix-legacy": ".helix/issues.jsonl",
}
_SHOWN_NOTES = 20
_LOUDEST = ("changed", "skipped", "mapped", "kept")


@Command.of(
    example="ddx bead import --from bd .beads/issues.jsonl --dry-run",
    arguments=(Argument("file", "the file to read, `-` for stdin", required=False),),
    flags=(
        Flag("--from", "its format", kind="choice", choices=FORMATS, required=True),
        Flag("--dry-run", "only say what would happen", kind="switch"),
        JSON,
    ),
    schema="bead-imported",
)
def import_beads(*, file: str | None, dry_run: bool, json: bool, **values: str) -> int:
    """Take beads over from another tracker; what is here already is never overwritten."""
    tracker = open_tracker()
    format = values["from"]
    incoming = _read(tracker, file, format)
    found: dict[str, ImportPlan] = {}

    def decide(view: Snapshot, now: str) -> ChangeSet:
        found["plan"] = merge_incoming(incoming, AllBeads(tracker, view))
        return _changes(found["plan"])

    if dry_run:
        decide(tracker.snapshot(), "")
    else:
        tracker.change(decide)
        _tell_rings(tracker)
    _report(found["plan"], dry_run=dry_run, json=json)
    return 0


def _changes(plan: ImportPlan) -> ChangeSet:
    """The new rows; the events of closed ones go where such events are kept (T-6)."""
    closed = {row["id"]: events_of(row) for row in plan.new if status_of(row) == "closed"}
    put = {
        row["id"]: {key: row[key] for key in row if key != "events" or row["id"] not in closed}
        for row in plan.new
    }
    attached = {bead_id: events for bead_id, events in closed.items() if events}
    return ChangeSet(put, attached=attached)


def _tell_rings(tracker: Tracker) -> None:
    """A ring comes in as it is: cutting it would be a guess, and nothing else may wait for that."""
    for item in health(tracker.snapshot()):
        if item.is_error:
            tell(f"{item.where}: {item.what}")


def _read(tracker: Tracker, file: str | None, format: str) -> ImportedRows:
    usual = _USUAL_PLACES.get(format)
    if file is None and usual is None:
        raise UsageError(f"which file? there is no usual place for {format}")
    place = file or f"{tracker.project.root}/{usual}"
    try:
        if place == "-":
            text = sys.stdin.buffer.read().decode("utf-8")
        else:
            with open(place, encoding="utf-8") as source:
                text = source.read()
    except FileNotFoundError:
        raise NotFound(f"there is no file {place}", hint="name it: ddx bead import FILE") from None
    except UnicodeDecodeError as problem:
        raise CorruptFile(f"{place} is not UTF-8 at byte {problem.start + 1}") from None
    prefix = id_prefix(settings(tracker.project).bead_prefix or tracker.project.name)
    return parse(text, format=format, prefix=prefix)


def _report(plan: ImportPlan, *, dry_run: bool, json: bool) -> None:
    if json:
        answer(
            {
                "dry_run": dry_run,
                "new": [row["id"] for row in plan.new],
                "same": list(plan.same),
                "clashes": list(plan.clashes),
                "notes": [note.__dict__ for note in plan.notes],
            }
        )
        return
    notes = sorted(plan.notes, key=lambda note: _LOUDEST.index(note.kind))
    for note in notes[:_SHOWN_NOTES]:
        tell(f"{note.id}: {note.kind} {note.field}: {note.detail}")
    if len(notes) > _SHOWN_NOTES:
        tell(f"{len(notes) - _SHOWN_NOTES} more notes: add --json to see them all")
    for bead_id in plan.clashes:
        tell(f"{bead_id} is here already with other content and was left alone")
    done = "would be imported" if dry_run else "imported"
    say(
        f"{len(plan.new)} beads {done}, {len(plan.same)} were here already, "
        f"{len(plan.clashes)} clashed"
    )


@Command.of(
    example="ddx bead export --to bd issues.jsonl",
    arguments=(Argument("file", "the file to write; none or `-`: stdout", required=False),),
    flags=(Flag("--to", "its format", kind="choice", choices=FORMATS, default="jsonl"),),
)
def export_beads(*, file: str | None, to: str) -> int:
    """Write every bead, archive and events included, in the form of another tracker."""
    rows = AllBeads(open_tracker())
    text = render(rows.values(), format=to).encode("utf-8")
    if file is None or file == "-":
        write(text)
    else:
        replace(os.path.abspath(file), (text,))
        say(f"{len(rows)} beads written to {file}")
    return 0
