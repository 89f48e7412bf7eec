"""The database of memories: opened safely, asked in transactions, its troubles told in words.

Two processes at once are normal: a write takes the lock at its beginning, so that what it has read
is still true when it writes. Everything that SQLite may complain of becomes one of our errors.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.base import Busy, Clock, CorruptFile, DdxError, Lock, Refused, variable
from helix.project import path_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection

    from ddx.project import Project

PATH_VARIABLE = "HELIX_DB_PATH"
FILE = "helix.db"
BUSY_S = 20.0


def database_path(project: Project) -> str:
    """One place for the whole project, wherever we stand in it."""
    said = variable(PATH_VARIABLE) or path_in(project, FILE)
    return os.path.abspath(os.path.join(project.root, said))


class MemoryStore:
    """One connection to one database; closed at the end of `with`."""

    def __init__(self, path: str, *, busy_s: float = BUSY_S) -> None:
        self.path = path
        self._busy_s = busy_s
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> MemoryStore:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        try:
            with self._in_words():
                self._db = sqlite3.connect(self.path, timeout=self._busy_s, isolation_level=None)
                self._db.execute("PRAGMA foreign_keys = ON")
                self._db.execute("PRAGMA synchronous = NORMAL")
                if _version(self._db) != LATEST:
                    self._bring_up_to_date(self._db)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the database, whatever others write meanwhile."""
        with self._in_words(), _transaction(self._open(), "BEGIN"):
            yield self._open()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Ours alone until the end: written whole, or not at all if anything is raised."""
        with self._in_words(), _transaction(self._open(), "BEGIN IMMEDIATE"):
            yield self._open()

    def is_empty(self) -> bool:
        """Nothing was ever learned, or all of it is forgotten."""
        with self.reading() as db:
            return db.execute("SELECT 1 FROM memory LIMIT 1").fetchone() is None

    @property
    def state(self) -> tuple[int, int]:
        """Another one after every change, by us or by others: for whoever keeps a copy."""
        with self._in_words():
            db = self._open()
            return int(db.execute("PRAGMA data_version").fetchone()[0]), db.total_changes

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            raise RuntimeError("a MemoryStore is used inside of `with`")
        return self._db

    def _bring_up_to_date(self, db: sqlite3.Connection) -> None:
        """Under a lock of ours: SQLite does not wait for its own where the journal is switched."""
        lock = Lock(f"{self.path}.lock", wait_s=self._busy_s, clock=Clock(), command="helix memory")
        with lock:
            version = _version(db)
            if version > LATEST:
                raise Refused(
                    f"{self.path} was written by a newer helix: its schema is {version}, ours"
                    f" {LATEST}; nothing was changed",
                    hint="update this helix, or name another database with HELIX_DB_PATH",
                )
            db.execute("PRAGMA journal_mode = WAL")
            with _transaction(db, "BEGIN IMMEDIATE"):
                migrate(db, version)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise _spoken(self.path, problem, self._busy_s) from None


def _spoken(path: str, problem: sqlite3.Error, busy_s: float) -> DdxError:
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF  # the low byte: what kind it is
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            said = f"{path} is held by another process for more than {busy_s:g} s"
            return Busy(said, hint="try again")
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            from shlex import join  # seldom; hooks have no time for it

            aside = join(("mv", path, f"{path}.bad"))
            hint = f"keep it aside: {aside}; then: helix memory import EXPORT.jsonl"
            return CorruptFile(f"{path} is damaged: {problem}", hint=hint)
        case sqlite3.SQLITE_FULL:
            return DdxError(f"{path}: the disk is full; nothing was written", hint="make room")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR:
            said = f"{path} cannot be used: {problem}"
            return Refused(said, hint="see who may write to its folder")
        case _:
            return DdxError(f"{path}: {problem}")


@contextmanager
def _transaction(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Committed at the end; rolled back if anything is raised inside."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


_FIRST = (
    """
    CREATE TABLE memory (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL CHECK (type IN ('failure', 'pattern')),
        trigger TEXT NOT NULL,
        resolution TEXT NOT NULL,
        identity TEXT NOT NULL,
        helped REAL NOT NULL DEFAULT 0 CHECK (helped >= 0),
        failed REAL NOT NULL DEFAULT 0 CHECK (failed >= 0),
        source TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL,
        last_used TEXT,
        file_patterns TEXT NOT NULL DEFAULT '[]',
        pinned INTEGER NOT NULL DEFAULT 0,
        embedder TEXT NOT NULL DEFAULT '',
        embedding BLOB,
        trigger_embedding BLOB,
        UNIQUE (type, identity)
    ) STRICT
    """,
    "CREATE INDEX memory_by_embedder ON memory (embedder)",
    """
    CREATE VIRTUAL TABLE memory_text USING fts5 (
        trigger, resolution, content='memory', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER memory_text_added AFTER INSERT ON memory BEGIN
        INSERT INTO memory_text (rowid, trigger, resolution)
        VALUES (new.id, new.trigger, new.resolution);
    END
    """,
    """
    CREATE TRIGGER memory_text_removed AFTER DELETE ON memory BEGIN
        INSERT INTO memory_text (memory_text, rowid, trigger, resolution)
        VALUES ('delete', old.id, old.trigger, old.resolution);
    END
    """,
    """
    CREATE TRIGGER memory_text_changed AFTER UPDATE OF trigger, resolution ON memory BEGIN
        INSERT INTO memory_text (memory_text, rowid, trigger, resolution)
        VALUES ('delete', old.id, old.trigger, old.resolution);
        INSERT INTO memory_text (rowid, trigger, resolution)
        VALUES (new.id, new.trigger, new.resolution);
    END
    """,
    """
    CREATE TABLE memory_edge (
        id INTEGER PRIMARY KEY,
        from_name TEXT NOT NULL REFERENCES memory (name) ON DELETE CASCADE,
        to_name TEXT NOT NULL REFERENCES memory (name) ON DELETE CASCADE,
        rel_type TEXT NOT NULL CHECK (rel_type IN ('co_occurs', 'causes', 'solves', 'similar')),
        weight REAL NOT NULL DEFAULT 1 CHECK (weight > 0),
        created_at TEXT NOT NULL,
        UNIQUE (from_name, to_name, rel_type),
        CHECK (from_name <> to_name)
    ) STRICT
    """,
    "CREATE INDEX memory_edge_by_target ON memory_edge (to_name)",
    """
    CREATE TABLE exploration (
        id INTEGER PRIMARY KEY,
        objective TEXT NOT NULL,
        data TEXT NOT NULL,
        created_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE quarantine (
        id INTEGER PRIMARY KEY,
        type TEXT NOT NULL,
        trigger TEXT NOT NULL,
        resolution TEXT NOT NULL,
        source TEXT NOT NULL,
        reason TEXT NOT NULL,
        created_at TEXT NOT NULL,
        UNIQUE (type, trigger, resolution)
    ) STRICT
    """,
    """
    CREATE TABLE trial (
        attempt TEXT PRIMARY KEY,
        held_out INTEGER NOT NULL,
        passed INTEGER,
        created_at TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE injection (
        attempt TEXT NOT NULL REFERENCES trial (attempt) ON DELETE CASCADE,
        name TEXT NOT NULL,
        PRIMARY KEY (attempt, name)
    ) STRICT
    """,
    """
    CREATE TABLE outcome (
        bead TEXT NOT NULL,
        name TEXT NOT NULL,
        passed INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (bead, name)
    ) STRICT
    """,
)
"""Memories and their edges, what was explored, what was injected and what came of it."""


def _first(db: Connection) -> None:
    for statement in _FIRST:
        db.execute(statement)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first,)
"""Step n brings a database from version n to version n + 1."""
LATEST = len(MIGRATIONS)


def migrate(db: Connection, version: int) -> None:
    """Every step that is still to be done; the caller holds the transaction."""
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        step(db)
        db.execute(f"PRAGMA user_version = {number:d}")
