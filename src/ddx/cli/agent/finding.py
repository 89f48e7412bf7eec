"""Attempts as people name them, and how each stands right now."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ddx import fastjson
from ddx.cli.place import CLOCK, tell
from ddx.errors import CorruptFile, NotFound, UsageError
from ddx.execution.record import (
    EVENTS,
    RESULT,
    USAGE,
    Kept,
    attempts,
    is_alive,
    read_record,
)
from ddx.git.landing import kept
from ddx.text import listed
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.project import Project

NEWEST = "last"
_TAIL = 1 << 16
_MOST_NAMED = 5


class State(StrEnum):
    RUNNING = "running"
    DIED = "died"
    """Its process is gone, and nobody has cleaned up after it yet (X-19)."""
    ENDED = "ended"


@value
class Attempt:
    """A record, and how it stands."""

    record: Kept
    state: State
    seen_at: str
    """Its last sign of life; the end of one that has ended."""
    ref: str = ""
    """What is kept of it, if that is still there."""

    @property
    def id(self) -> str:
        return self.record.attempt

    @property
    def began_at(self) -> str:
        return str(self.record.intent.get("at", ""))

    @property
    def result(self) -> Mapping[str, Any]:
        return self.record.result

    def of_both(self, name: str) -> str:
        """What the result says, else what was intended."""
        return str(self.result.get(name) or self.record.intent.get(name) or "")

    @property
    def usage(self) -> Mapping[str, Any]:
        """Empty if nobody has counted anything."""
        found = self.result.get("usage") or self.record.file(USAGE)
        return found if isinstance(found, dict) else {}


def read_attempts(project: Project, *, bead: str = "") -> Iterator[Attempt]:
    """Newest first, of one bead or all; one that cannot be read is named and left out."""
    names = attempts(project)
    refs = _refs(project) if names else {}
    for name in reversed(names):
        try:
            record = read_record(project, name)
            if not bead or bead in record.beads:
                yield _attempt(project, record, refs)
        except NotFound:
            continue  # pruned a moment ago
        except CorruptFile as problem:
            tell(f"{problem.message}; the attempt is left out")


def find_attempt(project: Project, name: str) -> Attempt:
    """By its id, by a part that no other begins or ends with, or the newest by `last`."""
    known = attempts(project)
    if name == NEWEST and known:
        found = known[-1:]
    elif name in known:
        found = [name]
    else:
        found = [item for item in known if name and (item.startswith(name) or item.endswith(name))]
    if len(found) > 1:
        some = listed([*found[:_MOST_NAMED], *(["more"] if len(found) > _MOST_NAMED else [])])
        raise UsageError(f"{name!r} may be any of {some}", hint="type more of it")
    if not found:
        raise NotFound(f"there is no attempt {name!r} here", hint="see: ddx agent attempts")
    return _attempt(project, read_record(project, found[0]), _refs(project))


def find_landable(project: Project, name: str) -> str:
    """The attempt whose work is meant: of a landing, the one that it was about."""
    found = find_attempt(project, name)
    return str(found.record.intent.get("lands") or found.id)


def is_over(project: Project, attempt: Attempt) -> bool:
    """Will nothing more be told of it?"""
    ended = os.path.exists(os.path.join(attempt.record.folder, RESULT))
    return ended or not is_alive(project, attempt.id, CLOCK)


def _attempt(project: Project, record: Kept, refs: Mapping[str, str]) -> Attempt:
    state = State.ENDED
    if not record.result:
        state = State.RUNNING if is_alive(project, record.attempt, CLOCK) else State.DIED
    if state is State.DIED:  # or it has ended since we read it
        record = read_record(project, record.attempt)
        state = State.ENDED if record.result else State.DIED
    return Attempt(record, state, _last_sign(record), refs.get(record.attempt, ""))


def _refs(project: Project) -> dict[str, str]:
    return {item.attempt: item.ref for item in kept(project.root)}


def _last_sign(record: Kept) -> str:
    """When the last whole line of its story was told."""
    try:
        with open(os.path.join(record.folder, EVENTS), "rb") as file:
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
    return str(record.intent.get("at", ""))
