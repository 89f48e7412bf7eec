"""Why is this here, and what became of that: one question, asked from either end (V-4)."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.base import UsageError, changed, value
from ddx.documents import SourceFile, load_graph
from ddx.git import Repository
from helix.verification.attempt_history import read_history
from helix.verification.failure_beads import TESTS
from helix.verification.report import read_beads
from helix.verification.trace_links import (
    ATTEMPT,
    BEAD,
    COMMIT,
    FILE,
    FILES,
    PART,
    TraceInput,
    TraceLinks,
    TraceNode,
    commits_in,
    requirements_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.attempts import AttemptContext
    from ddx.git import HistoryCommit

OURS = (".ddx/", ".helix/", ".helix-logs/")
_MOST_COMMITS = 1000
_MOST_FILES = 500
_MOST_READ = 50
"""Files of a commit whose tags are looked for in the commit itself."""
_MOST_NEAR = 3
_SHORT_ATTEMPT = re.compile(r"[0-9a-f]{6}")
"""How the lines of a run name an attempt."""


@value
class Trace:
    """What was asked for, what it follows from, and what follows from it."""

    subject: TraceNode
    above: tuple[TraceNode, ...]
    below: tuple[TraceNode, ...]
    requirements: tuple[str, ...]
    """The documents above that justify it, the nearest first."""
    commits: tuple[str, ...]
    """Everything below that git still has."""
    remarks: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Tracer:
    """One look at the project, from which every question is answered."""

    def __init__(self, site: AttemptContext) -> None:
        self._root = site.project.root
        self._repository = Repository(self._root)
        attempts = read_history(site.project)
        beads = {bead.id: bead for bead in read_beads(site)}
        signed = {told.commit: told for told in self._repository.signed_commits()}
        closing = [bead.closing_commit for bead in beads.values()]
        unknown = [name for name in closing if name and name not in signed]
        self._known = TraceInput(
            load_graph(site.project, site.settings.document_roots, clock=site.clock),
            beads,
            attempts.all,
            commits={**signed, **self._repository.commits_by_id(unknown)},
        )
        self._threads = TraceLinks(self._known)
        self._unreadable = attempts.unreadable

    def trace(self, word: str, *, path: str = "") -> Trace:
        """Of a bead, a document or a part of one, an attempt, a commit, a test or a file.

        `path` is the file that the word means where it was typed, seen from the root.
        """
        ways = (self._bead, self._document, self._attempt, self._commit, self._test, self._file)
        found = next(filter(None, (way(it) for it in (word, path) if it for way in ways)), None)
        if found is None:
            raise self._unknown(word)
        return changed(found, unreadable=self._unreadable)

    def _bead(self, word: str) -> Trace | None:
        if word not in self._known.beads:
            return None
        above, below = self._threads.above_bead(word), self._threads.below_bead(word)
        remarks = () if above else (f"{word} names no document, so nothing justifies it",)
        return self._made(self._threads.bead_node(word), above, below, remarks)

    def _document(self, word: str) -> Trace | None:
        graph = self._known.graph
        holders = () if graph.resolve(word) else graph.holders(word)
        if holders:
            places = [graph.place[doc_id] for doc_id in holders]
            node = TraceNode(PART, word, note=f"a part of {', '.join(holders)}, which is traced")
            owners = tuple(map(self._with_below, places))
            above = tuple(one for n in places for one in self._threads.above_document(n))
            return self._made(node, above, owners)
        n = graph.find(word)
        if n is None:
            return None
        node, below = self._threads.document_node(n), self._with_below(n).children
        made = self._made(node, self._threads.above_document(n), below)
        own = requirements_in(graph, (node,))
        return changed(made, requirements=(*own, *made.requirements))

    def _with_below(self, n: int) -> TraceNode:
        files = self._threads.files_below(n)
        touching = self._repository.commits_touching(files, most=_MOST_COMMITS)
        node, graph = self._threads.document_node(n), self._known.graph
        if graph.types[n] in FILES:
            told = touching.get(graph.paths[n], ())
            return changed(node, children=tuple(self._threads.touching(told)))
        return changed(node, children=self._threads.below_document(n, by_hand=touching))

    def _attempt(self, word: str) -> Trace | None:
        named = [it for it in self._known.attempts if it.id == word]
        if not named and _SHORT_ATTEMPT.fullmatch(word):
            named = [it for it in self._known.attempts if it.id.endswith(f"-{word}")]
        if len(named) != 1:
            return None
        (record,) = named
        name = record.lands or record.id
        return self._made(
            self._threads.attempt_node(name),
            self._threads.above_attempt(name),
            self._threads.below_attempt(name),
        )

    def _commit(self, word: str) -> Trace | None:
        commit = self._repository.commit_id(word)
        if not commit:
            return None
        known = self._known.commits.get(commit)
        told = known or self._repository.commits_by_id([commit])[commit]
        paths = self._repository.touched_paths(commit)
        above = self._threads.above_commit(told, self._places(commit, paths))
        node = TraceNode(COMMIT, commit, told.subject, note=f"by {told.author}", at=told.at)
        return self._made(node, above, (), tuple(self._remarks(told, paths, above)))

    def _test(self, word: str) -> Trace | None:
        """One test of a file, as reports name it: with the beads that its failing has made."""
        file, mark, _ = word.partition("::")
        whole = self._document(file) if mark else None
        if whole is None:
            return None
        failing = [
            changed(self._threads.bead_node(it), children=self._threads.below_bead(it))
            for it, bead in self._known.beads.items()
            if word in bead.texts(TESTS)
        ]
        node = TraceNode(PART, word, note=f"a part of {whole.subject.id}, which is traced")
        return self._made(node, whole.above, (*failing, *whole.below))

    def _file(self, word: str) -> Trace | None:
        """A file that names no document is there because of its commits."""
        path = posixpath.normpath(word.removeprefix(f"{self._root}/"))
        told = self._repository.commits_touching([path], most=_MOST_COMMITS).get(path)
        if not told:
            return None
        above = self._threads.above_file(told)
        made = self._made(TraceNode(FILE, path), above, ())
        remark = "nothing that asked for its commits names a document"
        return made if made.requirements else changed(made, remarks=(remark,))

    def _places(self, commit: str, paths: Sequence[str]) -> list[int]:
        """The documents and tagged files that it touched; of a file that is gone, its tags then."""
        graph = self._known.graph
        found: dict[int, None] = {}
        gone = []
        for path in paths[:_MOST_FILES]:
            n = graph.at_path.get(path)
            if n is not None:
                found[n] = None
            elif SourceFile(path).is_scanned:
                gone.append(path)
        for path in gone[:_MOST_READ]:
            text = self._repository.content(commit, path)
            names = SourceFile.tagged(path, text or b"").names
            places = (graph.find(name) for name in names)
            found |= dict.fromkeys(n for n in places if n is not None)
        return list(found)

    def _remarks(
        self, told: HistoryCommit, paths: Sequence[str], above: Sequence[TraceNode]
    ) -> Iterator[str]:
        """What a person should hear who expected more."""
        kinds = {node.kind for node in above}
        if not kinds & {ATTEMPT, BEAD}:
            yield f"{told.author} made it by hand: no bead asked for it"
            if paths and all(path.startswith(OURS) for path in paths):
                yield "it holds only what HELIX itself keeps"
            elif above:
                yield "what is above it follows from the files that it touched"
            else:
                yield "nothing that it touched says which document it belongs to"
        elif not self._threads.is_explained(told):
            yield "its bead names no document; what is above follows from its files"
        if len(paths) > _MOST_FILES:
            yield f"only the first {_MOST_FILES} of its {len(paths):,} files were looked at"

    def _made(
        self,
        subject: TraceNode,
        above: tuple[TraceNode, ...],
        below: tuple[TraceNode, ...],
        remarks: tuple[str, ...] = (),
    ) -> Trace:
        requirements, commits = requirements_in(self._known.graph, above), commits_in(below)
        return Trace(
            subject, above, below, requirements=requirements, commits=commits, remarks=remarks
        )

    def _unknown(self, word: str) -> UsageError:
        folded = word.casefold()
        names = (*self._known.graph.ids, *self._known.beads)
        near = [name for name in names if folded and folded in name.casefold()][:_MOST_NEAR]
        return UsageError(
            f"{word!r} is no document, bead, attempt, commit or file here",
            hint=f"did you mean {' or '.join(near)}?"
            if near
            else "see: ddx doc list, ddx bead list, git log --oneline",
        )
