"""The database's tables, version by version; a step that was shipped is never edited again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

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
