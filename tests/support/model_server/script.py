"""What a scripted model does: a scenario is a word of the prompt and the turns that it leads to.

A turn's steps happen in their order. `Write`, `Shell` and `Structured` say what the model wants and
not how: each is put into the tools that the client offers, so one scenario serves every agent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

ALWAYS = sys.maxsize
"""As `times`: the fault happens however often the client tries again."""


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Write:
    """A new file; its path stands below the client's folder unless it is absolute."""

    path: str
    text: str


@dataclass(frozen=True)
class Shell:
    command: str


@dataclass(frozen=True)
class Structured:
    """The reply as a value, by the client's own tool for that, else as JSON in plain text."""

    reply: Any


@dataclass(frozen=True)
class Tool:
    """A call by the very name that the client knows; `namespace` is what codex calls a server."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = ""


@dataclass(frozen=True)
class Usage:
    """What the turn is said to have used; `input` is what no cache held, `output` is everything."""

    input: int = 100
    cache_read: int = 0
    cache_write: int = 0
    output: int = 20
    reasoning: int = 0


@dataclass(frozen=True)
class Http:
    """Instead of an answer, this status; counted for its scenario and turn."""

    status: int
    times: int = 1
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Hang:
    """Not a byte for so long; as the first step not even a status."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """The connection is cut here, in the middle of a stream; counted as `Http` is."""

    times: int = 1


Wish: TypeAlias = Say | Write | Shell | Structured | Tool
Step: TypeAlias = Wish | Usage | Http | Hang | Drop
Turn: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class Scenario:
    """The turns of a conversation; with `repeats` the last one comes again without end."""

    word: str
    turns: tuple[Turn, ...]
    repeats: bool = False

    def turn(self, number: int) -> Turn:
        if number < len(self.turns):
            return self.turns[number]
        if self.repeats:
            return self.turns[-1]
        return (Say(f"Nothing follows in {self.word}."),)


def find_scenario(scenarios: Iterable[Scenario], prompt: str) -> Scenario | None:
    """The one whose word is named last: before the prompt, claude tells of the latest commits."""
    named = {
        found.start(): scenario
        for scenario in scenarios
        for found in re.finditer(rf"(?<![\w-]){re.escape(scenario.word)}(?![\w-])", prompt)
    }
    return named[max(named)] if named else None
