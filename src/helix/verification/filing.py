"""Failing tests in the tracker: filed, told again, closed, in one write (V-2).

What is to be done is decided from the tracker as it is at that instant, so that two measures at
once make nothing twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.instants import sort_key
from ddx.tracker.drafting import create
from ddx.tracker.events import event
from ddx.tracker.evidence import add_event
from ddx.tracker.lifecycle import Ending, close, reopen
from ddx.tracker.model import (
    FINISHED,
    RUNNER,
    holder_of,
    link_of,
    links_of,
    status_of,
    text_of,
    texts_of,
)
from ddx.tracker.updating import Patch, add_dependency, update
from ddx.values import changed, value
from helix.actions.filing import id_maker, open_parent
from helix.actions.series import Series
from helix.verification.model import State
from helix.verification.settling import KnownTrace, plan_filing
from helix.verification.traceback import CHECK, KEY, TESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.verification.settling import Filing
    from helix.verification.traceback import Trace

EVENT = "measured"
PROPOSED = "proposed"


@value
class Occasion:
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
class Settled:
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@value
class OpenTrace:
    """A bead of an earlier measure that is not settled yet, with the check that found it."""

    bead: KnownTrace
    check: str
    verify: tuple[str, ...]


def file_traces(
    site: Site,
    traces: Sequence[Trace],
    occasion: Occasion,
    *,
    states: Mapping[str, State],
    gone: Collection[str],
) -> Settled:
    """What the tracker says of these failures afterwards, each once."""
    done = Settled()

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        rows = _rows(snapshot)
        known = [_known(row) for row in rows.values()]
        plan = plan_filing(traces, known, states=states, gone=gone)
        clerk = _Clerk(Series(snapshot, now=now), occasion, id_maker(site))
        done = clerk.carry_out(plan, rows, states)
        return clerk.series.changes()

    site.tracker.change(decide)
    return done


def open_traces(snapshot: Snapshot) -> tuple[OpenTrace, ...]:
    """Whose tests are worth a look."""
    return tuple(
        OpenTrace(bead, text_of(row, CHECK), texts_of(row, "verify"))
        for row in _rows(snapshot).values()
        if (bead := _known(row)).is_alive
    )


def _rows(snapshot: Snapshot) -> dict[str, Row]:
    return {text_of(row, "id"): row for row in snapshot.rows() if text_of(row, KEY)}


def _known(row: Row) -> KnownTrace:
    return KnownTrace(
        text_of(row, "id"),
        text_of(row, KEY),
        texts_of(row, TESTS),
        status_of(row),
        text_of(row, "close_reason"),
        bool(links_of(row, "superseded-by")),
    )


class _Clerk:
    """Carries out a plan; what the tracker refuses is said and stops nothing else."""

    def __init__(self, series: Series, occasion: Occasion, draw_id: Callable[[], str]) -> None:
        self.series = series
        self._occasion = occasion
        self._draw_id = draw_id
        self._at = f"at {occasion.commit[:12]}"

    def carry_out(
        self, plan: Filing, rows: Mapping[str, Row], states: Mapping[str, State]
    ) -> Settled:
        ids = {it.key: bead_id for bead_id, it in (*plan.again, *plan.reopened)}
        created: list[str] = []
        for trace in plan.new:
            if bead_id := self._created(trace):
                created.append(bead_id)
                ids[trace.key] = bead_id
        updated = [it for it, trace in plan.reopened if self._reopened(it, trace)]
        updated += [it for it, trace in plan.again if self._told_again(it, trace, rows, states)]
        closed = [it for it, why in plan.closed if self._closed(it, why, rows)]
        for bead_id, key in plan.waits:
            self._wait(bead_id, ids.get(key, ""))
        for bead_id in self._occasion.waiting:
            for found in ids.values():
                self._wait(bead_id, found)
        remarks = (*plan.remarks, *self.series.remarks)
        return Settled(tuple(created), tuple(updated), tuple(closed), remarks)

    def _created(self, trace: Trace) -> str:
        row = trace.as_row()
        parent = open_parent(self.series, self._occasion.parent or self._parent_of(trace))
        links = {"parent": parent, "discovered-from": next(iter(trace.beads), "")}
        row |= {name: link for name, link in links.items() if link}
        try:
            made = create(self.series, [row], now=self.series.now, by=RUNNER, draw_id=self._draw_id)
        except DdxError as problem:
            self.series.remarks.append(f"{trace.title!r} was not filed: {problem.message}")
            return ""
        bead_id = next(it for it in made.put if it not in self.series)
        if self._occasion.is_manual:
            proposed = {**made.put[bead_id], "status": PROPOSED}
            made = changed(made, put={**made.put, bead_id: proposed})
        self.series.add(made)
        return bead_id

    def _parent_of(self, trace: Trace) -> str:
        """What all beads that asked for the check are a part of."""
        parents = {self.series.parent(bead_id) for bead_id in trace.beads}
        return parents.pop() if len(parents) == 1 else ""

    def _reopened(self, bead_id: str, trace: Trace) -> bool:
        why = f"it fails again {self._at}"
        return self._done(
            bead_id,
            lambda: reopen(self.series, bead_id, reason=why, actor=RUNNER, now=self.series.now),
        ) and self._tell(bead_id, trace, why)

    def _told_again(
        self, bead_id: str, trace: Trace, rows: Mapping[str, Row], states: Mapping[str, State]
    ) -> bool:
        before = texts_of(rows[bead_id], TESTS)
        left = [test for test in before if states.get(test) is not State.PASSED]
        tests = list(dict.fromkeys((*left, *trace.tests)))
        if tests != list(before):
            patch = Patch({TESTS: tests})
            self._done(
                bead_id,
                lambda: update(self.series, bead_id, patch, now=self.series.now, by=RUNNER),
            )
        return self._tell(bead_id, trace, f"still fails {self._at}")

    def _tell(self, bead_id: str, trace: Trace, summary: str) -> bool:
        output = trace.failures[0].test.test.output
        body = "\n".join(filter(None, (self._occasion.evidence, *trace.tests[:20], output)))
        happened = event(
            EVENT, summary=summary, body=body, actor=RUNNER, source="helix", at=self.series.now
        )
        return self._done(
            bead_id, lambda: add_event(self.series, bead_id, happened, now=self.series.now)
        )

    def _closed(self, bead_id: str, why: str, rows: Mapping[str, Row]) -> bool:
        """Not under the hands of whoever works on it, nor if it was touched since we looked."""
        row = rows[bead_id]
        is_touched = sort_key(text_of(row, "updated_at")) > sort_key(self._occasion.begun_at)
        if is_touched or status_of(row) == "in_progress":
            held = "it changed meanwhile" if is_touched else f"it is held by {holder_of(row)}"
            self.series.remarks.append(f"{bead_id} stays as it is, for {held}: {why}")
            return False
        ending = Ending(
            f"{why} {self._at}",
            self._occasion.commit,
            self._occasion.id,
            self._occasion.evidence,
        )
        return self._done(
            bead_id,
            lambda: close(self.series, bead_id, ending, actor=RUNNER, now=self.series.now),
        )

    def _wait(self, bead_id: str, wanted: str) -> None:
        row = self.series.find(bead_id)
        if not wanted or bead_id == wanted or row is None or status_of(row) in FINISHED:
            return
        if wanted in self.series.waits_for(bead_id) or link_of(row, "parent") == wanted:
            return
        self._done(
            bead_id,
            lambda: add_dependency(self.series, bead_id, wanted, now=self.series.now, by=RUNNER),
        )

    def _done(self, bead_id: str, change: Callable[[], Changes]) -> bool:
        try:
            self.series.add(change())
        except DdxError as problem:
            self.series.remarks.append(f"{bead_id} stays as it is: {problem.message}")
            return False
        return True
