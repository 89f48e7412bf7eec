"""Full-text search over the documents, in an SQLite file that anyone may delete (G-9).

The file never changes once it has its name: the next one is made beside it from a copy, with only
the changed documents read again. So two processes cannot disturb each other, and a reader needs
no lock. Like the graph's own cache it counts only in the very folder that it was made in.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from ddx.base import Busy, DdxError, Lock, Replacement, changed, remove_leftovers, value
from ddx.documents.page import Page
from ddx.documents.parser import headings
from ddx.documents.terms import CLOSE, OPEN, Excerpt, best_line, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ddx.base import Clock
    from ddx.documents.graph import Graph
    from ddx.project import Project

LIMIT = 20
MOST_TERMS = 20
MOST_HITS = 1000
WIDEST_EXCERPT = 160
LOCK_WAIT_S = 30.0
_LEAST_SCORE = 0.0001  # a hit is a hit, however common its word

LEAST_SCORE = 0.25
"""A hit this far below the best one shares only a word or two with the text by chance."""
LEAST_SHARE = 0.25
"""Of the terms that a document must hold, unless one of them stands in its headings."""

COMMON_SHARE = 1 / 3
"""A word that more of the documents hold than this says nothing about any of them."""
COMMON_FROM = 5
"""Among few documents that share means little."""

_FORMAT = 0x64647801  # raise it whenever the tables or what they hold change
_HEADER = slice(60, 72)  # of an SQLite file: user version, vacuum mode, application id
_DOCUMENTS = "CREATE TABLE documents (number INTEGER PRIMARY KEY, path BLOB UNIQUE, hash TEXT)"
_WORDS = (
    "CREATE VIRTUAL TABLE words USING fts5(title, headings, body,"
    " tokenize='porter unicode61 remove_diacritics 2')"
)
_COUNT = "SELECT count(*) FROM words WHERE words MATCH ?"
_SCORES = "SELECT rowid, bm25(words, 10.0, 4.0, 1.0) FROM words WHERE words MATCH ?"
_MARKED = (
    "SELECT highlight(words, 1, ?1, ?2) || highlight(words, 0, ?1, ?2), highlight(words, 2, ?1, ?2)"
    " FROM words WHERE words MATCH ?3 AND rowid = ?4"
)
_REPLACED = str.maketrans({"\0": " ", OPEN: " ", CLOSE: " "})


@value
class SearchHit:
    """A document that holds at least one of the words."""

    n: int
    score: float
    """Beside the best hit, whose score is 1."""
    terms: tuple[str, ...]
    in_heading: bool
    """Does one of them stand in its id, its title or a heading?"""
    excerpt: Excerpt

    def has_in_common(self, needed: float) -> bool:
        """A floor: enough terms, or one where the document says what it is about."""
        return self.score >= LEAST_SCORE and (self.in_heading or len(self.terms) >= needed)


@value
class SearchResult:
    hits: tuple[SearchHit, ...]
    terms: tuple[str, ...]
    """What was looked for: at most MOST_TERMS, the rarest words where more were given."""
    total: int
    reindexed: int
    """How many documents had to be read again first."""
    note: str = ""
    """Why the index could not be kept, for the person who waits for it each time."""

    def related(self, *, named: Collection[int] = ()) -> list[SearchHit]:
        """The hits that have enough in common with the text, best first, but for those named."""
        is_all = len(self.terms) == 1 and not named
        needed = 1 if is_all else max(2, LEAST_SHARE * len(self.terms))
        return [hit for hit in self.hits if hit.n not in named and hit.has_in_common(needed)]


@value
class _Index:
    connection: sqlite3.Connection
    reindexed: int = 0
    note: str = ""


def search(
    project: Project,
    graph: Graph,
    words: Sequence[str],
    *,
    clock: Clock,
    limit: int = LIMIT,
    telling: bool = False,
) -> SearchResult:
    """The best documents for these words, best first; `telling` leaves out words that most hold."""
    limit = min(limit, MOST_HITS)
    for trusts_kept in (True, False):
        try:
            index = _open(project, graph, clock=clock, trusts_kept=trusts_kept)
            with closing(index.connection):
                return _ask(index, project.root, graph, words=words, limit=limit, telling=telling)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as problem:
            failure = problem  # broken pages show only when they are read: once more, from nothing
    raise DdxError(f"the documents cannot be searched: {failure}")


# -- an index that is up to date ---------------------------------------------------------------


def _open(project: Project, graph: Graph, *, clock: Clock, trusts_kept: bool) -> _Index:
    path = project.ddx("cache", "search.db")
    try:
        kept = _find_kept(path) if trusts_kept else None
        if kept is not None:
            if not any(_differences(kept, graph)):
                return _Index(kept)
            kept.close()
        return _renew(path, project.root, graph, clock=clock, trusts_kept=trusts_kept)
    except OSError as problem:
        why = f"{path}: {problem.strerror}"
    except Busy as problem:
        why = problem.message
    except sqlite3.DatabaseError as problem:
        if trusts_kept:
            raise
        why = f"{path}: {problem}"
    memory = _connect(":memory:")
    reindexed = _patch(memory, project.root, graph)
    return _Index(memory, reindexed, f"the search index could not be kept ({why})")


def _renew(path: str, root: str, graph: Graph, *, clock: Clock, trusts_kept: bool) -> _Index:
    """A new file from the old one; whoever waited for us finds it done."""
    lock = Lock(f"{path}.lock", wait_s=LOCK_WAIT_S, clock=clock, command="ddx doc search")
    with lock:
        remove_leftovers(path)
        kept = _find_kept(path) if trusts_kept else None
        if kept is not None and not any(_differences(kept, graph)):
            return _Index(kept)
        with Replacement(path) as new:
            if kept is not None:
                kept.close()
                _copy(path, new)
            connection = _connect(new.beside)
            try:
                reindexed = _patch(connection, root, graph, mark=_mark(path))
                new.publish()
            except BaseException:
                connection.close()
                raise
            return _Index(connection, reindexed)


def _find_kept(path: str) -> sqlite3.Connection | None:
    """The index that this very folder made in today's form; any other file is as good as none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        header = os.pread(fd, _HEADER.stop, 0)[_HEADER]
    except IsADirectoryError:
        return None
    finally:
        os.close(fd)
    numbers = [int.from_bytes(header[at : at + 4], "big") for at in (0, 8)]
    if numbers != [_mark(path), _FORMAT]:
        return None
    return _connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1")


