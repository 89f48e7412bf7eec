"""Memories for one attempt: what its prompt carries, and what its checks say of them (M-8, M-9).

Both drivers call these two functions. Trouble with memory never stops work: it is told, and the
attempt goes on without.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from ddx.attempts import AttemptStatus, Landed, PromptSection, read_attempts
from ddx.base import DdxError, Masker, cut, shown, value
from ddx.proof import Check
from helix.memory.credits import credit
from helix.memory.embedders.registry import open_embedder
from helix.memory.learning import lesson_of
from helix.memory.model import MemoryKind, files_in
from helix.memory.recall import Recall, RecallQuery
from helix.memory.storage import MemoryAdded, StoreContext, store_memory
from helix.memory.store import MemoryStore, database_path
from helix.passes import defused
from helix.project import own_folder, path_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.attempts import Outcome
    from ddx.base import Clock
    from ddx.project import Project
    from ddx.tracker import Bead, Tracker, TrackerEdit
    from helix.memory.credits import CreditResult
    from helix.memory.embedders import Embedder, NoEmbedder
    from helix.memory.scoring import RecalledMemory
    from helix.project import HelixSettings

FAILURES, PATTERNS = "FAILURES_TO_AVOID", "PATTERNS_TO_APPLY"
EVENT = "memories"
LONGEST_LINE = 1_200
"""Characters of a memory that a prompt carries; `helix memory get` shows the rest."""
_LONGEST_DESCRIPTION = 1_500
_MOST_FILES = 20
MOST_TRIALS = 20_000
"""The newest are enough to see what memories are worth (C-9)."""
_NO_PROOF = frozenset(
    {AttemptStatus.ALREADY_SATISFIED, AttemptStatus.HARNESS_FAULT, AttemptStatus.INTERRUPTED}
)
"""Checks may have run, but not on work that this attempt did."""
_BEGIN = """
    INSERT INTO trial (attempt, held_out, created_at) VALUES (?, ?, ?)
    ON CONFLICT (attempt) DO UPDATE SET held_out = excluded.held_out
"""
_FORGET_OLDEST = """
    DELETE FROM trial WHERE rowid <= (SELECT max(rowid) FROM trial) - ?
"""


@value
class Injection:
    """What an attempt was given, or would have been."""

    sections: tuple[PromptSection, ...] = ()
    names: tuple[str, ...] = ()
    """Those that the prompt carries."""
    held_out: bool = False
    withheld: tuple[str, ...] = ()
    """Those that it would have carried, had it not been its turn to go without (M-9)."""
    remark: str = ""
    """What went wrong, for a person."""

    @property
    def manifest(self) -> dict[str, Any]:
        """For the attempt's record: Preparation.manifest takes it as it is."""
        said = {"memory_trouble": self.remark} if self.remark else {}
        return {"memories": list(self.names), "held_out": self.held_out, **said}

    @property
    def summary(self) -> str:
        """For the bead's event; empty where there is nothing to tell."""
        if self.held_out:
            return f"goes without {len(self.withheld)} memories, to see what they are worth"
        return f"shown to the agent: {', '.join(self.names)}" if self.names else ""


def prepare_injection(
    project: Project, beads: Sequence[Bead], attempt: str, *, settings: HelixSettings, clock: Clock
) -> Injection:
    """At most `memory.limit` memories for these beads, as quoted sections of the prompt."""
    try:
        return _prepared(project, beads, attempt, settings=settings, clock=clock)
    except (DdxError, OSError) as problem:
        return Injection(remark=f"no memories for {attempt}: {problem}")


def _prepared(
    project: Project, beads: Sequence[Bead], attempt: str, *, settings: HelixSettings, clock: Clock
) -> Injection:
    now = clock.stamp()
    with open_store(project) as store:
        if not settings.memory_limit or store.is_empty():
            return Injection()
        recall = Recall(store, embedder_of(project, settings, clock=clock))
        recalled = recall.ask(_question(beads, settings.memory_limit), now=now)
        hits = recalled.hits
        if not hits:
            return Injection(remark=recalled.note)
        names = tuple(hit.memory.name for hit in hits)
        held_out = is_held_out(attempt, settings.memory_holdout)
        begin_trial(store, attempt, names, held_out=held_out, now=now)
    if held_out:
        return Injection(held_out=True, withheld=names, remark=recalled.note)
    return Injection(sections_of(hits), names, remark=recalled.note)


def is_held_out(attempt: str, share: float) -> bool:
    """By the attempt's own id: chance for us, but the same whenever anybody looks."""
    drawn = int.from_bytes(hashlib.sha256(attempt.encode()).digest()[:8], "big")
    return drawn / 2**64 < share


def sections_of(hits: Sequence[RecalledMemory]) -> tuple[PromptSection, ...]:
    """What to avoid before what to repeat; quoted, since it is data and no order (X-26)."""
    titles = ((FAILURES, MemoryKind.FAILURE), (PATTERNS, MemoryKind.PATTERN))
    found = []
    for title, kind in titles:
        lines = [_line(hit) for hit in hits if hit.memory.type == kind]
        if lines:
            found.append(defused(PromptSection(title, "\n".join(lines), quoted=True)))
    return tuple(found)


