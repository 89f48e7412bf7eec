"""Failing tests in the tracker: filed, told again, closed, in one write (V-2).

What is to be done is decided from the tracker as it is at that instant, so that two measures at
once make nothing twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import DdxError, Instant, value
from ddx.tracker import BeadClosure, BeadPatch
from helix.passes import id_maker, open_parent
from helix.verification.failure_beads import KEY, TESTS, is_alive, plan_filing
from helix.verification.reported_tests import ReportedState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.tracker import Bead, Snapshot, TrackerEdit
    from helix.verification.failure_beads import FailureBead, FailureFilingPlan

EVENT = "measured"


@value
class MeasureRun:
    """The measure that all of it rests on."""

    id: str
    begun_at: str
    commit: str
    evidence: str
    """Where measure.json lies."""
    parent: str = ""
    """What new beads are a part of; empty: of what those are that asked for the check."""
    waiting: tuple[str, ...] = ()
    """Beads that cannot go on before these failures are settled (S-36)."""
    is_manual: bool = False
    """A person looks at each first: they are only proposed (I-3)."""


@value
class FailureFilingResult:
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def file_traces(
    site: AttemptContext,
    traces: Sequence[FailureBead],
    occasion: MeasureRun,
    *,
    states: Mapping[str, ReportedState],
    gone: Collection[str],
) -> FailureFilingResult:
    """What the tracker says of these failures afterwards, each once."""

    def decide(edit: TrackerEdit) -> FailureFilingResult:
        beads = _beads(edit.before)
        plan = plan_filing(traces, [*beads.values()], states=states, gone=gone)
        return _Clerk(edit, occasion, id_maker(site)).carry_out(plan, beads, states)

    return site.tracker.edit(decide)


def open_traces(snapshot: Snapshot) -> tuple[Bead, ...]:
    """The beads of earlier measures that are not settled yet: their tests are worth a look."""
    return tuple(filter(is_alive, _beads(snapshot).values()))


def _beads(snapshot: Snapshot) -> dict[str, Bead]:
    return {bead.id: bead for bead in snapshot.beads() if bead.text(KEY)}


class _Clerk:
    """Carries out a plan; what the tracker refuses is said and stops nothing else."""

    def __init__(self, edit: TrackerEdit, occasion: MeasureRun, draw_id: Callable[[], str]) -> None:
        self._edit = edit
        self._occasion = occasion
        self._draw_id = draw_id
        self._at = f"at {occasion.commit[:12]}"

    def carry_out(
        self,
        plan: FailureFilingPlan,
        beads: Mapping[str, Bead],
        states: Mapping[str, ReportedState],
    ) -> FailureFilingResult:
        ids = {it.key: bead_id for bead_id, it in (*plan.again, *plan.reopened)}
        created: list[str] = []
        for trace in plan.new:
            if bead_id := self._created(trace):
                created.append(bead_id)
                ids[trace.key] = bead_id
        updated = [it for it, trace in plan.reopened if self._reopened(it, trace)]
        updated += [it for it, trace in plan.again if self._told_again(it, trace, beads, states)]
        closed = [it for it, why in plan.closed if self._closed(it, why, beads)]
        for bead_id, key in plan.waits:
            self._wait(bead_id, ids.get(key, ""))
        for bead_id in self._occasion.waiting:
            for found in ids.values():
                self._wait(bead_id, found)
        remarks = (*plan.remarks, *self._edit.remarks)
        return FailureFilingResult(tuple(created), tuple(updated), tuple(closed), remarks=remarks)

    def _created(self, trace: FailureBead) -> str:
        row = trace.as_row()
        parent = open_parent(self._edit, self._occasion.parent or self._parent_of(trace))
        links = {"parent": parent, "discovered-from": next(iter(trace.beads), "")}
        row |= {name: link for name, link in links.items() if link}
        try:
            (bead_id,) = self._edit.create([row], draw_id=self._draw_id)
        except DdxError as problem:
            self._edit.remark(f"{trace.title!r} was not filed: {problem.message}")
            return ""
        if self._occasion.is_manual:
            self._edit.propose(bead_id)
        return bead_id

    def _parent_of(self, trace: FailureBead) -> str:
        """What all beads that asked for the check are a part of."""
        parents = {self._edit.parent(bead_id) for bead_id in trace.beads}
        return parents.pop() if len(parents) == 1 else ""

    def _reopened(self, bead_id: str, trace: FailureBead) -> bool:
        why = f"it fails again {self._at}"
        return self._done(bead_id, lambda: self._edit.reopen(bead_id, reason=why)) and self._tell(
            bead_id, trace, why
        )

    def _told_again(
        self,
        bead_id: str,
        trace: FailureBead,
        beads: Mapping[str, Bead],
        states: Mapping[str, ReportedState],
    ) -> bool:
        before = beads[bead_id].texts(TESTS)
        left = [test for test in before if states.get(test) is not ReportedState.PASSED]
        tests = list(dict.fromkeys((*left, *trace.tests)))
        if tests != list(before):
            self._done(bead_id, lambda: self._edit.update(bead_id, BeadPatch({TESTS: tests})))
        return self._tell(bead_id, trace, f"still fails {self._at}")

    def _tell(self, bead_id: str, trace: FailureBead, summary: str) -> bool:
        output = trace.failures[0].test.test.output
        body = "\n".join(filter(None, (self._occasion.evidence, *trace.tests[:20], output)))
        return self._done(
            bead_id,
            lambda: self._edit.add_event(
                bead_id, EVENT, summary=summary, body=body, source="helix"
            ),
        )

    def _closed(self, bead_id: str, why: str, beads: Mapping[str, Bead]) -> bool:
        """Not under the hands of whoever works on it, nor if it was touched since we looked."""
        bead = beads[bead_id]
        begun = Instant(self._occasion.begun_at)
        is_touched = Instant(bead.updated_at).sort_key > begun.sort_key
        if is_touched or bead.status == "in_progress":
            held = "it changed meanwhile" if is_touched else f"it is held by {bead.holder}"
            self._edit.remark(f"{bead_id} stays as it is, for {held}: {why}")
            return False
        ending = BeadClosure(
            f"{why} {self._at}",
            self._occasion.commit,
            self._occasion.id,
            evidence=self._occasion.evidence,
        )
        return self._done(bead_id, lambda: self._edit.close(bead_id, ending))

    def _wait(self, bead_id: str, wanted: str) -> None:
        bead = self._edit.find_bead(bead_id)
        if not wanted or bead_id == wanted or bead is None or bead.is_finished:
            return
        if wanted not in (*bead.waits_for, bead.parent):
            self._done(bead_id, lambda: self._edit.add_dependency(bead_id, wanted))

    def _done(self, bead_id: str, change: Callable[[], None]) -> bool:
        try:
            change()
        except DdxError as problem:
            self._edit.remark(f"{bead_id} stays as it is: {problem.message}")
            return False
        return True
