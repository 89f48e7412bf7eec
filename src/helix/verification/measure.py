"""Does what landed still hold? Everything that proves it, once more, at the tip (V-1, V-2).

measure.json is on the disk before the tracker changes: what is closed there names it as evidence.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.execution.measuring import open_tip
from ddx.execution.model import Bead
from ddx.execution.results import check_row
from ddx.fastjson import to_bytes
from ddx.files import replace
from ddx.text import listed
from ddx.tracker.criteria import RunCommand, criteria_of, judge
from ddx.tracker.model import (
    eligible_by_default,
    labels_of,
    links_of,
    status_of,
    text_of,
    type_of,
)
from ddx.values import changed, value
from helix.actions.scope import Kind
from helix.verification.filing import Occasion, Settled, file_traces, open_traces
from helix.verification.gathering import Gatherer, missing_tests, read_again, untold_tests
from helix.verification.model import State
from helix.verification.reports import Reporter
from helix.verification.settling import PASSES_AGAIN
from helix.verification.traceback import trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.execution.measuring import Tip
    from ddx.execution.model import Check
    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from helix.actions.scope import Scope
    from helix.slider import Slider
    from helix.verification.filing import OpenTrace
    from helix.verification.gathering import Gathered
    from helix.verification.traceback import Failure

ACTION = "measure"
FILE = "measure.json"
FORMAT = 1

_MOST_PROBES = 50
_MOST_KEPT = 20_000
"""Tests that measure.json names; failures come first."""


@value
class Measured:
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
    tests: tuple[Gathered, ...]
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
    def failures(self) -> tuple[Gathered, ...]:
        return tuple(test for test in self.tests if test.is_failure)

    @property
    def counts(self) -> dict[str, int]:
        return {state: sum(test.state is state for test in self.tests) for state in State}


def measure(
    site: Site,
    slider: Slider,
    scope: Scope,
    *,
    beads: Sequence[str] = (),
    evidence_dir: str = "",
) -> Measured:
    """Prove the landed beads of the scope, and `beads` whether they landed or not, at the tip.

    An interrupted measure changes nothing. `beads` that are still open wait afterwards for what is
    filed, since they fail because of it (S-36). `evidence_dir` is where measure.json goes; without
    it, into the record.
    """
    begun_at = site.clock.stamp()
    snapshot = site.tracker.snapshot()
    subjects, remarks = _subjects(site, snapshot, scope, beads)
    with open_tip(site, action=ACTION) as tip:
        look = _Look(tip, site, slider, subjects, open_traces(snapshot))
        look.prove()
        path = os.path.join(evidence_dir or tip.folder, FILE)
        measured = changed(look.measured(scope), path=path, remarks=remarks)
        if site.stop.asked:
            return changed(measured, path="", was_interrupted=True)
        _write(site, path, _row(measured, site, begun_at))
        failures = look.failures() if slider.auto_traceback else ()
    if not slider.auto_traceback:
        return measured
    occasion = Occasion(
        measured.id,
        begun_at,
        measured.commit,
        _from_root(site, path),
        scope.text if scope.kind is Kind.EPIC else "",
        tuple(beads),
        slider.failure_triage == "manual",
    )
    traces = trace(failures, commit=measured.commit, evidence=occasion.evidence)
    settled = file_traces(site, traces, occasion, states=look.states, gone=look.gone)
    return _settled(site, measured, settled, begun_at)


def _settled(site: Site, measured: Measured, settled: Settled, begun_at: str) -> Measured:
    whole = changed(
        measured,
        created=settled.created,
        updated=settled.updated,
        closed=settled.closed,
        remarks=(*measured.remarks, *settled.remarks),
    )
    if whole != measured:
        _write(site, whole.path, _row(whole, site, begun_at))
    return whole


class _Look:
    """One look at the tip, from the checks to the tests that they told of."""

    def __init__(
        self,
        tip: Tip,
        site: Site,
        slider: Slider,
        subjects: Sequence[Bead],
        opened: Sequence[OpenTrace],
    ) -> None:
        self._tip = tip
        self._site = site
        self._subjects = subjects
        self._opened = opened
        self._gatherer = Gatherer(tip, max_depth=slider.max_depth)
        self._reporter = self._new_reporter()
        self._tests: dict[str, Gathered] = {}
        self.states: dict[str, State] = {}
        self.gone: tuple[str, ...] = ()

    def prove(self) -> None:
        self._tip.prove(self._subjects, after=self._reporter.after)
        if self._site.stop.asked:
            return
        told = self._reporter.told
        self._tests = self._gatherer.gather(told)
        states = {name: test.state for name, test in self._tests.items()}
        known = [test for one in self._opened for test in one.bead.tests]
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

    def measured(self, scope: Scope) -> Measured:
        proof = self._tip.proof
        told = self._reporter.told
        problems = tuple(f"{one.check.name}: {it}" for one in told for it in one.problems)
        tests = tuple(sorted(self._tests.values(), key=lambda test: not test.is_failure))
        is_clean = not problems and not any(test.is_failure for test in tests)
        return Measured(
            self._tip.id,
            scope.text,
            self._tip.commit,
            self._tip.branch,
            proof is not None and proof.ok and is_clean,
            tuple(bead.id for bead in self._subjects),
            proof.checks if proof else (),
            tests,
            problems=problems,
        )

    def failures(self) -> tuple[Failure, ...]:
        asking: dict[str, list[str]] = {}
        for bead in self._subjects:
            for criterion in criteria_of(bead.row):
                if isinstance(criterion, RunCommand):
                    asking.setdefault(criterion.command, []).append(bead.id)
        beads = {command: tuple(dict.fromkeys(ids)) for command, ids in asking.items()}
        failed = (test for test in self._tests.values() if test.is_failure)
        return tuple(self._gatherer.failure(test, beads) for test in failed)

    def _new_reporter(self) -> Reporter:
        return Reporter(
            workspace=self._tip.workspace,
            evidence=self._tip.evidence,
            record=self._tip.folder,
            masker=self._site.masker,
        )


def _subjects(
    site: Site, snapshot: Snapshot, scope: Scope, beads: Sequence[str]
) -> tuple[tuple[Bead, ...], tuple[str, ...]]:
    """The beads to prove, and what is said of those that cannot be."""
    rows = {text_of(row, "id"): row for row in _landed(snapshot, scope)}
    rows |= {bead_id: snapshot.row(bead_id) for bead_id in beads}
    found, without = [], []
    for bead_id, row in rows.items():
        if judge(row, default_checks=site.settings.default_checks).criteria:
            found.append(Bead(bead_id, row))
        else:
            without.append(bead_id)
    said = f"nothing can be run for {listed(without)}, so it was not measured"
    return tuple(found), (said,) if without else ()


def _landed(snapshot: Snapshot, scope: Scope) -> Iterator[Row]:
    """Closed with evidence and in force; what only steers work has no criteria to prove.

    Nor has what a measure itself closed: the check that found the failure goes on to look for it.
    """
    for row in snapshot.rows():
        if (
            status_of(row) == "closed"
            and (text_of(row, "closing_commit_sha") or text_of(row, "session_id"))
            and not links_of(row, "superseded-by")
            and not text_of(row, "close_reason").startswith(PASSES_AGAIN)
            and eligible_by_default(type_of(row), labels_of(row))
            and scope.holds(row)
        ):
            yield row


def _write(site: Site, path: str, row: Mapping[str, Any]) -> None:
    replace(path, (to_bytes(site.masker.mask_row(row)), b"\n"))


def _row(measured: Measured, site: Site, begun_at: str) -> dict[str, Any]:
    """measure.json: what `helix report` and a person read."""
    return {
        "format": FORMAT,
        "begun_at": begun_at,
        "ended_at": site.clock.stamp(),
        **summary_row(measured),
        "tests": [row_of_test(test) for test in measured.tests[:_MOST_KEPT]],
        "tests_left_out": max(len(measured.tests) - _MOST_KEPT, 0),
    }


def summary_row(measured: Measured) -> dict[str, Any]:
    """The same without the tests that passed."""
    return {
        "id": measured.id,
        "scope": measured.scope,
        "commit": measured.commit,
        "branch": measured.branch,
        "passed": measured.passed,
        "interrupted": measured.was_interrupted,
        "beads": list(measured.beads),
        "checks": [check_row(check) for check in measured.checks],
        "counts": measured.counts,
        "failures": [row_of_test(test) for test in measured.failures],
        "created": list(measured.created),
        "updated": list(measured.updated),
        "closed": list(measured.closed),
        "problems": list(measured.problems),
        "remarks": list(measured.remarks),
    }


def row_of_test(test: Gathered) -> dict[str, Any]:
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


def _from_root(site: Site, path: str) -> str:
    """As the project calls it, if it lies there."""
    below = os.path.relpath(path, site.project.root)
    return path if below.startswith(os.pardir) else below