def _line(hit: RecalledMemory) -> str:
    memory = hit.memory
    text = f"{memory.trigger} -> {memory.resolution}".replace("\n", " ")
    return f"- {cut(shown(text), LONGEST_LINE)} [{memory.name}]"


def _question(beads: Sequence[Bead], limit: int) -> RecallQuery:
    """Titles first: they are what a memory is most like."""
    titles = [bead.title for bead in beads]
    descriptions = [bead.description for bead in beads]
    text = "\n".join((*titles, *descriptions))[:_LONGEST_DESCRIPTION]
    named = (*(path for bead in beads for path in bead.paths), *files_in(text))
    return RecallQuery(text, limit=limit, files=tuple(dict.fromkeys(named))[:_MOST_FILES])


def note_injection(
    tracker: Tracker, beads: Sequence[str], injection: Injection, attempt: str
) -> None:
    """An event on each bead: what its attempt was shown, or that it went without (M-8)."""
    if not injection.summary:
        return

    def decide(edit: TrackerEdit) -> None:
        summary = f"attempt {attempt}: {injection.summary}"
        body = "\n".join(injection.names or injection.withheld)
        for bead_id in beads:
            edit.add_event(bead_id, EVENT, summary=summary, body=body, source="helix")

    tracker.edit(decide)


def credit_outcome(project: Project, outcome: Outcome, *, clock: Clock) -> str:
    """Once the checks have spoken, whoever was injected is credited; a remark for a person."""
    passed = verdict_of(outcome)
    if passed is None:
        return ""
    facts = outcome.facts
    try:
        with open_store(project) as store:
            done = end_trial(store, facts.attempt, facts.beads, passed=passed, now=clock.stamp())
    except (DdxError, OSError) as problem:
        return f"no credit for the memories of {facts.attempt}: {problem}"
    names = dict.fromkeys(name for one in done for name in one.credited)
    word = "helped" if passed else "failed"
    return f"memory: {len(names)} credited as {word}" if names else ""


def verdict_of(outcome: Outcome) -> bool | None:
    """Did the checks pass? None where none ran on what the attempt made (D-18)."""
    checks = outcome.facts.checks
    if not checks or outcome.status in _NO_PROOF:
        return None
    return all(check.passed for check in checks)


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
) -> tuple[CreditResult, ...]:
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


MOST_RECORDS = 200
"""How far back an earlier failure is looked for."""


def learn_from_outcome(
    project: Project, title: str, outcome: Outcome, *, settings: HelixSettings, clock: Clock
) -> str:
    """One failure memory if this bead failed its checks before and has landed now; a remark."""
    if not isinstance(outcome, Landed) or not verdict_of(outcome):
        return ""
    try:
        failed = find_failed(project, outcome)
        draft = lesson_of(title, failed, outcome) if failed is not None else None
        if draft is None:
            return ""
        wits = wits_of(project, settings, clock=clock)
        with open_store(project) as store:
            stored = store_memory(store, draft, wits, now=clock.stamp())
    except (DdxError, OSError) as problem:
        return f"nothing was learned from {outcome.facts.attempt}: {problem}"
    return f"learned: {stored.memory.name}" if isinstance(stored, MemoryAdded) else ""


def find_failed(project: Project, outcome: Outcome) -> Check | None:
    """The check that failed in the last earlier attempt on one of the same beads."""
    fixed = outcome.facts
    for number, kept in enumerate(reversed(read_attempts(project))):
        if number >= MOST_RECORDS:
            return None
        if kept.attempt == fixed.attempt or not set(kept.beads) & set(fixed.beads):
            continue
        checks = map(_check, kept.result.get("checks", ()))
        failed = next((check for check in checks if not check.passed), None)
        if failed is not None:
            return failed
    return None


def _check(row: dict[str, Any]) -> Check:
    """As it stands in result.json; an older record may know less of it."""
    known = {key: found for key, found in row.items() if key in Check.__annotations__}
    return Check(**{"name": "", "command": "", "origin": "", "passed": True, **known})


INSTEAD = "say it in your answer: what was learned is stored once the checks have spoken"
"""What an attempt's agent is told in place of changing memories (A-10)."""


def open_store(project: Project) -> MemoryStore:
    """Where the project's database is; its folder is kept from git where it is ours."""
    path = database_path(project)
    if os.path.dirname(path) == path_in(project):
        own_folder(project)
    return MemoryStore(path)


def embedder_of(
    project: Project, settings: HelixSettings, *, clock: Clock
) -> Embedder | NoEmbedder:
    """What the settings say; a model of others is asked only for a repository that is trusted."""
    return open_embedder(
        settings.embedder,
        is_trusted=project.is_trusted(),
        cache=project.ddx("cache", "embedders"),
        clock=clock,
    )


def wits_of(project: Project, settings: HelixSettings, *, clock: Clock) -> StoreContext:
    return StoreContext(embedder_of(project, settings, clock=clock), Masker.of_children())
