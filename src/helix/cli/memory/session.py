"""What every `helix memory` command begins with: the project, its database, the time."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import say
from ddx.console.spec import Argument, Flag
from ddx.environment import refuse_inside_an_attempt
from ddx.errors import UsageError
from ddx.fastjson import loads
from ddx.project import find_project
from ddx.text import shown
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.project import Project
    from helix.memory.embedders.base import Absent, Embedder
    from helix.memory.store import MemoryStore
    from helix.memory.storing import Wits

CLOCK = SYSTEM_CLOCK
DRY_RUN = Flag("--dry-run", "only say what would happen", kind="switch")
NAME = Argument("name", "the memory's name")

_WORTH_TELLING = 50
_INSTEAD = "say it in your answer: what was learned is stored once the checks have spoken"


@value
class Session:
    """One command's view of the memories of one project."""

    project: Project
    store: MemoryStore
    now: str

    def wits(self) -> Wits:
        from helix.memory.opening import wits_of
        from helix.settings import read_helix_settings

        settings = read_helix_settings(self.project, clock=CLOCK)
        return wits_of(self.project, settings, clock=CLOCK)

    def embedder(self) -> Embedder | Absent:
        return self.wits().embedder


@contextmanager
def open_session(*, writes: str = "") -> Iterator[Session]:
    """`writes` says what would be changed: an attempt's agent may not do it (A-10)."""
    from helix.memory.opening import open_store

    project = find_project(os.getcwd())
    if writes:
        refuse_inside_an_attempt(project, what=writes, instead=_INSTEAD)
    with open_store(project) as store:
        yield Session(project, store, CLOCK.stamp())


def tell(sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    print(shown(f"helix: {sentence}"), file=sys.stderr)


def tell_progress(done: int, total: int) -> None:
    """At the beginning and ten times at most, and not at all where it takes no time."""
    from helix.memory.vectors import BATCH

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
    from helix.memory.crediting import CREDIT

    if not helped + failed:
        return "unproven"
    return f"helped {helped / CREDIT:g} of {(helped + failed) / CREDIT:g}"


def say_indented(text: str, *, by: int) -> None:
    """Every line of it, so that none can pass for one of ours (T-23)."""
    for line in text.split("\n"):
        say(f"{' ' * by}{line}")


def memories(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"
