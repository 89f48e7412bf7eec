"""Attempts as people name them, and how each stands right now."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from ddx.attempts import AttemptRecord, read_attempts
from ddx.base import CorruptFile, NotFound, value
from ddx.base import json as fastjson
from ddx.cli.context import CLOCK, tell
from ddx.git import kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.project import Project

_TAIL = 1 << 16


class AttemptState(StrEnum):
    RUNNING = "running"
    DIED = "died"
    """Its process is gone, and nobody has cleaned up after it yet (X-19)."""
    ENDED = "ended"


@value
class ListedAttempt:
    """A record, and how it stands."""

    record: AttemptRecord
    state: AttemptState
    seen_at: str
    """Its last sign of life; the end of one that has ended."""
    ref: str = ""
    """What is kept of it, if that is still there."""

    @property
    def id(self) -> str:
        return self.record.attempt


def list_attempts(project: Project, *, bead: str = "") -> Iterator[ListedAttempt]:
    """Newest first, of one bead or all; one that cannot be read is named and left out."""
    refs: dict[str, str] | None = None
    for record in read_attempts(project).readable(_leave_out, newest_first=True):
        if not bead or bead in record.beads:
            refs = _refs(project) if refs is None else refs
            try:
                yield _attempt(project, record, refs)
            except NotFound:
                continue  # pruned a moment ago
            except CorruptFile as problem:
                _leave_out(problem.message)


def _leave_out(problem: str) -> None:
    tell(f"{problem}; the attempt is left out")


def find_attempt(project: Project, name: str) -> ListedAttempt:
    """By its id, by a part that no other begins or ends with, or the newest by `last`."""
    return _attempt(project, read_attempts(project).find(name), _refs(project))


def find_landable(project: Project, name: str) -> str:
    """The attempt whose work is meant: of a landing, the one that it was about."""
    found = find_attempt(project, name)
    return str(found.record.intent.get("lands") or found.id)


def is_over(attempt: ListedAttempt) -> bool:
    """Will nothing more be told of it?"""
    return attempt.record.has_ended() or not attempt.record.is_alive(CLOCK)


def _attempt(project: Project, record: AttemptRecord, refs: Mapping[str, str]) -> ListedAttempt:
    state = AttemptState.ENDED
    if not record.result:
        state = AttemptState.RUNNING if record.is_alive(CLOCK) else AttemptState.DIED
    if state is AttemptState.DIED:  # or it has ended since we read it
        record = read_attempts(project).read(record.attempt)
        state = AttemptState.ENDED if record.result else AttemptState.DIED
    return ListedAttempt(record, state, _last_sign(record), ref=refs.get(record.attempt, ""))


def _refs(project: Project) -> dict[str, str]:
    return {item.attempt: item.ref for item in kept(project.root)}


def _last_sign(record: AttemptRecord) -> str:
    """When the last whole line of its story was told."""
    try:
        with open(record.story, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL, 0))
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = []
    for line in reversed(lines):
        try:
            row = fastjson.loads(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(at := row.get("at"), str):
            return at
    return record.began_at
