"""Credit: what the checks said of work that a memory was shown to (D-18, M-6, M-9).

Once for each bead and memory; a later outcome of the same bead takes the place of the earlier one.
Each change happens in one transaction, so that any number of processes count exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.execution.model import Status
from ddx.values import value
from helix.memory.value import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from sqlite3 import Connection

    from ddx.execution.model import Outcome
    from helix.memory.store import MemoryStore

CREDIT = 0.5
MOST_TRIALS = 20_000
"""The newest are enough to see what memories are worth (C-9)."""

_NO_PROOF = frozenset({Status.ALREADY_SATISFIED, Status.HARNESS_FAULT, Status.INTERRUPTED})
"""Checks may have run, but not on work that this attempt did."""

_EARLIER = "SELECT passed FROM outcome WHERE bead = ? AND name = ?"
_KNOWN = "SELECT 1 FROM memory WHERE name = ?"
_SET = """
    INSERT INTO outcome (bead, name, passed, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (bead, name) DO UPDATE SET
        passed = excluded.passed, created_at = excluded.created_at
"""
_COUNT = """
    UPDATE memory SET helped = max(helped + ?, 0), failed = max(failed + ?, 0),
                      last_used = coalesce(?, last_used)
    WHERE name = ?
"""
_BEGIN = """
    INSERT INTO trial (attempt, held_out, created_at) VALUES (?, ?, ?)
    ON CONFLICT (attempt) DO UPDATE SET held_out = excluded.held_out
"""
_FORGET_OLDEST = """
    DELETE FROM trial WHERE rowid <= (SELECT max(rowid) FROM trial) - ?
"""


@value
class Credited:
    """What one outcome changed."""

    bead: str
    passed: bool
    credited: tuple[str, ...]
    unchanged: tuple[str, ...]
    """This bead has said the same of them before."""
    unknown: tuple[str, ...]


def credit(
    store: MemoryStore, bead: str, names: Iterable[str], *, passed: bool, now: str
) -> Credited:
    """A pass helps, a failure counts against, and the last word of a bead stands."""
    credited, unchanged, unknown = [], [], []
    with store.writing() as db:
        for name in dict.fromkeys(names):
            if db.execute(_KNOWN, (name,)).fetchone() is None:
                unknown.append(name)
            elif _credit(db, bead, name, passed=passed, now=now):
                credited.append(name)
            else:
                unchanged.append(name)
    return Credited(bead, passed, tuple(credited), tuple(unchanged), tuple(unknown))


def _credit(db: Connection, bead: str, name: str, *, passed: bool, now: str) -> bool:
    earlier = db.execute(_EARLIER, (bead, name)).fetchone()
    before = None if earlier is None else bool(earlier[0])
    if before == passed:
        return False
    helped = CREDIT * (passed - (before is True))
    failed = CREDIT * ((not passed) - (before is False))
    db.execute(_SET, (bead, name, int(passed), now))
    db.execute(_COUNT, (helped, failed, now if passed else None, name))
    return True


@value
class Reported:
    """What a builder said of itself; the numbers of memories that it moved (deprecated)."""

    helped: int
    unhelpful: int
    missing: tuple[str, ...]


def credit_report(store: MemoryStore, utilized: Iterable[str], injected: Iterable[str]) -> Reported:
    """By the builder's own word: no more than one outcome each, and no proof of being used."""
    used = dict.fromkeys(utilized)
    shown = dict.fromkeys((*used, *injected))
    missing = []
    counts = {True: 0, False: 0}
    with store.writing() as db:
        for name in shown:
            helped = name in used
            given = (CREDIT * helped, CREDIT * (not helped), None, name)
            if db.execute(_COUNT, given).rowcount:
                counts[helped] += 1
            else:
                missing.append(name)
    return Reported(counts[True], counts[False], tuple(missing))


# -- the trials of M-9 -----------------------------------------------------------------------


def begin_trial(
    store: MemoryStore, attempt: str, names: Sequence[str], *, held_out: bool, now: str
) -> None:
    """An attempt for which there was something to inject, whether or not it was."""
    with store.writing() as db:
        db.execute(_BEGIN, (attempt, int(held_out), now))
        db.execute(_FORGET_OLDEST, (MOST_TRIALS,))
        db.executemany(
            "INSERT INTO injection (attempt, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [(attempt, name) for name in names],
        )


def end_trial(
    store: MemoryStore, attempt: str, beads: Sequence[str], *, passed: bool, now: str
) -> tuple[Credited, ...]:
    """What its checks said, kept for `helix memory value`; who was injected is credited."""
    with store.writing() as db:
        trial = db.execute("SELECT held_out FROM trial WHERE attempt = ?", (attempt,)).fetchone()
        if trial is None:
            return ()
        db.execute("UPDATE trial SET passed = ? WHERE attempt = ?", (int(passed), attempt))
        rows = db.execute("SELECT name FROM injection WHERE attempt = ?", (attempt,)).fetchall()
    if trial[0]:  # it saw none of them, so it says nothing of them
        return ()
    names = [name for (name,) in rows]
    return tuple(credit(store, bead, names, passed=passed, now=now) for bead in beads)


def all_trials(store: MemoryStore) -> list[Trial]:
    """Oldest first."""
    with store.reading() as db:
        rows = db.execute(
            "SELECT attempt, held_out, passed FROM trial ORDER BY created_at, attempt"
        )
        trials = rows.fetchall()
        names: dict[str, list[str]] = {}
        for attempt, name in db.execute("SELECT attempt, name FROM injection ORDER BY name"):
            names.setdefault(attempt, []).append(name)
    return [
        Trial(
            attempt,
            bool(held_out),
            None if passed is None else bool(passed),
            tuple(names.get(attempt, ())),
        )
        for attempt, held_out, passed in trials
    ]


def verdict_of(outcome: Outcome) -> bool | None:
    """Did the checks pass? None where none ran on what the attempt made (D-18)."""
    checks = outcome.facts.checks
    if not checks or outcome.status in _NO_PROOF:
        return None
    return all(check.passed for check in checks)
