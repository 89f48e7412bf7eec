"""What a command is about: one resolver for every word that a person may type (C-10).

Besides, who has looked at a bead: at its documents (S-3), at what it assumes (I-10), or only we
ourselves, whose passes and marks are no work. Whoever changes what a bead that assumes asks for, or
says anything on it, has looked; helix itself has not. What it said when nobody had looked yet
stands on the bead.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from enum import StrEnum
from posixpath import normpath
from typing import TYPE_CHECKING, TypeAlias

from ddx.base import Instant, UsageError, value
from ddx.documents import SourceFile, load_graph, numbered_id
from ddx.proof import Governance
from ddx.tracker import RUNNER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.attempts import AttemptContext
    from ddx.documents import Graph
    from ddx.tracker import Bead, Snapshot

REPO = "repo"
_NO_DOCUMENTS = frozenset({"code", "test"})


class ScopeKind(StrEnum):
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
    kind: ScopeKind
    beads: frozenset[str] = frozenset()
    """As they were when the scope was resolved; `holds` also tells of later ones."""
    documents: tuple[str, ...] = ()
    """The ids of the documents, the one that was named first."""
    names: frozenset[str] = frozenset()
    """What a bead may call these documents."""

    def holds(self, bead: Bead) -> bool:
        """Is this bead a part of it, be it new?"""
        match self.kind:
            case ScopeKind.REPO:
                return True
            case ScopeKind.BEAD | ScopeKind.EPIC:
                return bead.id in self.beads or bead.parent in self.beads
            case ScopeKind.DOCUMENT:
                return bool(self.names.intersection(named_documents(bead)))
            case ScopeKind.LABEL:
                return self.text in bead.labels
            case ScopeKind.PATH:
                return any(_touch(self.text, path) for path in bead.paths)

    def holds_document(self, doc_id: str) -> bool:
        return self.kind is ScopeKind.REPO or doc_id in self.documents

    @property
    def document(self) -> str:
        """The document that was named; empty: it is about something else."""
        return self.documents[0] if self.kind is ScopeKind.DOCUMENT and self.documents else ""

    @property
    def described(self) -> str:
        """For a prompt and for a person."""
        match self.kind:
            case ScopeKind.REPO:
                return "the whole repository"
            case ScopeKind.EPIC:
                return f"the epic {self.text} and all beads below it"
            case ScopeKind.DOCUMENT:
                return f"the document {self.text} and all that follows from it"
            case ScopeKind.LABEL:
                return f"all beads with the label {self.text}"
            case ScopeKind.BEAD | ScopeKind.PATH:
                return f"the {self.kind} {self.text}"


def resolve_scope(site: AttemptContext, text: str = REPO) -> Scope:
    """What is meant; a word that means nothing here is a mistake and no empty scope."""
    word = text.strip()
    if word in ("", REPO):
        return Scope(REPO, ScopeKind.REPO)
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


def named_documents(bead: Bead) -> Iterator[str]:
    """What a bead calls its documents, without the part of each that it means."""
    for name in bead.documents:
        whole = name.partition("#")[0].strip()
        yield whole.casefold()
        if number := numbered_id(whole):  # TD-036 of TD-036-list-servers
            yield number.casefold()


def _bead(snapshot: Snapshot, word: str) -> Scope | None:
    if snapshot.find_bead(word) is None:
        return None
    below = _descendants(snapshot, word)
    return Scope(word, ScopeKind.EPIC if below else ScopeKind.BEAD, frozenset({word, *below}))


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
        return Scope(word, ScopeKind.DOCUMENT, beads, documents=(), names=names) if beads else None
    places = [n, *(item.n for item in graph.closure([n], down=True, max_depth=len(graph)))]
    ids = tuple(graph.ids[n] for n in places)
    parts = {part for part, holders in graph.aliases.items() if set(holders) & set(ids)}
    calls = {name.casefold() for n in places for name in (graph.ids[n], graph.paths[n])}
    names = frozenset(calls | parts)
    return Scope(
        graph.ids[n], ScopeKind.DOCUMENT, _beads_of(snapshot, names), documents=ids, names=names
    )


def _beads_of(snapshot: Snapshot, names: frozenset[str]) -> frozenset[str]:
    return frozenset(
        bead.id for bead in snapshot.beads() if names.intersection(named_documents(bead))
    )


def _label(snapshot: Snapshot, word: str) -> Scope | None:
    beads = frozenset(bead.id for bead in snapshot.beads() if word in bead.labels)
    return Scope(word, ScopeKind.LABEL, beads) if beads else None


def _path(site: AttemptContext, snapshot: Snapshot, graph: Graph, word: str) -> Scope | None:
    """A file or folder of the project, with the documents there and the beads that name it."""
    path = os.path.normpath(word)
    if os.path.isabs(path) or path.split(os.sep)[0] == os.pardir:
        return None
    if not os.path.exists(os.path.join(site.project.root, path)):
        return None
    places = [n for n, held in enumerate(graph.paths) if _touch(path, held)]
    beads = frozenset(
        bead.id for bead in snapshot.beads() if any(_touch(path, held) for held in bead.paths)
    )
    return Scope(path, ScopeKind.PATH, beads, documents=tuple(graph.ids[n] for n in places))


def _touch(one: str, other: str) -> bool:
    """Is one of them the other, or a folder that holds it?"""
    first, second = (os.path.join(os.path.normpath(each), "") for each in (one, other))
    return first.startswith(second) or second.startswith(first) or one == os.curdir


_PAGE = ".md"
_HERE = "."


def is_document(path: str, roots: Sequence[str]) -> bool:
    """A page of the graph (G-1)."""
    return path.endswith(_PAGE) and any(_is_below(path, root) for root in roots)


def may_write(path: str, roots: Sequence[str]) -> bool:
    """Pages, and what stands beside them, such as metrics and pictures; never code.

    Where the whole project is a root, only pages count: everything else lies beside them.
    """
    if is_document(path, roots):
        return True
    folders = [root for root in roots if normpath(root) != _HERE]
    return not SourceFile(path).is_scanned and any(_is_below(path, root) for root in folders)


def _is_below(path: str, root: str) -> bool:
    folder = normpath(root)
    if path.startswith("../"):
        return False
    return folder == _HERE or path.startswith(f"{folder}/")


SEEN = "polished-upstream"
"""On a bead: the hashes of its documents when it was last looked at, or first selected."""

UpstreamCache: TypeAlias = dict[tuple[str, tuple[str, ...]], Mapping[str, str]]
"""What governed each bead, by what it names, when a run first saw it (S-3)."""


class UpstreamDocuments:
    """The documents of every bead, each name followed once."""

    def __init__(self, graph: Graph, memory: UpstreamCache | None = None) -> None:
        self._graph = graph
        self._memory: UpstreamCache = {} if memory is None else memory
        self._known: dict[tuple[str, ...], Governance] = {}

    def governance(self, bead: Bead) -> Governance:
        """The documents that the bead names, and all that is upstream of them."""
        names = (*bead.links("spec-id"), "", *bead.links("refs"))
        if len(names) == 1 or not len(self._graph):
            return Governance()
        if names not in self._known:
            self._known[names] = Governance.decide(self._graph, [bead])
        return self._known[names]

    def hashes(self, bead: Bead) -> dict[str, str]:
        return {item.id: item.content_hash for item in self.governance(bead).documents}

    def paths(self, bead: Bead) -> frozenset[str]:
        return frozenset(item.path for item in self.governance(bead).documents)

    def has_moved(self, bead: Bead, *, awaited: Collection[str] = ()) -> bool:
        """Did a document change since somebody looked, or since this run first saw the bead?

        What it has `awaited`, because a bead before it was there to change it, is no surprise.
        """
        now = self.hashes(bead)
        seen = seen_hashes(bead)
        if seen is None:
            seen = self._memory.setdefault((bead.id, bead.documents), now)
        return any(seen.get(name) != now.get(name) for name in {*seen, *now} if name not in awaited)

    def named(self, bead: Bead) -> frozenset[str]:
        """The documents that the bead itself is about: by name, or at the paths that it writes."""
        names = [name.partition("#")[0] for name in bead.links("spec-id")]
        places = map(self._graph.find, (*names, *bead.paths))
        return frozenset(self._graph.ids[n] for n in places if n is not None)

    def missing(self, bead: Bead) -> str:
        """The spec-id that no document has; empty where there are no documents at all (S-3)."""
        if not len(self._graph):
            return ""
        for name in bead.links("spec-id"):
            wanted = name.partition("#")[0].strip()
            if self._graph.find(wanted) is None and not self._graph.holders(wanted):
                return name
        return ""


def seen_hashes(bead: Bead) -> Mapping[str, str] | None:
    """What was written on the bead; None: nobody has looked yet."""
    found = bead.get(SEEN)
    if not isinstance(found, dict):
        return None
    return {str(name): str(said) for name, said in found.items()}


PASSING = frozenset(
    {
        *("attempts", "retry-after", "blocked-basis"),
        *("polished-upstream", "speculation-basis", "intake-basis", "drafts-filed"),
    }
)
"""Fields: a queue that differs in these alone is the same queue to whoever looks at it."""


def is_supervisory(bead: Bead) -> bool:
    """The bead of a pass of ours: it comes and goes with the pass (A-4)."""
    labels = bead.labels
    return "kind:planning" in labels and any(it.startswith("action:") for it in labels)


BASIS = "speculation-basis"
"""On a bead: a mark of what it said before anybody had looked; empty: somebody has."""

_DAY_S = 86_400
_SAID = (
    *("title", "description", "design", "acceptance", "notes", "verify", "paths"),
    *("priority", "spec-id", "refs", "parent", "execution-eligible"),
)


@value
class NoteBasis:
    """Seen for the first time: this is to stand on it."""

    basis: str


@value
class Expire:
    """Nobody has looked in time: it is only proposed from now on."""

    reason: str


SpeculationJudgement: TypeAlias = NoteBasis | Expire | None


def judge_assumption(bead: Bead, *, label: str, ttl_days: int, now: str) -> SpeculationJudgement:
    """What is to be done about a bead now; None: nothing."""
    if bead.status != "open" or label not in bead.labels or is_spoken_of(bead):
        return None
    known = bead.get(BASIS)
    first = "" if _was_touched(bead) else basis_of(bead)
    basis = known if isinstance(known, str) else first
    age_s = Instant(bead.created_at).seconds_until(now) or 0.0
    if basis == basis_of(bead) and age_s >= ttl_days * _DAY_S:
        return Expire(f"it rests on an assumption that nobody looked at in {ttl_days} days")
    return None if basis == known else NoteBasis(basis)


def basis_of(bead: Bead, *, besides: Collection[str] = ()) -> str:
    """A mark of all that a person who looks would change."""
    return bead.digest(name for name in _SAID if name not in besides)


def carried_over(before: Bead, after: Bead) -> dict[str, str]:
    """What is to be marked on a bead that helix changed: that was nobody's look at it."""
    return {BASIS: basis_of(after)} if before.get(BASIS) == basis_of(before) else {}


def is_spoken_of(bead: Bead) -> bool:
    """Somebody besides helix has said something on it."""
    return any(it.actor not in ("", RUNNER) for it in bead.events)


def _was_touched(bead: Bead) -> bool:
    """By somebody, between its filing and our first look."""
    is_tried = bead.get("attempts") is not None or bool(bead.events)
    return not is_tried and bead.updated_at != bead.created_at
