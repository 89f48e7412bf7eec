"""`ddx bead create` and `ddx bead update`: what flags set, by the names that fields have."""

from __future__ import annotations

from ddx.base import UsageError, changed
from ddx.cli.context import actor, claimant, open_tracker, respond, tell
from ddx.console import FIELD_FLAGS, ID, IF_REVISION, JSON, Argument, Command, Flag, answer, say
from ddx.tracker import (
    BeadPatch,
    changed_fields,
    claim_bead,
    create_beads,
    created_rows,
    lifecycle,
    row_after,
    update_bead,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ddx.tracker import Row

_TEXTS = {
    "spec_id": "spec-id",
    **{name: name for name in ("description", "acceptance", "design", "notes")},
    "type": "issue_type",
}
_LISTS = ("labels", "refs", "paths", "verify")


def given_fields(values: dict[str, Any]) -> dict[str, Any]:
    """The fields that flags set, by the names they have in a row."""
    found = {name: values[key] for key, name in _TEXTS.items() if values[key] is not None}
    if values["priority"] is not None:
        found["priority"] = int(values["priority"])
    if values["execution_eligible"] is not None:
        found["execution-eligible"] = values["execution_eligible"] == "true"
    found |= {key: list(values[key]) for key in _LISTS if values[key]}
    for pair in values["set"]:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--set wants name=value, not {pair!r}")
        found[name.strip()] = {"true": True, "false": False}.get(text, text)
    return found


@Command.of(
    example="ddx bead create \"Throttle logins\" --type task --acceptance '`pytest -q` passes'",
    arguments=(Argument("title", "what is to be done, in a few words", required=False),),
    flags=(
        *FIELD_FLAGS,
        Flag("--from-file", "JSON, JSONL or YAML with many beads, `-` for stdin; all or nothing"),
        JSON,
    ),
    schema="bead-created",
)
def create(*, title: str | None, from_file: str | None, json: bool, **values: Any) -> int:
    """File a bead, or many from a file; prints the new ids."""
    tracker = open_tracker()
    applied = create_beads(tracker, _drafts(title, from_file, values), by=actor())
    for remark in applied.remarks:
        tell(remark)
    return respond(created_rows(applied) if json else None, *applied.created, json=json)


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
    links = {
        "parent": values["parent"],
        "depends-on": list(values["depends_on"]),
        "replaces": list(values["replaces"]),
    }
    return [{"title": title, **given_fields(values), **links}]


@Command.of(
    example="ddx bead update app-1a2b3c4d --priority 1 --add-label area:login",
    arguments=(ID,),
    flags=(
        Flag("--title", "what is to be done"),
        *FIELD_FLAGS,
        Flag("--add-label", "one more label; may be given several times", many=True, joined=True),
        Flag(
            "--remove-label",
            "take a label away; may be given several times",
            many=True,
            joined=True,
        ),
        Flag("--append-notes", "a line to add to the notes"),
        Flag("--unset", "take a field away; may be given several times", many=True, joined=True),
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
def update(
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
    """Change a bead's fields, claim it, or set it free."""
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
    before = tracker.snapshot().find(id) or {}
    if claim:
        who = claimant(owner, tracker.project)
        applied = claim_bead(
            tracker, id, who, claim_id=claim_id or "", if_revision=if_revision or ""
        )
    elif unclaim:
        applied = tracker.change(
            lambda view, now: lifecycle.unclaim(view, id, claim_id=claim_id or "", now=now),
            expect={id: if_revision} if if_revision else None,
        )
    else:
        applied = update_bead(tracker, id, patch, by=actor(), if_revision=if_revision or "")
    for remark in applied.remarks:
        tell(remark)
    if json:
        answer(row_after(tracker, applied, id))
    else:
        say(_sentence(id, before, applied.rows.get(id)))
    return 0


def _patch(values: dict[str, Any]) -> BeadPatch:
    fields = given_fields(values)
    if values["title"] is not None:
        fields["title"] = values["title"]
    patch = BeadPatch(
        fields,
        unset=values["unset"],
        add_labels=values["add_label"],
        remove_labels=values["remove_label"],
        append_notes=values["append_notes"] or "",
        parent=values["parent"],
        replaces=values["replaces"],
    )
    return changed(patch, depends_on=values["depends_on"]) if values["depends_on"] else patch


def _sentence(bead_id: str, old: Row, new: Row | None) -> str:
    if not new:
        return f"{bead_id} is unchanged"
    if old.get("status") != "in_progress" and new.get("status") == "in_progress":
        return f"{bead_id} is claimed by {new['owner']} (claim {new['claim-id']})"
    if old.get("status") == "in_progress" and new.get("status") == "open":
        return f"{bead_id} is free again"
    return f"{bead_id}: changed {', '.join(changed_fields(old, new)) or 'nothing'}"
