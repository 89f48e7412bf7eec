"""`ddx bead why`"""

from __future__ import annotations

from ddx.cli.place import CLOCK
from ddx.cli.session import open_tracker, surroundings
from ddx.console.screen import answer, say
from ddx.console.spec import ID, JSON, Command
from ddx.text import listed
from ddx.tracker.explain import Explanation, cure_of, explain, rule_of


def run(*, id: str, json: bool) -> int:
    tracker = open_tracker()
    found = explain(tracker.snapshot(), id, surroundings(tracker), now=CLOCK.stamp())
    if json:
        answer(_as_json(found))
    else:
        _print(found)
    return 0


def _as_json(found: Explanation) -> dict[str, object]:
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


def _print(found: Explanation) -> None:
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


COMMAND = Command(
    "bead why",
    "Say why a bead is ready, blocked, not picked or not closable, and by which rule.",
    run,
    "ddx bead why app-1a2b3c4d",
    arguments=(ID,),
    flags=(JSON,),
    schema="bead-why",
)