def _mark(path: str) -> int:
    """The folder that holds the index, as nobody else can name it beforehand."""
    return os.stat(os.path.dirname(path)).st_ino & 0x7FFFFFFF


def _copy(path: str, new: Replacement) -> None:
    with open(path, "rb") as old:
        new.copy(old.fileno(), 0, os.fstat(old.fileno()).st_size)


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=name.startswith("file:"), isolation_level=None)


def _patch(connection: sqlite3.Connection, root: str, graph: Graph, *, mark: int = 0) -> int:
    """Make the tables say what the graph's documents say; only what differs is read.

    Nobody else sees the file yet, and one that a crash cut short never gets its name: so there
    is nothing to roll back.
    """
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    if connection.execute("PRAGMA application_id").fetchone() != (_FORMAT,):
        connection.execute(_DOCUMENTS)
        connection.execute(_WORDS)
        connection.execute(f"PRAGMA application_id = {_FORMAT:d}")
        connection.execute(f"PRAGMA user_version = {mark:d}")
    gone, fresh = _differences(connection, graph)
    connection.executemany("DELETE FROM words WHERE rowid = ?", gone)
    connection.executemany("DELETE FROM documents WHERE number = ?", gone)
    for n in fresh:
        row = (graph.paths[n].encode("utf-8", "surrogateescape"), graph.hashes[n])
        added = connection.execute("INSERT INTO documents (path, hash) VALUES (?, ?)", row)
        connection.execute(
            "INSERT INTO words (rowid, title, headings, body) VALUES (?, ?, ?, ?)",
            (added.lastrowid, *_indexed_texts(root, graph, n)),
        )
    connection.execute("COMMIT")
    return len(fresh)


def _differences(
    connection: sqlite3.Connection, graph: Graph
) -> tuple[list[tuple[int]], list[int]]:
    """Rows that are no longer true, and documents that have no row; tests and code get none."""
    wanted = {
        (path.encode("utf-8", "surrogateescape"), found): n
        for n, (path, found) in enumerate(zip(graph.paths, graph.hashes, strict=True))
        if found
    }
    gone = [
        (number,)
        for number, path, found in connection.execute("SELECT number, path, hash FROM documents")
        if wanted.pop((path, found), None) is None
    ]
    return gone, list(wanted.values())


