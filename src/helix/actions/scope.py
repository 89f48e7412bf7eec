"""What a command is about: one resolver for every word that a person may type (C-10)."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.errors import UsageError
from ddx.graph.authority import numbered_id
from ddx.graph.cache import load_graph
from ddx.graph.walk import closure
from ddx.tracker.model import labels_of, links_of, text_of, texts_of
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot

REPO = "repo"
_NO_DOCUMENTS = frozenset({"code", "test"})


class Kind(StrEnum):
    REPO = "repo"
    BEAD = "bead"
    EPIC = "epic"
    DOCUMENT = "document"
    LABEL = "label"
    PATH = "path"


@value
class Scope:
    """A part of the project: its beads and documents; of the whole repository all of them."""

    text: str
    kind: Kind
    beads: frozenset[str] = frozenset()
    """As they were when the scope was resolved; `holds` also tells of later ones."""
    documents: tuple[str, ...] = ()
    """The ids of the documents, the one that was named first."""
    names: frozenset[str] = frozenset()
    """What a bead may call these documents."""

    def holds(self, row: Row) -> bool:
        """Is this bead a part of it, be it new?"""
        match self.kind:
            case Kind.REPO:
                return True
            case Kind.BEAD | Kind.EPIC:
                return text_of(row, "id") in self.beads or text_of(row, "parent") in self.beads
            case Kind.DOCUMENT:
                return bool(self.names.intersection(named_documents(row)))
            case Kind.LABEL:
                return self.text in labels_of(row)
            case Kind.PATH:
                return any(_touch(self.text, path) for path in texts_of(row, "paths"))

    def holds_document(self, doc_id: str) -> bool:
        return self.kind is Kind.REPO or doc_id in self.documents

    @property
    def document(self) -> str:
        """The document that was named; empty: it is about something else."""
        return self.documents[0] if self.kind is Kind.DOCUMENT and self.documents else ""

    @property
    def described(self) -> str:
        """For a prompt and for a person."""
        match self.kind:
            case Kind.REPO:
                return "the whole repository"
            case Kind.EPIC:
                return f"the epic {self.text} and all beads below it"
            case Kind.DOCUMENT:
                return f"the document {self.text} and all that follows from it"
            case Kind.LABEL:
                return f"all beads with the label {self.text}"
            case Kind.BEAD | Kind.PATH:
                return f"the {self.kind} {self.text}"


def resolve_scope(site: Site, text: str = REPO) -> Scope:
    """What is meant; a word that means nothing here is a mistake and no empty scope."""
    word = text.strip()
    if word in ("", REPO):
        return Scope(REPO, Kind.REPO)
    snapshot = site.tracker.snapshot()
    graph = load_graph(site.project, site.settings.document_roots, clock=site.clock)
    found = (
        _bead(snapshot, word)
        or _document(snapshot, graph, word)
        or _label(snapshot, word)
        or _path(site, snapshot, graph, word)
    )
    if found is None:
        raise UsageError(
            f"nothing here is called {text!r}",
            hint="a scope is a bead, an epic, a document, a label, a path or `repo`; "
            "see ddx bead list and ddx doc list",
        )
    return found


def named_documents(row: Row) -> Iterator[str]:
    """What a bead calls its documents, without the part of each that it means."""
    for name in (*links_of(row, "spec-id"), *links_of(row, "refs")):
        whole = name.partition("#")[0].strip()
        yield whole.casefold()
        if number := numbered_id(whole):  # TD-036 of TD-036-list-servers
            yield number.casefold()


def _bead(snapshot: Snapshot, word: str) -> Scope | None:
    if snapshot.find(word) is None:
        return None
    below = _descendants(snapshot, word)
    return Scope(word, Kind.EPIC if below else Kind.BEAD, frozenset({word, *below}))


def _descendants(snapshot: Snapshot, bead_id: str) -> set[str]:
    found: set[str] = set()
    unseen = [bead_id]
    while unseen:
        fresh = [child for child in snapshot.children(unseen.pop()) if child not in found]
        found.update(fresh)
        unseen += fresh
    return found - {bead_id}


def _document(snapshot: Snapshot, graph: Graph, word: str) -> Scope | None:
    """A document with its downstream, or a spec-id that beads name and no document has."""
    n = graph.find(word)
    if n is None or graph.types[n] in _NO_DOCUMENTS:
        names = frozenset({word.casefold()})
        beads = _beads_of(snapshot, names)
        return Scope(word, Kind.DOCUMENT, beads, (), names) if beads else None
    places = [n, *(item.n for item in closure(graph, [n], down=True, max_depth=len(graph)))]
    ids = tuple(graph.ids[n] for n in places)
    parts = {part for part, holders in graph.aliases.items() if set(holders) & set(ids)}
    calls = {name.casefold() for n in places for name in (graph.ids[n], graph.paths[n])}
    names = frozenset(calls | parts)
    return Scope(graph.ids[n], Kind.DOCUMENT, _beads_of(snapshot, names), ids, names)


def _beads_of(snapshot: Snapshot, names: frozenset[str]) -> frozenset[str]:
    return frozenset(
        text_of(row, "id") for row in snapshot.rows() if names.intersection(named_documents(row))
    )


def _label(snapshot: Snapshot, word: str) -> Scope | None:
    beads = frozenset(text_of(row, "id") for row in snapshot.rows() if word in labels_of(row))
    return Scope(word, Kind.LABEL, beads) if beads else None


def _path(site: Site, snapshot: Snapshot, graph: Graph, word: str) -> Scope | None:
    """A file or folder of the project, with the documents there and the beads that name it."""
    path = os.path.normpath(word)
    if os.path.isabs(path) or path.split(os.sep)[0] == os.pardir:
        return None
    if not os.path.exists(os.path.join(site.project.root, path)):
        return None
    places = [n for n, held in enumerate(graph.paths) if _touch(path, held)]
    beads = frozenset(
        text_of(row, "id")
        for row in snapshot.rows()
        if any(_touch(path, held) for held in texts_of(row, "paths"))
    )
    return Scope(path, Kind.PATH, beads, tuple(graph.ids[n] for n in places))


def _touch(one: str, other: str) -> bool:
    """Is one of them the other, or a folder that holds it?"""
    first, second = (os.path.join(os.path.normpath(each), "") for each in (one, other))
    return first.startswith(second) or second.startswith(first) or one == os.curdir
