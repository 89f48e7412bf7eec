"""Why is this here, and what became of that: one question, asked from either end (V-4)."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.errors import UsageError
from ddx.git import commit_id
from ddx.git.history import commits_by_id, commits_touching, signed_commits, touched_paths
from ddx.git.trees import content
from ddx.graph.authority import resolve
from ddx.graph.cache import load_graph
from ddx.graph.tags import LARGEST_FILE, is_scanned, read_tags
from ddx.tracker.model import text_of, texts_of
from ddx.values import changed, value
from helix.verification.attempts import read_attempts
from helix.verification.report import read_rows
from helix.verification.threads import (
    ATTEMPT,
    BEAD,
    COMMIT,
    FILE,
    FILES,
    PART,
    Known,
    Node,
    Threads,
    commits_in,
    requirements_in,
)
from helix.verification.traceback import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.execution.work import Site
    from ddx.git.history import Told

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

    subject: Node
    above: tuple[Node, ...]
    below: tuple[Node, ...]
    requirements: tuple[str, ...]
    """The documents above that justify it, the nearest first."""
    commits: tuple[str, ...]
    """Everything below that git still has."""
    remarks: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Tracer:
    """One look at the project, from which every question is answered."""

    def __init__(self, site: Site) -> None:
        self._root = site.project.root
        attempts = read_attempts(site.project)
        rows = {str(row["id"]): row for row in read_rows(site)}
        signed = {told.commit: told for told in signed_commits(self._root)}
        closing = [text_of(row, "closing_commit_sha") for row in rows.values()]
        unknown = [name for name in closing if name and name not in signed]
        self._known = Known(
            load_graph(site.project, site.settings.document_roots, clock=site.clock),
            rows,
            attempts.all,
            {**signed, **commits_by_id(self._root, unknown)},
        )
        self._threads = Threads(self._known)
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
        holders = () if resolve(word, graph.known) else graph.holders(word)
        if holders:
            places = [graph.place[doc_id] for doc_id in holders]
            node = Node(PART, word, note=f"a part of {', '.join(holders)}, which is traced")
            owners = tuple(map(self._with_below, places))
            above = tuple(one for n in places for one in self._threads.above_document(n))
            return self._made(node, above, owners)
        n = graph.find(word)
        if n is None:
            return None
        node = self._with_below(n)
        requirements = requirements_in(graph, (changed(node, children=()),))
        made = self._made(
            changed(node, children=()), self._threads.above_document(n), node.children
        )
        return changed(made, requirements=(*requirements, *made.requirements))

    def _with_below(self, n: int) -> Node:
        files = self._threads.files_below(n)
        touching = commits_touching(self._root, files, most=_MOST_COMMITS)
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
        commit = commit_id(self._root, word)
        if not commit:
            return None
        told = self._known.commits.get(commit) or commits_by_id(self._root, [commit])[commit]
        paths = touched_paths(self._root, commit)
        above = self._threads.above_commit(told, self._places(commit, paths))
        node = Node(COMMIT, commit, told.subject, f"by {told.author}", told.at)
        return self._made(node, above, (), tuple(self._remarks(told, paths, above)))

    def _test(self, word: str) -> Trace | None:
        """One test of a file, as reports name it: with the beads that its failing has made."""
        file, mark, _ = word.partition("::")
        whole = self._document(file) if mark else None
        if whole is None:
            return None
        beads = [bead for bead, row in self._known.beads.items() if word in texts_of(row, TESTS)]
        failing = [
            changed(self._threads.bead_node(bead), children=self._threads.below_bead(bead))
            for bead in beads
        ]
        node = Node(PART, word, note=f"a part of {whole.subject.id}, which is traced")
        return self._made(node, whole.above, (*failing, *whole.below))

    def _file(self, word: str) -> Trace | None:
        """A file that names no document is there because of its commits."""
        path = posixpath.normpath(word.removeprefix(f"{self._root}/"))
        told = commits_touching(self._root, [path], most=_MOST_COMMITS).get(path)
        if not told:
            return None
        above = self._threads.above_file(told)
        requirements = requirements_in(self._known.graph, above)
        remark = "nothing that asked for its commits names a document"
        remarks = () if requirements else (remark,)
        return self._made(Node(FILE, path), above, (), remarks)

    def _places(self, commit: str, paths: Sequence[str]) -> list[int]:
        """The documents and tagged files that it touched; of a file that is gone, its tags then."""
        graph = self._known.graph
        found: dict[int, None] = {}
        gone = []
        for path in paths[:_MOST_FILES]:
            n = graph.at_path.get(path)
            if n is not None:
                found[n] = None
            elif is_scanned(path):
                gone.append(path)
        for path in gone[:_MOST_READ]:
            text = content(self._root, commit, path)
            if text is not None and len(text) <= LARGEST_FILE:
                places = (graph.find(link.target) for link in read_tags(path, text).links)
                found |= dict.fromkeys(n for n in places if n is not None)
        return list(found)

    def _remarks(self, told: Told, paths: Sequence[str], above: Sequence[Node]) -> Iterator[str]:
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
        subject: Node,
        above: tuple[Node, ...],
        below: tuple[Node, ...],
        remarks: tuple[str, ...] = (),
    ) -> Trace:
        requirements = requirements_in(self._known.graph, above)
        return Trace(subject, above, below, requirements, commits_in(below), remarks)

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
