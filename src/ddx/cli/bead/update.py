"""`ddx bead update`"""

from __future__ import annotations

from ddx.cli.bead.fields import FIELD_FLAGS, given_fields, split
from ddx.cli.place import actor, tell
from ddx.cli.rows import row_after
from ddx.cli.session import claimant, new_claim_id, open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import ID, IF_REVISION, JSON, Command, Flag
from ddx.errors import UsageError
from ddx.tracker import lifecycle
from ddx.tracker.journal import changed_fields
from ddx.tracker.updating import Patch, update
from ddx.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker
    from ddx.tracker.working import Changes


def run(
    *,
    id: str,
    claim: bool,
    unclaim: bool,
    owner: str | None,
    claim_id: str | None,
    if_revision: str | None,
    json: bool,
    **values: Any,
) -> int:
    patch = _patch(values)
    if claim and unclaim:
        raise UsageError("--claim and --unclaim exclude each other")
    if owner is not None and not claim:
        raise UsageError("--owner goes with --claim")
    if (claim or unclaim) and not patch.is_empty:
        raise UsageError("a claim is a change of its own: update the fields in another command")
    if patch.is_empty and not claim and not unclaim:
        raise UsageError("nothing to update", hint="see the fields: ddx bead update --help")
    tracker = open_tracker()
    before: dict[str, Row] = {}
    wanted = _decision(
        tracker, id, patch, claim=claim, unclaim=unclaim, owner=owner, claim_id=claim_id
    )

    def decide(view: Snapshot, now: str) -> Changes:
        before["row"] = view.row(id)
        return wanted(view, now)

    applied = tracker.change(decide, expect={id: if_revision} if if_revision else None)
    for remark in applied.remarks:
        tell(remark)
    row = applied.rows.get(id)
    if json:
        answer(row_after(tracker, applied, id))
    elif row:
        say(_sentence(before["row"], row))
    else:
        say(f"{id} is unchanged")
    return 0


def _decision(
    tracker: Tracker,
    bead_id: str,
    patch: Patch,
    *,
    claim: bool,
    unclaim: bool,
    owner: str | None,
    claim_id: str | None,
) -> Callable[[Snapshot, str], Changes]:
    if claim:
        who = claimant(owner, tracker.project)
        ticket = claim_id or new_claim_id()
        return lambda view, now: lifecycle.claim(view, bead_id, who, claim_id=ticket, now=now)
    if unclaim:
        return lambda view, now: lifecycle.unclaim(view, bead_id, claim_id=claim_id or "", now=now)
    return lambda view, now: update(view, bead_id, patch, now=now, by=actor())


def _patch(values: dict[str, Any]) -> Patch:
    fields = given_fields(values)
    if values["title"] is not None:
        fields["title"] = values["title"]
    patch = Patch(
        fields,
        unset=tuple(split(values["unset"])),
        add_labels=tuple(split(values["add_label"])),
        remove_labels=tuple(split(values["remove_label"])),
        append_notes=values["append_notes"] or "",
        parent=values["parent"],
        replaces=tuple(split(values["replaces"])),
    )
    if values["depends_on"]:
        return changed(patch, depends_on=tuple(split(values["depends_on"])))
    return patch


def _sentence(old: Row, new: Row) -> str:
    if old.get("status") != "in_progress" and new.get("status") == "in_progress":
        return f"{new['id']} is claimed by {new['owner']} (claim {new['claim-id']})"
    if old.get("status") == "in_progress" and new.get("status") == "open":
        return f"{new['id']} is free again"
    return f"{new['id']}: changed {', '.join(changed_fields(old, new)) or 'nothing'}"


COMMAND = Command(
    "bead update",
    "Change a bead's fields, claim it, or set it free.",
    run,
    "ddx bead update app-1a2b3c4d --priority 1 --add-label area:login",
    arguments=(ID,),
    flags=(
        Flag("--title", "what is to be done"),
        *FIELD_FLAGS,
        Flag("--add-label", "one more label; may be given several times", many=True),
        Flag("--remove-label", "take a label away; may be given several times", many=True),
        Flag("--append-notes", "a line to add to the notes"),
        Flag("--unset", "take a field away; may be given several times", many=True),
        Flag("--claim", "make it yours; exit 5 if someone holds it", kind="switch"),
        Flag(
            "--owner", "with --claim: the holder's name; `helix` marks a runner", also="--assignee"
        ),
        Flag("--unclaim", "set it free", kind="switch"),
        Flag("--claim-id", "with --claim: use this ticket; with --unclaim: it must still hold"),
        IF_REVISION,
        JSON,
    ),
    schema="bead-changed",
)