def _indexed_texts(root: str, graph: Graph, n: int) -> tuple[str, str, str]:
    body = Page.read(os.path.join(root, graph.paths[n])).body
    under = "\n".join(text for level, text in headings(body) if level > 1)
    return _storable(f"{graph.ids[n]} {graph.titles[n]}"), _storable(under), _storable(body)


def _storable(text: str) -> str:
    return text.translate(_REPLACED).encode("utf-8", "replace").decode("utf-8")


# -- a question --------------------------------------------------------------------------------


def _ask(
    index: _Index, root: str, graph: Graph, words: Sequence[str], limit: int, telling: bool
) -> SearchResult:
    places = _places(index.connection, graph)
    terms = _chosen_terms(index.connection, words, len(places), telling=telling)
    scores: dict[int, float] = {}
    held: dict[int, list[str]] = {}
    for term in terms:
        # The score of several words is the sum of theirs, so each is asked for alone.
        for number, score in index.connection.execute(_SCORES, (_phrase(term),)):
            scores[number] = scores.get(number, 0.0) - score
            held.setdefault(number, []).append(term)
    if not scores.keys() <= places.keys():
        raise sqlite3.DatabaseError("the index holds words of no document")
    for number in scores:
        scores[number] *= len(held[number])  # one that holds all the words goes first
    ranked = sorted(scores, key=lambda number: (-scores[number], graph.ids[places[number]]))
    hits = []
    for number in ranked[:limit]:
        marked = _marked(index.connection, number, held[number])
        score = scores[number] / scores[ranked[0]]
        hits.append(
            _hit(root, graph, places[number], marked=marked, terms=held[number], score=score)
        )
    return SearchResult(
        tuple(hits), tuple(terms), len(ranked), reindexed=index.reindexed, note=index.note
    )


def _places(connection: sqlite3.Connection, graph: Graph) -> dict[int, int]:
    """By row, the node of the graph."""
    nodes = {path.encode("utf-8", "surrogateescape"): n for n, path in enumerate(graph.paths)}
    rows = connection.execute("SELECT number, path FROM documents").fetchall()
    if not all(path in nodes for _, path in rows):
        raise sqlite3.DatabaseError("the index names what is no document")
    return {number: nodes[path] for number, path in rows}


def _chosen_terms(
    connection: sqlite3.Connection, words: Sequence[str], documents: int, *, telling: bool
) -> list[str]:
    """At most MOST_TERMS, in the order they came; the rarer a word, the more it tells."""
    counts = {word: connection.execute(_COUNT, (_phrase(word),)).fetchone()[0] for word in words}
    most = max(COMMON_FROM, documents * COMMON_SHARE) if telling else documents
    terms = [word for word in counts if counts[word] <= most]
    if len(terms) <= MOST_TERMS:
        return terms
    rarest = sorted(filter(counts.__getitem__, terms), key=counts.__getitem__)[:MOST_TERMS]
    return [word for word in terms if word in rarest]


def _marked(connection: sqlite3.Connection, number: int, terms: Sequence[str]) -> tuple[str, str]:
    """The headings and the body of a document with the terms marked in them."""
    question = " OR ".join(map(_phrase, terms))
    row = connection.execute(_MARKED, (OPEN, CLOSE, question, number)).fetchone()
    if row is None or None in row:
        raise sqlite3.DatabaseError("the index holds a document without words")
    return row[0], row[1]


def _hit(
    root: str, graph: Graph, n: int, *, marked: tuple[str, str], terms: Sequence[str], score: float
) -> SearchHit:
    above, body = marked
    found = shortened(best_line(body), WIDEST_EXCERPT)
    page = Page.read(os.path.join(root, graph.paths[n]))
    excerpt = changed(found, line=found.line + page.first_line - 1)
    score = max(round(score, 4), _LEAST_SCORE)
    return SearchHit(n, score, tuple(terms), in_heading=OPEN in above, excerpt=excerpt)


def _phrase(word: str) -> str:
    """A word as FTS5 reads it when it shall be nothing but a word."""
    plain = word.replace("\0", " ").replace('"', '""')
    return f'"{plain}"'
