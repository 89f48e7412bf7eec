"""What the agent programs from npm have in common: how they are found, asked, read and weighed."""

from __future__ import annotations

import os
import re
import shutil
from abc import abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from ddx.agents.call_result import last_words, weigh
from ddx.agents.harness import (
    AgentEvent,
    AgentEventKind,
    DetectedProgram,
    ProcessExit,
    Reply,
    object_in,
    row_in,
)
from ddx.agents.output import plain
from ddx.base import Clock, DdxError, MarkdownText, process, variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ddx.agents.output import OutputRow


ANSWER_S = 20.0

_VERSION = re.compile(r"(?<![\w.])\d+\.\d+[\w.+-]*")


class Machine:
    """All that a harness may ask of the world; a test brings its own."""

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def variable(self, name: str) -> str:
        return variable(name)

    def now(self) -> datetime:
        """With the zone of this machine, in which programs tell times to a person."""
        return datetime.fromtimestamp(Clock().now_ns() / 1e9).astimezone()


MACHINE = Machine()


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

    def detect(self) -> DetectedProgram:
        return detect_program(
            self.program, package=self.package, capabilities=self.capabilities, env=self.env
        )

    def has_variable(self, *names: str) -> bool:
        """Will the program find one of these in its environment?"""
        return any(self.env.get(name) or self.machine.variable(name) for name in names)

    @abstractmethod
    def events_in(self, row: OutputRow) -> Iterable[AgentEvent]:
        """What one JSON object of its output tells."""

    def parse(self, line: str) -> tuple[AgentEvent, ...]:
        row = row_in(line)
        return () if row is None else tuple(self.events_in(row))

    def parse_error(self, line: str) -> tuple[AgentEvent, ...]:
        text = plain(line)
        return (AgentEvent(AgentEventKind.NOTICE, text),) if text else ()

    def finish(self, exit: ProcessExit, events: Sequence[AgentEvent]) -> Reply:
        """A reply that is one JSON object is handed on as such; whoever asked must check it."""
        words = last_words(events)
        found = object_in(MarkdownText(words).sole_block() or words)
        return weigh(exit, events, program=self.name, structured=found)


def asking_for(schema: str) -> str:
    """What a prompt must add for a program that cannot be told a schema otherwise."""
    if not schema:
        return ""
    return f"\n\nAnswer with one JSON object and nothing else. It must fit this schema:\n{schema}\n"


def detect_program(
    program: str,
    *,
    package: str,
    capabilities: frozenset[str] = frozenset(),
    env: Mapping[str, str] | None = None,
    timeout_s: float = ANSWER_S,
) -> DetectedProgram:
    """Find the program and ask for its version; what keeps it from working is said in words."""
    path = shutil.which(program, path=variable("PATH") or None)
    if path is None:
        return DetectedProgram(
            program, problem=f"{program} is not installed: npm install -g {package}"
        )
    try:
        answer = process.run([path, "--version"], cwd=os.path.sep, env=env, timeout_s=timeout_s)
    except DdxError as problem:
        return DetectedProgram(program, path, problem=problem.message)
    found = _VERSION.search(answer.text)
    if answer.timed_out:
        problem_text = f"{program} --version gave no answer within {timeout_s:g} s"
    elif not answer.ok:
        problem_text = f"{program} --version ended with {answer.code}: {plain(answer.complaint)}"
    elif found is None:
        problem_text = f"{program} --version names no version: {plain(answer.text)}"
    else:
        return DetectedProgram(program, path, found[0], capabilities=capabilities)
    return DetectedProgram(program, path, problem=problem_text)
