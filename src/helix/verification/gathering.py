"""The tests of a measure in the project that they belong to: file, document, way to run them again.

Everything is read from the workspace while it is there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.graph.tags import LARGEST_FILE, is_scanned, read_tags
from ddx.graph.walk import closure
from ddx.project import Project
from ddx.values import value
from helix.verification.locating import Located, Tree, locate
from helix.verification.model import Case, State
from helix.verification.reproducing import reproduce
from helix.verification.results import worst_first
from helix.verification.spec_refs import SpecRef, find_spec, line_of
from helix.verification.traceback import UNMET, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.execution.measuring import Tip
    from ddx.graph.graph import Graph
    from ddx.graph.model import Link
    from helix.policy.conflicts import Conflict
    from helix.verification.filing import OpenTrace
    from helix.verification.reports import Told


@value
class Gathered:
    """One test of a measure; the worst that any check said of it."""

    located: Located
    state: State
    command: str
    spec: SpecRef = SpecRef()
    is_hidden: bool = False
    """The check passes all the same, as `pytest || true` does: only its report tells."""

    @property
    def is_failure(self) -> bool:
        return self.state in (State.FAILED, State.ERROR)


class Gatherer:
    """Knows the files and documents of the tip."""

    def __init__(self, tip: Tip, *, max_depth: int) -> None:
        self._workspace = tip.workspace
        self.tree = Tree(tip.paths(), root=os.path.realpath(tip.workspace))
        self._graph = tip.documents().graph
        self._max_depth = max_depth
        self._texts: dict[str, str] = {}
        self._links: dict[str, tuple[Link, ...]] = {}
        self._conflicts: dict[str, tuple[Conflict | None, str]] = {}

    def gather(self, told: Sequence[Told]) -> dict[str, Gathered]:
        """Every test by its name, in the order in which they were first told of."""
        found: dict[str, Gathered] = {}
        for one in told:
            for report in one.reports:
                for test in report.tests:
                    located = locate(test, self.tree, command=one.check.command, read=self._text)
                    known = found.get(located.id)
                    if known and worst_first((known.state, test.state)) is known.state:
                        continue
                    spec = known.spec if known else self._spec(located)
                    found[located.id] = Gathered(
                        located, test.state, one.check.command, spec, one.check.passed
                    )
        return found

    def failure(self, test: Gathered, beads: Mapping[str, tuple[str, ...]]) -> Failure:
        conflict, upstream = self._conflict(test.spec.document)
        reproduction = reproduce(test.command, test.located)
        return Failure(
            test.located,
            test.command,
            reproduction,
            test.spec,
            conflict,
            upstream,
            beads.get(test.command, ()),
            reproduction.is_exact or not test.is_hidden,
        )

    def _spec(self, test: Located) -> SpecRef:
        links = self._links_of(test.file)
        if not links:
            return SpecRef()
        is_one = len({link.target for link in links}) == 1
        line = 0 if is_one else line_of(self._text(test.file), test)
        is_python = test.file.endswith(".py")
        return find_spec(links, line=line, is_python=is_python, resolve=self._document)

    def _document(self, name: str) -> str:
        n = self._graph.find(name.partition("#")[0])
        return "" if n is None else self._graph.ids[n]

    def _links_of(self, file: str) -> tuple[Link, ...]:
        if file not in self._links:
            content = self._text(file).encode("utf-8", "replace") if file else b""
            self._links[file] = read_tags(file, content).links
        return self._links[file]

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
            return opened.read(LARGEST_FILE).decode("utf-8", "replace")

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
    from helix.policy.conflicts import find_conflicts
    from helix.policy.disagreement import Nature
    from helix.statements import read_statements

    n = graph.find(document) if document else None
    if n is None:
        return None, ""
    above = [it.n for it in closure(graph, [n], down=False, max_depth=max_depth)]
    upstream = [graph.ids[it] for it in above if not graph.is_superseded(it)]
    statements = read_statements(project, graph, (document, *upstream))
    for conflict in find_conflicts(statements):
        sides = {conflict.one.document, conflict.other.document}
        is_double = conflict.reason.startswith(Nature.DUPLICATE)
        if document in sides and len(sides) == 2 and not is_double:
            return conflict, (sides - {document}).pop()
    return None, ""


def read_again(names: Iterable[str], states: Mapping[str, State]) -> dict[str, State]:
    """Files that could not even be read once, and of which tests are told now."""
    files = {test.partition("::")[0] for test in states}
    return {name: State.PASSED for name in names if name in files and name not in states}


def missing_tests(
    opened: Sequence[OpenTrace], told: Sequence[Told], states: Mapping[str, State], tree: Tree
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
        for trace in opened
        for test in trace.bead.tests
        if test not in states and (trace.check in whole or _is_gone(test, tree))
    )


def untold_tests(
    opened: Sequence[OpenTrace], told: Sequence[Told], states: Mapping[str, State], tree: Tree
) -> tuple[tuple[str, str], ...]:
    """Tests of checks that passed but named only failures, each with a command that asks for it."""
    partial = {
        one.check.command
        for one in told
        if one.check.passed and not all(it.is_whole for it in one.reports)
    }
    return tuple(
        (test, command)
        for trace in opened
        if trace.check in partial
        for test in trace.bead.tests
        if test not in states and not _is_gone(test, tree) and (command := _asking(trace, test))
    )


def _asking(trace: OpenTrace, test: str) -> str:
    """The command for this one test; empty where nobody knows one."""
    if trace.bead.kind == UNMET:
        return next(iter(trace.verify), "")
    head, bracket, rest = test.partition("[")
    file, *names = head.split("::")
    name = f"{names[-1] if names else file}{bracket}{rest}"
    located = Located(test, Case(name, State.FAILED), file, file, tuple(names[:-1]))
    found = reproduce(trace.check, located)
    return found.command if found.is_exact else ""


def _is_gone(test: str, tree: Tree) -> bool:
    file = test.partition("::")[0]
    return is_scanned(file) and file not in tree
