"""`helix recover`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.tracker.model import text_of
from helix.cli.control import controlled_project, tell

if TYPE_CHECKING:
    from ddx.execution.reconciling import Reconciled
    from ddx.execution.work import Site
    from ddx.project import Project
    from helix.supervisor.recovery import Recovered


def run(*, ids: tuple[str, ...], json: bool) -> int:
    from ddx.execution.reconciling import reconcile

    project = controlled_project()
    site = _site(project)
    for bead_id in ids:
        site.tracker.snapshot().row(bead_id)  # an unknown one is an error before anything is done
    dead = reconcile(site)
    claims = _release(site, ids)
    if json:
        answer(
            {
                "attempts": [_dead_row(one) for one in dead],
                "claims": [one.__dict__ for one in claims],
            }
        )
        return 0
    for sentence in (*(one.sentence for one in dead), *(one.sentence for one in claims)):
        say(sentence)
    if not dead and not claims:
        say("there is nothing to recover: no dead attempt, and no claim of a runner")
    return 0


def _site(project: Project) -> Site:
    from ddx.execution.work import open_site

    return open_site(project, lambda happening: None, tell=tell)


def _release(site: Site, ids: tuple[str, ...]) -> list[Recovered]:
    """Named beads at once, whatever their age; without a name those of this machine (D-23)."""
    from helix.settings import read_helix_settings
    from helix.supervisor.recovery import Recovered, recover

    settings = read_helix_settings(site.project, clock=site.clock)
    claimed = _claimed(site)
    found = recover(
        site,
        threshold_s=settings.orphan_threshold_s,
        ours=[bead_id for bead_id in claimed if ids and bead_id not in ids],  # let alone
        asked=ids or [bead_id for bead_id, machine in claimed.items() if _is_here(machine)],
    )
    judged = {one.bead for one in found}
    return [
        *found,
        *(Recovered(it, False, "no runner holds it") for it in ids if it not in judged),
    ]


def _claimed(site: Site) -> dict[str, str]:
    """Every bead in progress, with the machine that claimed it."""
    snapshot = site.tracker.snapshot()
    columns = snapshot.columns
    return {
        bead_id: text_of(snapshot.row(bead_id), "claimed-machine")
        for bead_id, status in zip(columns.ids, columns.statuses, strict=True)
        if status == "in_progress"
    }


def _is_here(machine: str) -> bool:
    """Another machine's claims are judged by their age alone (S-18)."""
    return machine in ("", os.uname().nodename)


def _dead_row(one: Reconciled) -> dict[str, object]:
    from ddx.execution.model import word_of

    return {
        "attempt": one.attempt,
        "beads": list(one.outcome.facts.beads),
        "outcome": word_of(one.outcome),
        "ended_processes": one.ended,
    }


COMMAND = Command(
    "recover",
    "End what dead attempts left, and release the claims that nobody holds any more.",
    run,
    "helix recover",
    arguments=(
        Argument("ids", "beads to release; without any, all claims of runners", True, False),
    ),
    flags=(JSON,),
    schema="helix-recovered",
)
