"""From a proven commit to an outcome: landed, or kept for a reason (X-13, X-18)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.attempts.attempt import AttemptTask, intent_of, open_workspace, prove
from ddx.attempts.claims import AttemptClaims, close_landed
from ddx.attempts.commit import find_kept, forget_kept, keep, signature_in
from ddx.attempts.context import LandingTarget, Preparation
from ddx.attempts.landing import (
    BranchMoved,
    LandingCandidate,
    LandingHeld,
    LandingRefused,
    OperatorEdits,
    land,
)
from ddx.attempts.outcome import AttemptStatus, Landed, Outcome, Preserved, masked
from ddx.attempts.record import INTENT, MADE, RecordWriter, new_attempt_id
from ddx.attempts.records import read_attempts
from ddx.attempts.workspace import prepare
from ddx.base import Busy, Lock, NotFound, Refused, changed
from ddx.git import changed_paths, diffstat, read_repository, tip_of
from ddx.proof import drifted_documents
from ddx.tracker import PENDING, Bead, read_pending, remove_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.attempts.claims import Fingerprint
    from ddx.attempts.commit import CommitSpec
    from ddx.attempts.context import AttemptContext, Drift, Prover
    from ddx.attempts.outcome import AttemptFacts
    from ddx.attempts.records import AttemptRecord
    from ddx.git import PreservedCommit
    from ddx.proof import Governance, Proof


def deliver(
    task: AttemptTask,
    facts: AttemptFacts,
    record: RecordWriter,
    *,
    signature: CommitSpec,
    governing: Governance | None,
    prove: Callable[[str], Proof],
    look: Callable[[], Drift | None],
    is_proven: bool = True,
) -> Outcome:
    """Land the attempt's commit; if something stands in the way, it is kept at a ref (X-14)."""
    project, target = task.project, task.target

    def still_valid(tip: str) -> str | None:
        if drift := look():
            return drift.reason
        if governing is not None and (
            moved := drifted_documents(
                governing, repository=project.root, tip=tip, ignoring=facts.paths
            )
        ):
            return f"governing documents changed meanwhile: {', '.join(moved)}"
        return None

    proofs: list[Proof] = []

    def prove_again(commit: str) -> Proof:
        proofs.append(prove(commit))
        return proofs[-1]

    record.tell("landing", facts.result[:12], target=target.branch)
    candidate = LandingCandidate(
        commit=facts.result,
        base=target.base,
        message=signature.message,
        reserved=signature.reserved,
        prove=prove_again,
        still_valid=still_valid,
        is_proven=is_proven,
    )
    settled = land(project, target, candidate, clock=task.site.clock)
    if proofs:  # what lands, or does not, is what was looked at last
        facts = changed(facts, checks=proofs[-1].checks, measured=proofs[-1].measured)
    if isinstance(settled, BranchMoved):
        record.tell("landed", f"{settled.commit[:12]} on {target.name}", commit=settled.commit)
        return Landed(facts, settled.commit)
    reason = settled.reason
    ref = keep(project, facts.beads, facts.attempt, facts.result)
    record.tell("not-landed", reason, ref=ref)
    can_wait = isinstance(settled, OperatorEdits | LandingRefused | LandingHeld)
    return Preserved(
        changed(facts, ref=ref, reason=reason), settled.status, ref, is_pending=can_wait
    )


LAND = "land"


def land_pending(
    site: AttemptContext, *, prover: Callable[[AttemptRecord], Prover | None] = lambda kept: None
) -> list[Outcome]:
    """Try again what waits; what still cannot land goes on waiting, what drifted no longer does.

    `prover` knows how work that is no build is proven again where it must be merged (A-10).
    """
    if not read_pending(site.project.ddx(*PENDING)):
        return []
    with _turn(site) as is_ours:
        return list(_land_all(site, prover)) if is_ours else []  # else another worker is at it


def _land_all(
    site: AttemptContext, prover: Callable[[AttemptRecord], Prover | None]
) -> Iterator[Outcome]:
    for item in read_pending(site.project.ddx(*PENDING)):
        try:
            earlier = read_attempts(site.project).read(item.attempt)
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


