"""What the commands of `helix memory` share: the database, what was typed, memories in words."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.base import Clock, UsageError, loads, value
from ddx.console import Argument, say, table
from ddx.project import find_project
from helix.cli.context import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ddx.project import Project
    from helix.memory import Embedder, Memory, MemoryStore, NoEmbedder, StoreContext

CLOCK = Clock()
NAME = Argument("name", "the memory's name")

_WORTH_TELLING = 50


@value
class MemoryContext:
    """One command's view of the memories of one project."""

    project: Project
    store: MemoryStore
    now: str

    def wits(self) -> StoreContext:
        from helix.memory import wits_of
        from helix.project import read_helix_settings

        settings = read_helix_settings(self.project, clock=CLOCK)
        return wits_of(self.project, settings, clock=CLOCK)

    def embedder(self) -> Embedder | NoEmbedder:
        return self.wits().embedder


@contextmanager
def open_session(*, writes: str = "") -> Iterator[MemoryContext]:
    """`writes` says what would be changed: an attempt's agent may not do it (A-10)."""
    from helix.memory import INSTEAD, open_store

    project = find_project(os.getcwd())
    if writes:
        project.refuse_inside_an_attempt(what=writes, instead=INSTEAD)
    with open_store(project) as store:
        yield MemoryContext(project, store, CLOCK.stamp())


def tell_progress(done: int, total: int) -> None:
    """At the beginning and ten times at most, and not at all where it takes no time."""
    from helix.memory import BATCH

    if total < _WORTH_TELLING:
        return
    before = max(done - BATCH, 0)
    if not done:
        tell(f"{total:,} memories are to be embedded, once; Ctrl-C keeps what is done")
    elif before * 10 // total < done * 10 // total:
        tell(f"embedded {done:,} of {total:,} memories")


def read_names(text: str, *, flag: str) -> list[str]:
    """A JSON list of names, as it is typed."""
    try:
        found: Any = loads(text)
    except ValueError as problem:
        raise UsageError(f"{flag}: {problem}", hint=f"""{flag} '["a-name"]'""") from None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise UsageError(f"{flag} must be a JSON list of names", hint=f"""{flag} '["a-name"]'""")
    return found


def read_share(text: str | None, *, flag: str, default: float) -> float:
    """A number from 0 to 1."""
    try:
        found = default if text is None else float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found <= 1.0:
        raise UsageError(f"{flag} must be a number from 0 to 1, not {text!r}")
    return found


def split_paths(text: str | None) -> tuple[str, ...]:
    return tuple(path.strip() for path in (text or "").split(",") if path.strip())


def credit_in_words(helped: float, failed: float) -> str:
    """How many of its outcomes were good, for a person; each counts half a point (D-18)."""
    from helix.memory import CREDIT

    if not helped + failed:
        return "unproven"
    return f"helped {helped / CREDIT:g} of {(helped + failed) / CREDIT:g}"


def show_memories(
    found: Sequence[Memory],
    *,
    none: str,
    last: str = "trigger",
    cell: Callable[[Memory], str] = lambda memory: memory.trigger,
) -> None:
    """Several of them as a table; a sentence where there is none."""
    if not found:
        say(none)
        return
    rows = [(it.name, str(it.type), _record(it), cell(it)) for it in found]
    table(("name", "type", "record", last), rows)


def _record(memory: Memory) -> str:
    credit = credit_in_words(memory.helped, memory.failed)
    return f"{credit}, pinned" if memory.pinned else credit


def say_indented(text: str, *, by: int) -> None:
    """Every line of it, so that none can pass for one of ours (T-23)."""
    for line in text.split("\n"):
        say(f"{' ' * by}{line}")


def memories(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"
