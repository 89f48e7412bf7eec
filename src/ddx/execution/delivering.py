"""From a proven commit to an outcome: landed, or kept for a reason (X-13, X-18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.governing import drifted_documents
from ddx.execution.keeping import keep
from ddx.execution.landing import (
    Candidate,
    Held,
    Moved,
    OperatorEdits,
    Refused,
    land,
    reason_of,
    status_of,
)
from ddx.execution.model import Boundary, Landed, Outcome, Preserved
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.clock import Clock
    from ddx.execution.committing import Signature
    from ddx.execution.governing import Governing
    from ddx.execution.landing import Target
    from ddx.execution.model import Drift, Facts, Proof
    from ddx.execution.record import Record
    from ddx.project import Project


def deliver(
    project: Project,
    target: Target,
    facts: Facts,
    signature: Signature,
    record: Record,
    *,
    governing: Governing | None,
    prove: Callable[[str], Proof],
    look: Callable[[Boundary], Drift | None],
    clock: Clock,
    is_proven: bool = True,
) -> Outcome:
    """Land the attempt's commit; if something stands in the way, it is kept at a ref (X-14)."""

    def still_valid(tip: str) -> str | None:
        if drift := look(Boundary.LANDING):
            return drift.reason
        if governing is None:
            return None
        changed_documents = drifted_documents(
            governing, repository=project.root, tip=tip, ignoring=facts.paths
        )
        if changed_documents:
            return f"governing documents changed meanwhile: {', '.join(changed_documents)}"
        return None

    proofs: list[Proof] = []

    def prove_again(commit: str) -> Proof:
        proofs.append(prove(commit))
        return proofs[-1]

    record.tell("landing", facts.result[:12], target=target.branch)
    candidate = Candidate(
        facts.result,
        target.base,
        signature.message,
        signature.reserved,
        prove_again,
        still_valid,
        is_proven,
    )
    settled = land(project, target, candidate, clock=clock)
    if proofs:  # what lands, or does not, is what was looked at last
        facts = changed(facts, checks=proofs[-1].checks, measured=proofs[-1].measured)
    if isinstance(settled, Moved):
        record.tell("landed", f"{settled.commit[:12]} on {target.name}", commit=settled.commit)
        return Landed(facts, settled.commit)
    reason = reason_of(settled)
    ref = keep(project, facts.beads, facts.attempt, facts.result)
    record.tell("not-landed", reason, ref=ref)
    can_wait = isinstance(settled, OperatorEdits | Refused | Held)
    return Preserved(changed(facts, ref=ref, reason=reason), status_of(settled), ref, can_wait)
