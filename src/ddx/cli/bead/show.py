"""`ddx bead show` and `ddx bead why`: one bead whole, and why it stands as it does."""

from __future__ import annotations

from ddx.base import listed
from ddx.cli.context import CLOCK, open_tracker
from ddx.console import ID, JSON, Argument, Command, answer, bold, dim, excerpt, say, when
from ddx.tracker import (
    cure_of,
    explain,
    full_row,
    holder_of,
    labels_of,
    queue_context,
    rule_of,
    status_of,
    text_of,
    texts_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker import BeadExplanation, Row

_TEXTS = ("description", "acceptance", "design", "notes")
_LINES = ("spec-id", "parent", "superseded-by", "replaces", "close_reason", "closing_commit_sha")


@Command.of(
    example="ddx bead show app-1a2b3c4d --json",
    arguments=(Argument("id", "one or more bead ids", many=True),),
    flags=(JSON,),
    schema="bead-shown",
)
def show(*, id: tuple[str, ...], json: bool) -> int:
    """Show beads whole: fields, readiness, children, what waits for them."""
    tracker = open_tracker()
    view = tracker.snapshot()
    around = queue_context(tracker)
    beads = [full_row(tracker, view, bead_id, around) for bead_id in dict.fromkeys(id)]
    if json:
        answer(beads[0] if len(beads) == 1 else beads)
        return 0
    for number, bead in enumerate(beads):
        if number:
            say()
        _print_bead(bead)
    return 0


def _print_bead(bead: Row) -> None:
    status = status_of(bead)
    if status == "in_progress":
        status = f"in progress, held by {holder_of(bead)}"
    place = "in the archive, " if bead["archived"] else ""
    say(bold(bead["id"]), "  ", text_of(bead, "title"))
    say(
        f"{place}{status}, {text_of(bead, 'issue_type') or 'task'}, priority {bead.get('priority')}"
    )
    if labels_of(bead):
        say(f"labels: {', '.join(labels_of(bead))}")
    for name in _LINES:
        if text_of(bead, name):
            say(f"{name.replace('_', ' ')}: {text_of(bead, name)}")
    for name in ("refs", "verify"):
        for text in texts_of(bead, name):
            say(f"{name}: {text}")
    for held in bead["blockers"]:
        say(f"blocked ({held['kind']}): {held['reason']}")
    if bead["children"]:
        say(f"children: {', '.join(bead['children'])}")
    if bead["dependents"]:
        say(f"waited for by: {', '.join(bead['dependents'])}")
    for name in _TEXTS:
        if text_of(bead, name):
            say("\n", dim(name), "\n", excerpt(text_of(bead, name)))
    if bead.get("events"):
        say("\n", dim("events"), f"  {len(bead['events'])}: ddx bead events {bead['id']}")
    updated = when(text_of(bead, "updated_at"), now=CLOCK.stamp())
    say("\n", dim(f"revision {bead['revision']}, updated {updated}"))


@Command.of(example="ddx bead why app-1a2b3c4d", arguments=(ID,), flags=(JSON,), schema="bead-why")
def why(*, id: str, json: bool) -> int:
    """Say why a bead is ready, blocked, not picked or not closable, and by which rule."""
    tracker = open_tracker()
    found = explain(tracker.snapshot(), id, queue_context(tracker))
    if json:
        answer(_standing_as_json(found))
    else:
        _print_standing(found)
    return 0


def _standing_as_json(found: BeadExplanation) -> dict[str, object]:
    return {
        "id": found.bead_id,
        "standing": found.standing,
        "queue_place": found.place or None,
        "picked_before_it": list(found.ahead),
        "blockers": [
            {
                "kind": held.kind,
                "rule": rule_of(held),
                "ids": list(held.ids),
                "reason": held.reason,
                "next_eligible_at": held.next_eligible_at or None,
                "cure": cure_of(found.bead_id, held),
            }
            for held in found.blockers
        ],
        "closable": not found.not_closable,
        "not_closable": found.not_closable or None,
    }


def _print_standing(found: BeadExplanation) -> None:
    match found.standing:
        case "ready" if found.place == 1:
            say(f"{found.bead_id} is ready and will be picked next (T-16)")
        case "ready":
            first = listed(found.ahead[:3])
            more = f" and {len(found.ahead) - 3} more" if len(found.ahead) > 3 else ""
            say(f"{found.bead_id} is ready, number {found.place} in the queue (D-12)")
            say(f"  picked before it: {first}{more}")
        case "blocked":
            say(f"{found.bead_id} is not ready for execution")
        case _:
            say(f"{found.bead_id} is finished")
    for held in found.blockers:
        say(f"  {held.kind} ({rule_of(held)}): {held.reason}")
        if cure := cure_of(found.bead_id, held):
            say(f"    {cure}")
    if found.standing != "finished" and found.not_closable:
        say(f"  it cannot be closed yet: it {found.not_closable}")
