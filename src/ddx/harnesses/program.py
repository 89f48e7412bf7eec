"""What the agent programs from npm have in common: how they are named, found and weighed. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from ddx.harnesses.base import Detected, Event, Exit, Kind, Reply
from ddx.harnesses.command import object_in
from ddx.harnesses.detecting import MACHINE, Machine, detect_program
from ddx.harnesses.reading import plain
from ddx.harnesses.weighing import last_words, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n```", re.DOTALL)


class AgentProgram:
    """A program of that name; what the settings add follows our flags, and their `env` wins."""

    name: str
    homes: tuple[str, ...]
    package: ClassVar[str]
    capabilities: ClassVar[frozenset[str]]

    def __init__(
        self,
        program: str = "",
        *,
        argv: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        machine: Machine = MACHINE,
    ) -> None:
        self.program = program or self.name
        self.argv = tuple(argv)
        self.env = dict(env or {})
        self.machine = machine

    def detect(self) -> Detected:
        return detect_program(
            self.program, package=self.package, capabilities=self.capabilities, env=self.env
        )

    def has_variable(self, *names: str) -> bool:
        """Will the program find one of these in its environment?"""
        return any(self.env.get(name) or self.machine.variable(name) for name in names)

    def parse_error(self, line: str) -> tuple[Event, ...]:
        text = plain(line)
        return (Event(Kind.NOTICE, text),) if text else ()

    def finish(self, exit: Exit, events: Sequence[Event]) -> Reply:
        """A reply that is one JSON object is handed on as such; whoever asked must check it."""
        words = last_words(events)
        fenced = _FENCED.fullmatch(words.strip())
        found = object_in(fenced[1] if fenced else words)
        return weigh(exit, events, program=self.name, structured=found)


def asking_for(schema: str) -> str:
    """What a prompt must add for a program that cannot be told a schema otherwise."""
    if not schema:
        return ""
    return f"\n\nAnswer with one JSON object and nothing else. It must fit this schema:\n{schema}\n"
