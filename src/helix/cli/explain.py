"""`helix explain`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.tracker.explain import Explanation
    from helix.cli.outlook import Outlook

_MOST_NAMED = 3


@value
class Reason:
    """One thing in the way of a bead, and what would change that."""

    kind: str
    reason: str
    cure: str = ""


def run(*, bead: str, json: bool) -> int:
    from ddx.tracker.explain import explain
    from helix.cli.outlook import read_outlook

    found = read_outlook()
    look = found.look
    standing = explain(look.snapshot, bead, look.around, now=look.now)
    is_next = standing.bead_id in found.decision.beads
    reasons = [] if is_next or standing.standing == "finished" else [*_reasons(found, standing)]
    if json:
        answer(
            {
                "id": standing.bead_id,
                "standing": standing.standing,
                "is_next": is_next,
                "queue_place": standing.place or None,
                "reasons": [reason.__dict__ for reason in reasons],
                "decision": found.decision.as_row(),
                "run_active": found.run is not None,
            }
        )
    else:
        _print(found, standing, reasons, is_next=is_next)
    return 0


def _reasons(found: Outlook, standing: Explanation) -> Iterator[Reason]:
    """First what holds the bead itself, then what the run has against it."""
    from ddx.tracker.explain import cure_of
    from ddx.tracker.model import typed

    bead_id = standing.bead_id
    for held in standing.blockers:
        yield Reason(held.kind, held.reason, cure_of(bead_id, held) or _cure_of(held.kind))
    yield from _of_the_run(found, bead_id)
    if standing.blockers:
        return
    ahead = [it for it in standing.ahead if it in {bead.id for bead in found.view.ready}]
    if ahead:
        names = ", ".join(ahead[:_MOST_NAMED])
        more = f" and {len(ahead) - _MOST_NAMED} more" if len(ahead) > _MOST_NAMED else ""
        yield Reason(
            "queue-order",
            f"picked before it: {names}{more}",
            f"ddx bead update {typed(bead_id)} --priority 0",
        )
    if str(found.decision.action) != "build":
        said = found.decision.question or found.decision.least_power_explanation
        yield Reason("decision", f"first comes {found.decision.action}: {said}", "see: helix next")


def _of_the_run(found: Outlook, bead_id: str) -> Iterator[Reason]:
    from helix.policy.selection import holds_focus

    run, focus = found.run, found.progress.focus
    columns = found.look.snapshot.columns
    if run is not None and bead_id in run.table("skipped"):
        why = str(run.table("skipped")[bead_id])
        yield Reason("skipped", f"this run leaves it alone: {why}", "change the bead, or run anew")
    outside = bead_id not in columns.place or columns.parents[columns.place[bead_id]] != focus
    if outside and holds_focus(found.view, found.progress):
        yield Reason(
            "focus",
            f"the run is focused on {focus}, and this is outside of it",
            f"it waits until {focus} has no child left that can run",
        )
    if run is not None and (until := run.text("parked_until")):
        yield Reason("parked", f"{run.text('agent')} has reached its limit", f"it ends at {until}")


def _cure_of(kind: str) -> str:
    return "commit the document, or put the edits aside" if kind == "document-uncommitted" else ""


def _print(found: Outlook, standing: Explanation, reasons: list[Reason], *, is_next: bool) -> None:
    if is_next:
        action, why = found.decision.action, found.decision.least_power_explanation
        say(f"{standing.bead_id} is next: {action}{f', {why}' if why else ''}")
    elif standing.standing == "finished":
        say(f"{standing.bead_id} is finished")
    else:
        place = f"; it is number {standing.place} in the queue" if standing.place else ""
        say(f"{standing.bead_id} is not next{place}")
    for reason in reasons:
        say(f"  {reason.kind}: {reason.reason}")
        if reason.cure:
            say(f"    {reason.cure}")


COMMAND = Command(
    "explain",
    "Say why a bead is or is not next, and what would change that.",
    run,
    "helix explain app-1a2b3c4d",
    arguments=(Argument("bead", "the bead's id"),),
    flags=(JSON,),
    schema="helix-explain",
)
