"""Does what landed still hold? Everything that proves it, once more, at the tip (V-1, V-2).

measure.json is on the disk before the tracker changes: what is closed there names it as evidence.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.attempts import TipWorkspace
from ddx.base import JsonFile, changed, listed, value
from ddx.tracker import RunCommand
from helix.passes import ScopeKind
from helix.verification.attempt_history import MEASURE, MEASURED
from helix.verification.failure_beads import PASSES_AGAIN, TESTS, trace
from helix.verification.failure_filing import MeasureRun, file_traces, open_traces
from helix.verification.measured_tests import (
    MeasuredTestReader,
    missing_tests,
    read_again,
    untold_tests,
)
from helix.verification.report_files import ReportCollector
from helix.verification.reported_tests import ReportedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.attempts import AttemptContext
    from ddx.proof import Check
    from ddx.tracker import Bead, Snapshot
    from helix.passes import Scope
    from helix.project import AutonomySettings
    from helix.verification.failure_beads import FailingTest
    from helix.verification.measured_tests import MeasuredTest

FORMAT = 1

_MOST_PROBES = 50
_MOST_KEPT = 20_000
"""Tests that measure.json names; failures come first."""


@value
class MeasureResult:
    """What was proven at one commit, and what became of its failing tests."""

    id: str
    """Of its record in `.ddx/executions`."""
    scope: str
    commit: str
    branch: str
    passed: bool
    beads: tuple[str, ...]
    """Those whose criteria were run."""
    checks: tuple[Check, ...]
    tests: tuple[MeasuredTest, ...]
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    path: str = ""
    """Of measure.json; empty if it was interrupted, for then nothing is known."""
    problems: tuple[str, ...] = ()
    """Reports that cannot be read or do not tell all."""
    remarks: tuple[str, ...] = ()
    was_interrupted: bool = False

    @property
    def failures(self) -> tuple[MeasuredTest, ...]:
        return tuple(test for test in self.tests if test.is_failure)

    @property
    def counts(self) -> dict[str, int]:
        return {state: sum(test.state is state for test in self.tests) for state in ReportedState}


def measure(
    site: AttemptContext,
    slider: AutonomySettings,
    scope: Scope,
    *,
    beads: Sequence[str] = (),
    evidence_dir: str = "",
) -> MeasureResult:
    """Prove the landed beads of the scope, and `beads` whether they landed or not, at the tip.

    An interrupted measure changes nothing. `beads` that are still open wait afterwards for what is
    filed, since they fail because of it (S-36). `evidence_dir` is where measure.json goes; without
    it, into the record.
    """
    begun_at = site.clock.stamp()
    snapshot = site.tracker.snapshot()
    subjects, remarks = _subjects(site, snapshot, scope, beads)
    with TipWorkspace.open(site, action=MEASURE) as tip:
        look = _Look(tip, site, slider, subjects, open_traces(snapshot))
        look.prove()
        path = os.path.join(evidence_dir or tip.folder, MEASURED)
        measured = changed(look.measured(scope), path=path, remarks=remarks)
        if site.stop.asked:
            return changed(measured, path="", was_interrupted=True)
        _write(site, measured, begun_at)
        failures = look.failures() if slider.auto_traceback else ()
    if not slider.auto_traceback:
        return measured
    below = os.path.relpath(path, site.project.root)
    occasion = MeasureRun(
        id=measured.id,
        begun_at=begun_at,
        commit=measured.commit,
        evidence=path if below.startswith(os.pardir) else below,
        parent=scope.text if scope.kind is ScopeKind.EPIC else "",
        waiting=tuple(beads),
        is_manual=slider.failure_triage == "manual",
    )
    traces = trace(failures, commit=measured.commit, evidence=occasion.evidence)
    settled = file_traces(site, traces, occasion, states=look.states, gone=look.gone)
    whole = changed(
        measured,
        created=settled.created,
        updated=settled.updated,
        closed=settled.closed,
        remarks=(*measured.remarks, *settled.remarks),
    )
    if whole != measured:
        _write(site, whole, begun_at)
    return whole


class _Look:
    """One look at the tip, from the checks to the tests that they told of."""

    def __init__(
        self,
        tip: TipWorkspace,
        site: AttemptContext,
        slider: AutonomySettings,
        subjects: Sequence[Bead],
        opened: Sequence[Bead],
    ) -> None:
        self._tip = tip
        self._site = site
        self._subjects = subjects
        self._opened = opened
        self._gatherer = MeasuredTestReader(tip, max_depth=slider.max_depth)
        self._reporter = self._new_reporter()
        self._tests: dict[str, MeasuredTest] = {}
        self.states: dict[str, ReportedState] = {}
        self.gone: tuple[str, ...] = ()

    def prove(self) -> None:
        self._tip.prove(self._subjects, after=self._reporter.after)
        if self._site.stop.asked:
            return
        told = self._reporter.told
        self._tests = self._gatherer.gather(told)
        states = {name: test.state for name, test in self._tests.items()}
        known = [test for bead in self._opened for test in bead.texts(TESTS)]
        self.states = states | read_again(known, states)
        tree = self._gatherer.tree
        self.gone = missing_tests(self._opened, told, self.states, tree)
        self._probe(untold_tests(self._opened, told, self.states, tree))

    def _probe(self, untold: Sequence[tuple[str, str]]) -> None:
        """A report may name failures only: what failed once is asked for by name."""
        if not untold:
            return
        reporter = self._new_reporter()
        commands = list(dict.fromkeys(command for _, command in untold))[:_MOST_PROBES]
        self._tip.probe(commands, after=reporter.after)
        asked = {test for test, _ in untold}
        found = self._gatherer.gather(reporter.told)
        states = {name: test.state for name, test in found.items()}
        states |= read_again(asked, states)
        self.states |= {name: state for name, state in states.items() if name in asked}

    def measured(self, scope: Scope) -> MeasureResult:
        proof = self._tip.proof
        told = self._reporter.told
        problems = tuple(f"{one.check.name}: {it}" for one in told for it in one.problems)
        tests = tuple(sorted(self._tests.values(), key=lambda test: not test.is_failure))
        is_clean = not problems and not any(test.is_failure for test in tests)
        return MeasureResult(
            id=self._tip.id,
            scope=scope.text,
            commit=self._tip.commit,
            branch=self._tip.branch,
            passed=proof is not None and proof.ok and is_clean,
            beads=tuple(bead.id for bead in self._subjects),
            checks=proof.checks if proof else (),
            tests=tests,
            problems=problems,
        )

    def failures(self) -> tuple[FailingTest, ...]:
        asking: dict[str, list[str]] = {}
        for bead in self._subjects:
            for criterion in bead.criteria:
                if isinstance(criterion, RunCommand):
                    asking.setdefault(criterion.command, []).append(bead.id)
        beads = {command: tuple(dict.fromkeys(ids)) for command, ids in asking.items()}
        failed = (test for test in self._tests.values() if test.is_failure)
        return tuple(self._gatherer.failure(test, beads) for test in failed)

    def _new_reporter(self) -> ReportCollector:
        return ReportCollector(
            workspace=self._tip.workspace,
            evidence=self._tip.evidence,
            record=self._tip.folder,
            masker=self._site.masker,
        )


def _subjects(
    site: AttemptContext, snapshot: Snapshot, scope: Scope, beads: Sequence[str]
) -> tuple[tuple[Bead, ...], tuple[str, ...]]:
    """The beads to prove, and what is said of those that cannot be."""
    known = {bead.id: bead for bead in _landed(snapshot, scope)}
    known |= {bead_id: snapshot.bead(bead_id) for bead_id in beads}
    found, without = [], []
    for bead_id, bead in known.items():
        if bead.judged(default_checks=site.settings.default_checks).criteria:
            found.append(bead)
        else:
            without.append(bead_id)
    said = f"nothing can be run for {listed(without)}, so it was not measured"
    return tuple(found), (said,) if without else ()


def _landed(snapshot: Snapshot, scope: Scope) -> Iterator[Bead]:
    """Closed with evidence and in force; what only steers work has no criteria to prove.

    Nor has what a measure itself closed: the check that found the failure goes on to look for it.
    """
    for bead in snapshot.beads():
        if (
            bead.status == "closed"
            and (bead.closing_commit or bead.session)
            and not bead.superseded_by
            and not bead.close_reason.startswith(PASSES_AGAIN)
            and bead.is_eligible_by_kind
            and scope.holds(bead)
        ):
            yield bead


def _write(site: AttemptContext, measured: MeasureResult, begun_at: str) -> None:
    """measure.json: what `helix report` and a person read."""
    row = {
        "format": FORMAT,
        "begun_at": begun_at,
        "ended_at": site.clock.stamp(),
        **summary_row(measured),
        "tests": [row_of_test(test) for test in measured.tests[:_MOST_KEPT]],
        "tests_left_out": max(len(measured.tests) - _MOST_KEPT, 0),
    }
    JsonFile(measured.path).write(site.masker.mask_row(row))


def summary_row(measured: MeasureResult) -> dict[str, Any]:
    """The same without the tests that passed."""
    return {
        "id": measured.id,
        "scope": measured.scope,
        "commit": measured.commit,
        "branch": measured.branch,
        "passed": measured.passed,
        "interrupted": measured.was_interrupted,
        "beads": list(measured.beads),
        "checks": [check.as_row() for check in measured.checks],
        "counts": measured.counts,
        "failures": [row_of_test(test) for test in measured.failures],
        "created": list(measured.created),
        "updated": list(measured.updated),
        "closed": list(measured.closed),
        "problems": list(measured.problems),
        "remarks": list(measured.remarks),
    }


def row_of_test(test: MeasuredTest) -> dict[str, Any]:
    said = test.located.test
    return {
        "id": test.located.id,
        "name": said.name,
        "file": test.located.file,
        "line": said.line,
        "state": str(test.state),
        "spec": test.spec.document,
        "command": test.command,
        "message": said.message,
        "output": said.output,
    }