def land_kept(site: AttemptContext, attempt: str) -> Outcome:
    """Land what an attempt left at its ref, as its beads are now: a person has looked at them."""
    with _turn(site) as is_ours:
        if not is_ours:
            raise Busy("another run is landing what was kept", hint="try again in a moment")
        return _land_again(site, attempt)


@contextmanager
def _turn(site: AttemptContext) -> Iterator[bool]:
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
    site: AttemptContext,
    attempt: str,
    *,
    selected: dict[str, Fingerprint] | None = None,
    is_proven: bool = False,
    checks: Prover | None = None,
) -> Outcome:
    """Land it, and close its beads if they are still as they were `selected`, or as now."""
    earlier = read_attempts(site.project).read(attempt)
    kept = find_kept(site.project, attempt)
    if kept is None:
        raise NotFound(f"nothing of attempt {attempt} is kept", hint="see: ddx agent attempts")
    beads = [_open_bead(site, bead_id) for bead_id in earlier.beads]
    selected = selected or {bead.id: bead.fingerprint for bead in beads}
    task = _task(site, earlier, tuple(beads), checks)
    again = {"claims": {}, "selected": selected, "lands": attempt}
    record = site.begin_record(task.attempt, {**earlier.intent, **intent_of(task), **again})
    paths = changed_paths(task.target.repository, task.target.base, kept.commit)
    record.write(MADE, {"commit": kept.commit, "paths": list(paths)})
    record.tell("landing-again", attempt, ref=kept.ref)
    claims = AttemptClaims(site.tracker, selected, {})
    try:
        outcome = _land(task, record, kept, paths=paths, claims=claims, is_proven=is_proven)
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
        record.finish({**outcome.as_row(), "lands": attempt}, leftover=task.workspace)
    return outcome


def waits(outcome: Outcome) -> bool:
    """Only the way is not free, or a person stopped us."""
    if not isinstance(outcome, Preserved):
        return False
    return outcome.is_pending or outcome.status is AttemptStatus.INTERRUPTED


def _land(
    task: AttemptTask,
    record: RecordWriter,
    kept: PreservedCommit,
    *,
    paths: tuple[str, ...],
    claims: AttemptClaims,
    is_proven: bool,
) -> Outcome:
    def prove_merged(commit: str) -> Proof:
        """In a workspace of its own: what is asked is read from the branch as it is now."""
        tip = tip_of(task.target.repository, task.target.branch)
        here = changed(task, target=changed(task.target, base=tip))
        with open_workspace(here, record) as workspace:
            room = prepare(here, workspace, record, furnished=False)
            return prove(room, commit, task.project_paths(paths), is_merged=True)

    facts = changed(
        task.facts,
        attempt=kept.attempt,
        result=kept.commit,
        paths=paths,
        diffstat=diffstat(task.target.repository, task.target.base, kept.commit),
        folder=record.folder,
    )
    return deliver(
        task,
        facts,
        record,
        signature=signature_in(record.read(INTENT), prefix=task.target.repository.prefix),
        governing=None,
        prove=prove_merged,
        look=claims.find_drift,
        is_proven=is_proven,
    )


def _open_bead(site: AttemptContext, bead_id: str) -> Bead:
    snapshot = site.tracker.snapshot()
    row = snapshot.row(bead_id)
    if snapshot.status(bead_id) != "open":
        raise Refused(
            f"{bead_id} is {snapshot.status(bead_id)}, so nothing can land for it",
            hint=f"ddx bead show {bead_id}",
        )
    return Bead(bead_id, row, snapshot.revision(bead_id))


def _task(
    site: AttemptContext, earlier: AttemptRecord, beads: tuple[Bead, ...], checks: Prover | None
) -> AttemptTask:
    intent = earlier.intent
    attempt = new_attempt_id(site.clock)
    return AttemptTask(
        site,
        beads,
        attempt,
        preparation=Preparation(intent["harness"], intent["model"], action=LAND, checks=checks),
        target=LandingTarget(read_repository(site.project.root), intent["target"], intent["base"]),
        workspace=site.workspace(attempt),
    )
