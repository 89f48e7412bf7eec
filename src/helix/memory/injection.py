"""Memories for one attempt: what its prompt carries, and what its checks say of them (M-8, M-9).

Both drivers call these two functions. Trouble with memory never stops work: it is told, and the
attempt goes on without.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ddx.errors import DdxError
from ddx.execution.model import Section
from ddx.text import cut, shown
from ddx.tracker.events import event
from ddx.tracker.evidence import add_event
from ddx.tracker.model import RUNNER, text_of
from ddx.tracker.working import Working
from ddx.values import changed, value
from helix.memory.crediting import begin_trial, end_trial, verdict_of
from helix.memory.model import Kind, files_in
from helix.memory.opening import embedder_of, open_store
from helix.memory.recall import Question, Recall
from helix.memory.rows import count_memories
from helix.prompts import defused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.clock import Clock
    from ddx.execution.model import Bead, Outcome
    from ddx.project import Project
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker
    from ddx.tracker.working import Changes
    from helix.memory.scoring import Hit
    from helix.settings import HelixSettings

FAILURES, PATTERNS = "FAILURES_TO_AVOID", "PATTERNS_TO_APPLY"
EVENT = "memories"

LONGEST_LINE = 1_200
"""Characters of a memory that a prompt carries; `helix memory get` shows the rest."""
_LONGEST_DESCRIPTION = 1_500
_MOST_FILES = 20


@value
class Injection:
    """What an attempt was given, or would have been."""

    sections: tuple[Section, ...] = ()
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
    project: Project,
    beads: Sequence[Bead],
    attempt: str,
    *,
    settings: HelixSettings,
    clock: Clock,
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
        with store.reading() as db:
            if not settings.memory_limit or not count_memories(db):
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


def sections_of(hits: Sequence[Hit]) -> tuple[Section, ...]:
    """What to avoid before what to repeat; quoted, since it is data and no order (X-26)."""
    titles = ((FAILURES, Kind.FAILURE), (PATTERNS, Kind.PATTERN))
    found = []
    for title, kind in titles:
        lines = [_line(hit) for hit in hits if hit.memory.type == kind]
        if lines:
            found.append(defused(Section(title, "\n".join(lines), quoted=True)))
    return tuple(found)


def _line(hit: Hit) -> str:
    memory = hit.memory
    text = f"{memory.trigger} -> {memory.resolution}".replace("\n", " ")
    return f"- {cut(shown(text), LONGEST_LINE)} [{memory.name}]"


def _question(beads: Sequence[Bead], limit: int) -> Question:
    """Titles first: they are what a memory is most like."""
    titles = [bead.title for bead in beads]
    descriptions = [text_of(bead.row, "description") for bead in beads]
    text = "\n".join((*titles, *descriptions))[:_LONGEST_DESCRIPTION]
    named = (*(path for bead in beads for path in bead.paths), *files_in(text))
    return Question(text, limit=limit, files=tuple(dict.fromkeys(named))[:_MOST_FILES])


def note_injection(
    tracker: Tracker, beads: Sequence[str], injection: Injection, attempt: str
) -> None:
    """An event on each bead: what its attempt was shown, or that it went without (M-8)."""
    if not injection.summary:
        return

    def decide(view: Snapshot, now: str) -> Changes:
        working = Working(view, now=now)
        attached: dict[str, tuple[Row, ...]] = {}
        body = "\n".join(injection.names or injection.withheld)
        for bead in beads:
            summary = f"attempt {attempt}: {injection.summary}"
            said = event(EVENT, summary=summary, body=body, actor=RUNNER, source="helix", at=now)
            changes = add_event(view, bead, said, now=now)
            working.put(changes.put[bead])
            attached |= changes.attached
        return changed(working.changes(), attached=attached)

    tracker.change(decide)


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
