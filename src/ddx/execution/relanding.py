"""What was kept may land after all: by itself once the way is free, or because a person asks.

A pending landing is proven and waits for the operator's files (X-13): tried at every boundary.
Anything else that is kept lands only when a person has looked (X-14), and is checked again first.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.errors import Busy, NotFound, Refused
from ddx.execution.attempt import Task, intent_of, open_workspace
from ddx.execution.claims import Claims
from ddx.execution.committing import signature_in
from ddx.execution.delivering import deliver
from ddx.execution.fingerprint import fingerprint
from ddx.execution.keeping import find_kept, forget_kept
from ddx.execution.landing import Target
from ddx.execution.model import Bead, Landed, Outcome, Preparation, Preserved, Status
from ddx.execution.preparing import prepare
from ddx.execution.proving import prove
from ddx.execution.record import MADE, Record, new_attempt_id, read_record
from ddx.execution.results import masked, result_row
from ddx.execution.settling import close_landed
from ddx.execution.workspace import workspace_path
from ddx.files import Lock
from ddx.git.commits import changed_paths, diffstat
from ddx.git.landing import tip_of
from ddx.git.repository import read_repository
from ddx.tracker.pending import PENDING, read_pending, remove_pending
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.execution.fingerprint import Fingerprint
    from ddx.execution.model import Boundary, Drift, Proof, Prover
    from ddx.execution.record import Kept as KeptRecord
    from ddx.execution.work import Site
    from ddx.git.landing import Kept

LAND = "land"


def land_pending(
    site: Site, *, prover: Callable[[KeptRecord], Prover | None] = lambda kept: None
) -> list[Outcome]:
    """Try again what waits; what still cannot land goes on waiting, what drifted no longer does.

    `prover` knows how work that is no build is proven again where it must be merged (A-10).
    """
    if not read_pending(site.project.ddx(*PENDING)):
        return []
    with _turn(site) as is_ours:
        return list(_land_all(site, prover)) if is_ours else []  # else another worker is at it


def _land_all(site: Site, prover: Callable[[KeptRecord], Prover | None]) -> Iterator[Outcome]:
    for item in read_pending(site.project.ddx(*PENDING)):
        try:
            earlier = read_record(site.project, item.attempt)
            outcome = _land_again(
                site,
                item.attempt,
                selected=earlier.intent["selected"],
                is_proven=True,
                checks=prover(earlier),
            )
        except (NotFound, Refused):  # its ref was dropped, or its bead was closed or claimed
            remove_pending(site.project.ddx(*PENDING), item.attempt)
            continue
        if not isinstance(outcome, Landed) and not waits(outcome):
            remove_pending(site.project.ddx(*PENDING), item.attempt)
        yield outcome


def land_kept(site: Site, attempt: str) -> Outcome:
    """Land what an attempt left at its ref, as its beads are now: a person has looked at them."""
    with _turn(site) as is_ours:
        if not is_ours:
            raise Busy("another run is landing what was kept", hint="try again in a moment")
        return _land_again(site, attempt)


@contextmanager
def _turn(site: Site) -> Iterator[bool]:
    """False if somebody else has it: two that land the same work would both close its bead."""
    path = site.project.ddx("state", "relanding.lock")
    lock = Lock(path, wait_s=0, clock=site.clock, command="landing")
    try:
        lock.__enter__()
    except Busy:
        yield False
        return
    try:
        yield True
    finally:
        lock.__exit__(None, None, None)


def _land_again(
    site: Site,
    attempt: str,
    *,
    selected: dict[str, Fingerprint] | None = None,
    is_proven: bool = False,
    checks: Prover | None = None,
) -> Outcome:
    """Land it, and close its beads if they are still as they were `selected`, or as now."""
    earlier = read_record(site.project, attempt)
    kept = find_kept(site.project, attempt)
    if kept is None:
        raise NotFound(f"nothing of attempt {attempt} is kept", hint="see: ddx agent attempts")
    beads = [_open_bead(site, bead_id) for bead_id in earlier.beads]
    selected = selected or {bead.id: fingerprint(bead.row) for bead in beads}
    task = _task(site, earlier, tuple(beads), checks)
    record = Record.begin(
        site.project,
        task.attempt,
        _intent(task, earlier, selected),
        clock=site.clock,
        masker=site.masker,
        on_event=site.on_event,
    )
    paths = changed_paths(task.target.repository, task.target.base, kept.commit)
    record.write(MADE, {"commit": kept.commit, "paths": list(paths)})
    record.tell("landing-again", attempt, ref=kept.ref)
    claims = Claims(site.tracker, selected, {})
    try:
        outcome = _land(site, task, record, kept, paths, claims, is_proven=is_proven)
        if isinstance(outcome, Landed):
            outcome = close_landed(site, outcome, claims, record)
            forget_kept(site.project, attempt)
    except BaseException:
        record.leave()
        raise
    outcome = masked(outcome, site.masker)
    outcome = changed(outcome, facts=changed(outcome.facts, attempt=record.attempt))
    if is_proven and waits(outcome):  # as before, so there is nothing to tell
        record.discard()
    else:
        record.finish({**result_row(outcome), "lands": attempt}, leftover=task.workspace)
    return outcome


def waits(outcome: Outcome) -> bool:
    """Only the way is not free, or a person stopped us."""
    if not isinstance(outcome, Preserved):
        return False
    return outcome.is_pending or outcome.status is Status.INTERRUPTED


def _land(
    site: Site,
    task: Task,
    record: Record,
    kept: Kept,
    paths: tuple[str, ...],
    claims: Claims,
    *,
    is_proven: bool,
) -> Outcome:
    def prove_merged(commit: str) -> Proof:
        """In a workspace of its own: what is asked is read from the branch as it is now."""
        tip = tip_of(task.target.repository, task.target.branch)
        here = changed(task, target=changed(task.target, base=tip))
        with open_workspace(here, record) as workspace:
            room = prepare(here, workspace, record, clock=site.clock, stop=site.stop)
            return prove(
                here,
                room,
                record,
                commit,
                task.project_paths(paths),
                clock=site.clock,
                stop=site.stop,
                again=True,
            )

    def look(boundary: Boundary) -> Drift | None:
        return claims.find_drift()

    facts = changed(
        task.facts,
        attempt=kept.attempt,
        result=kept.commit,
        paths=paths,
        diffstat=diffstat(task.target.repository, task.target.base, kept.commit),
        folder=record.folder,
    )
    return deliver(
        task.project,
        task.target,
        facts,
        signature_in(record.read("intent.json"), prefix=task.target.repository.prefix),
        record,
        governing=None,
        prove=prove_merged,
        look=look,
        clock=site.clock,
        is_proven=is_proven,
    )


def _open_bead(site: Site, bead_id: str) -> Bead:
    snapshot = site.tracker.snapshot()
    row = snapshot.row(bead_id)
    if snapshot.status(bead_id) != "open":
        raise Refused(
            f"{bead_id} is {snapshot.status(bead_id)}, so nothing can land for it",
            hint=f"ddx bead show {bead_id}",
        )
    return Bead(bead_id, row, snapshot.revision(bead_id))


def _task(site: Site, earlier: KeptRecord, beads: tuple[Bead, ...], checks: Prover | None) -> Task:
    intent = earlier.intent
    attempt = new_attempt_id(site.clock)
    return Task(
        site.project,
        site.settings,
        beads,
        attempt,
        Preparation(intent["harness"], intent["model"], action=LAND, checks=checks),
        Target(read_repository(site.project.root), intent["target"], intent["base"]),
        workspace_path(site.project, site.settings, attempt),
    )


def _intent(task: Task, earlier: KeptRecord, selected: dict[str, Fingerprint]) -> dict[str, Any]:
    return {
        **earlier.intent,
        **intent_of(task),
        "claims": {},
        "selected": selected,
        "lands": earlier.attempt,
    }
