"""The tests of a measure in the project that they belong to: file, document, way to run them again.

Everything is read from the workspace while it is there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.base import value
from ddx.documents import SourceFile
from ddx.project import Project
from helix.verification.failure_beads import CHECK, TESTS, UNMET, FailingTest, kind_of
from helix.verification.located_tests import (
    LocatedTest,
    ProjectFiles,
    SpecRef,
    find_spec,
    line_of,
    locate,
)
from helix.verification.reported_tests import ReportedState, ReportedTest, worst_first
from helix.verification.rerun_command import reproduce

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.attempts import TipWorkspace
    from ddx.documents import Graph
    from ddx.tracker import Bead
    from helix.intake import Conflict
    from helix.verification.report_files import CheckReports

_MOST_READ = 2_000_000
"""Of one file: what a person wrote is shorter."""


@value
class MeasuredTest:
    """One test of a measure; the worst that any check said of it."""

    located: LocatedTest
    state: ReportedState
    command: str
    spec: SpecRef = SpecRef()
    is_hidden: bool = False
    """The check passes all the same, as `pytest || true` does: only its report tells."""

    @property
    def is_failure(self) -> bool:
        return self.state in (ReportedState.FAILED, ReportedState.ERROR)


class MeasuredTestReader:
    """Knows the files and documents of the tip."""

    def __init__(self, tip: TipWorkspace, *, max_depth: int) -> None:
        self._workspace = tip.workspace
        self.tree = ProjectFiles(tip.paths(), root=os.path.realpath(tip.workspace))
        self._graph = tip.documents().graph
        self._max_depth = max_depth
        self._texts: dict[str, str] = {}
        self._tagged: dict[str, SourceFile] = {}
        self._conflicts: dict[str, tuple[Conflict | None, str]] = {}

    def gather(self, told: Sequence[CheckReports]) -> dict[str, MeasuredTest]:
        """Every test by its name, in the order in which they were first told of."""
        found: dict[str, MeasuredTest] = {}
        for one in told:
            for report in one.reports:
                for test in report.tests:
                    located = locate(test, self.tree, command=one.check.command, read=self._text)
                    known = found.get(located.id)
                    if known and worst_first((known.state, test.state)) is known.state:
                        continue
                    spec = known.spec if known else self._spec(located)
                    found[located.id] = MeasuredTest(
                        located,
                        test.state,
                        one.check.command,
                        spec=spec,
                        is_hidden=one.check.passed,
                    )
        return found

    def failure(self, test: MeasuredTest, beads: Mapping[str, tuple[str, ...]]) -> FailingTest:
        conflict, upstream = self._conflict(test.spec.document)
        reproduction = reproduce(test.command, test.located)
        return FailingTest(
            test=test.located,
            command=test.command,
            reproduction=reproduction,
            spec=test.spec,
            conflict=conflict,
            upstream=upstream,
            beads=beads.get(test.command, ()),
            is_provable=reproduction.is_exact or not test.is_hidden,
        )

    def _spec(self, test: LocatedTest) -> SpecRef:
        file = self._tags_of(test.file)
        is_clear = len(set(file.names)) <= 1
        line = 0 if is_clear else line_of(self._text(test.file), test)
        return find_spec(file, line=line, resolve=self._document)

    def _document(self, name: str) -> str:
        n = self._graph.find(name.partition("#")[0])
        return "" if n is None else self._graph.ids[n]

    def _tags_of(self, file: str) -> SourceFile:
        if file not in self._tagged:
            content = self._text(file).encode("utf-8", "replace") if file else b""
            self._tagged[file] = SourceFile.tagged(file, content)
        return self._tagged[file]

    def _text(self, file: str) -> str:
        """A file of the commit, as the graph would read it; what is no plain file is empty."""
        if file not in self._texts:
            self._texts[file] = self._read(file)
        return self._texts[file]

    def _read(self, file: str) -> str:
        try:
            path = os.path.join(self._workspace, file)
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ""  # a command of the project removed it, or it is a link
        with open(fd, "rb") as opened:
            return opened.read(_MOST_READ).decode("utf-8", "replace")

    def _conflict(self, document: str) -> tuple[Conflict | None, str]:
        if document not in self._conflicts:
            project = Project(self._workspace)
            found = find_upstream_conflict(project, self._graph, document, self._max_depth)
            self._conflicts[document] = found
        return self._conflicts[document]


def find_upstream_conflict(
    project: Project, graph: Graph, document: str, max_depth: int
) -> tuple[Conflict | None, str]:
    """The gravest conflict of a document with one that it follows from, and which one (I-5).

    To say the same twice is no reason why a test could not pass.
    """
    from helix.intake import DisagreementKind, find_conflicts, read_statements

    n = graph.find(document) if document else None
    if n is None:
        return None, ""
    above = [it.n for it in graph.closure([n], down=False, max_depth=max_depth)]
    upstream = [graph.ids[it] for it in above if not graph.is_superseded(it)]
    statements = read_statements(project, graph, (document, *upstream))
    for conflict in find_conflicts(statements):
        sides = {conflict.one.document, conflict.other.document}
        is_double = conflict.nature is DisagreementKind.DUPLICATE
        if document in sides and len(sides) == 2 and not is_double:
            return conflict, (sides - {document}).pop()
    return None, ""


def read_again(
    names: Iterable[str], states: Mapping[str, ReportedState]
) -> dict[str, ReportedState]:
    """Files that could not even be read once, and of which tests are told now."""
    files = {test.partition("::")[0] for test in states}
    return {name: ReportedState.PASSED for name in names if name in files and name not in states}


def missing_tests(
    opened: Sequence[Bead],
    told: Sequence[CheckReports],
    states: Mapping[str, ReportedState],
    tree: ProjectFiles,
) -> tuple[str, ...]:
    """Tests that were there once and are no more: their file is gone, or nobody ran them now.

    A check that failed may have ended early, so that only one that passed can tell.
    """
    whole = {
        one.check.command
        for one in told
        if one.check.passed and not one.problems and all(it.is_whole for it in one.reports)
    }
    return tuple(
        test
        for bead in opened
        for test in bead.texts(TESTS)
        if test not in states and (bead.text(CHECK) in whole or _is_gone(test, tree))
    )


def untold_tests(
    opened: Sequence[Bead],
    told: Sequence[CheckReports],
    states: Mapping[str, ReportedState],
    tree: ProjectFiles,
) -> tuple[tuple[str, str], ...]:
    """Tests of checks that passed but named only failures, each with a command that asks for it."""
    partial = {
        one.check.command
        for one in told
        if one.check.passed and not all(it.is_whole for it in one.reports)
    }
    return tuple(
        (test, command)
        for bead in opened
        if bead.text(CHECK) in partial
        for test in bead.texts(TESTS)
        if test not in states and not _is_gone(test, tree) and (command := _asking(bead, test))
    )


def _asking(bead: Bead, test: str) -> str:
    """The command for this one test; empty where nobody knows one."""
    if kind_of(bead) == UNMET:
        return next(iter(bead.verify), "")
    head, bracket, rest = test.partition("[")
    file, *names = head.split("::")
    name = f"{names[-1] if names else file}{bracket}{rest}"
    located = LocatedTest(
        test, ReportedTest(name, ReportedState.FAILED), file, said=file, names=tuple(names[:-1])
    )
    found = reproduce(bead.text(CHECK), located)
    return found.command if found.is_exact else ""


def _is_gone(test: str, tree: ProjectFiles) -> bool:
    file = test.partition("::")[0]
    return SourceFile(file).is_scanned and file not in tree
