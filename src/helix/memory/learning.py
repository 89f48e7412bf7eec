"""Learning from what happened: a failing check and its fix, an observer's words, a success (M-10).

Everything goes through M-2's gate, so that what recall had handed out is recognised and never
becomes new knowledge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ddx.base import changed, cut, shown, value
from helix.memory.credits import CREDIT
from helix.memory.model import MemoryDraft, MemoryEdge, Relation
from helix.memory.rows import add_edge, find_memory, put
from helix.memory.storage import MemoryAdded, MemoryMerged, MemoryRejected, store_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.attempts import Outcome
    from ddx.proof import Check
    from helix.memory.storage import StoreContext, StoreOutcome
    from helix.memory.store import MemoryStore

MOST_EXTRACTIONS = 20
MOST_RELATIONSHIPS = 40
OBSERVED, EXTRACTED, CHUNKED = "observer", "extractor", "chunked"

_LONGEST_LINE = 200
_LONGEST_TITLE = 120
_MOST_PATHS = 6
_SUCCESS = "success"
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TELLING = re.compile(
    r"\b\w*(?:Error|Exception)\b|\berror\b|\bfail(?:ed|ure)?\b|\bassert|\bpanic|\bfatal\b|"
    r"\bexpected\b|\bundefined\b|\bcannot\b|\bnot found\b",
    re.IGNORECASE,
)
_TALLY = re.compile(r"\bin [\d.]+ ?s\b|^[=\-\s]*\d+ (?:failed|passed)|^FAILED\b")
_PLACE = re.compile(r"(?:/[\w.@+-]+){3,}/(?=[\w.@+-])")


# -- without an agent ------------------------------------------------------------------------


def lesson_of(title: str, failed: Check, outcome: Outcome) -> MemoryDraft | None:
    """One failure memory: which check failed and how it said so, and what the fix touched."""
    fixed = outcome.facts
    if not fixed.paths:
        return None
    about = cut(shown(title, one_line=True), _LONGEST_TITLE)
    paths = ", ".join(fixed.paths[:_MOST_PATHS])
    more = len(fixed.paths) - _MOST_PATHS
    size = fixed.diffstat.strip().rpartition("\n")[2].strip()
    return MemoryDraft(
        "failure",
        cut(f"{about}: {failed.name} fails with {_complaint(failed)}", 2 * _LONGEST_LINE),
        f"It passed once {paths}{f' and {more} more' if more > 0 else ''} had been changed"
        f"{f' ({size})' if size else ''}; look there first.",
        source=f"{EXTRACTED} {fixed.attempt}",
        files=fixed.paths[:_MOST_PATHS],
    )


def _complaint(check: Check) -> str:
    """The line of a check's output that says most, without colours and places of this machine."""
    lines = [_COLOURS.sub("", line).strip() for line in check.output_tail.splitlines()]
    told = [line for line in lines if line and not _TALLY.search(line)]
    telling = [line for line in told if _TELLING.search(line)]
    said = (telling or told or [check.reason or f"exit code {check.exit_code}"])[-1]
    return cut(shown(_PLACE.sub("", said), one_line=True), _LONGEST_LINE)


# -- from the observer -----------------------------------------------------------------------


@value
class LearnResult:
    """What became of an observer's words."""

    stored: tuple[StoreOutcome, ...]
    edges: int
    remarks: tuple[str, ...]

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(one.memory.name for one in self.stored if isinstance(one, MemoryAdded))


def learn_observation(
    store: MemoryStore, observation: Mapping[str, Any], wits: StoreContext, *, now: str
) -> LearnResult:
    """The failures, patterns and relationships of an observer's JSON, each judged by itself."""
    given = observation.get("extractions")
    extractions = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    stored: list[StoreOutcome] = []
    names: dict[str, str] = {}
    remarks: list[str] = []
    for one in extractions[:MOST_EXTRACTIONS]:
        draft = _draft(one)
        called = _text(one, "name")
        outcome = store_memory(store, draft, wits, now=now, like=called)
        stored.append(outcome)
        if isinstance(outcome, MemoryRejected):
            remarks.append(f"not remembered: {outcome.reason}")
        else:
            names[called] = outcome.memory.name
    if len(extractions) > MOST_EXTRACTIONS:
        remarks.append(f"only the first {MOST_EXTRACTIONS} extractions were looked at")
    edges = _relate(store, observation.get("relationships"), names, now=now)
    return LearnResult(tuple(stored), edges, tuple(remarks))


def _draft(one: Mapping[str, Any]) -> MemoryDraft:
    task = _text(one, "source_task")
    source = f"{OBSERVED} {cut(task, _LONGEST_TITLE)}".strip()
    return MemoryDraft(
        _text(one, "type"), _text(one, "trigger"), _text(one, "resolution"), source=source
    )


def _text(row: Mapping[str, Any], key: str) -> str:
    found = row.get(key)
    return found if isinstance(found, str) else ""


def _relate(store: MemoryStore, given: Any, names: Mapping[str, str], *, now: str) -> int:
    """Edges between memories that exist; what an observer made up leads nowhere."""
    rows: Sequence[Any] = given if isinstance(given, list) else ()
    found = 0
    with store.writing() as db:
        for row in rows[:MOST_RELATIONSHIPS]:
            if not isinstance(row, dict) or row.get("type") not in tuple(Relation):
                continue
            source, target = (names.get(_text(row, end), _text(row, end)) for end in ("from", "to"))
            known = all(find_memory(db, name) is not None for name in (source, target))
            if known and source != target:
                edge = MemoryEdge(source, target, Relation(row["type"]))
                found += add_edge(db, edge, now=now)
    return found


# -- from a success --------------------------------------------------------------------------


@value
class ChunkResult:
    """`status` is added, strengthened, skipped or rejected."""

    status: str
    name: str = ""
    reason: str = ""


def chunk(
    store: MemoryStore,
    wits: StoreContext,
    *,
    task: str,
    outcome: str,
    approach: str,
    source: str,
    now: str,
) -> ChunkResult:
    """What worked becomes a pattern; told again, the pattern is strengthened."""
    if not outcome.strip().lower().startswith(_SUCCESS):
        return ChunkResult("skipped", reason="only a success is worth repeating")
    worked = f"Approach that worked: {approach}" if approach.strip() else ""
    draft = MemoryDraft("pattern", f"Task: {task}", worked, source=source or CHUNKED)
    match store_memory(store, draft, wits, now=now, like=task):
        case MemoryAdded(memory=memory):
            return ChunkResult("added", memory.name)
        case MemoryRejected(reason=reason):
            return ChunkResult("rejected", reason=reason)
        case MemoryMerged(memory=memory, reason=reason):
            with store.writing() as db:
                known = find_memory(db, memory.name)
                if known is not None:
                    put(db, changed(known, helped=known.helped + CREDIT))
            return ChunkResult("strengthened", memory.name, reason)
