"""`helix next`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.cli.outlook import Outlook


def run(*, json: bool) -> int:
    from helix.cli.outlook import read_outlook

    found = read_outlook()
    if json:
        answer(_as_row(found))
    else:
        _print(found)
    return 0


def _as_row(found: Outlook) -> dict[str, object]:
    return {
        "decision": found.decision.as_row(),
        "titles": {bead_id: _title(found, bead_id) for bead_id in _beads(found)},
        "run_active": found.run is not None,
    }


def _print(found: Outlook) -> None:
    decision = found.decision
    say(" ".join(filter(None, (str(decision.action), decision.target))))
    for bead_id in _beads(found):
        say(f"  {bead_id}  {_title(found, bead_id)}")
    if decision.least_power_explanation:
        say(f"  because {decision.least_power_explanation}")
    if decision.blocking_authority:
        say(f"  what must be settled first: {decision.blocking_authority}")
    if decision.queue_drift_reason:
        say(f"  {decision.queue_drift_reason}")
    if decision.question:
        say(f"  for you: {decision.question}")
    if decision.until:
        say(f"  until {decision.until}")


def _beads(found: Outlook) -> list[str]:
    named = dict.fromkeys((found.decision.target, *found.decision.beads))
    return [bead_id for bead_id in named if bead_id in found.look.snapshot]


def _title(found: Outlook, bead_id: str) -> str:
    columns = found.look.snapshot.columns
    return columns.titles[columns.place[bead_id]]


COMMAND = Command(
    "next",
    "Say what a run would do now, and why; nothing is done.",
    run,
    "helix next",
    flags=(JSON,),
    schema="helix-next",
)
