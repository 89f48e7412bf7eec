"""Commands as one table that the hot lane and click both read, and the program they make (T-19)."""

from __future__ import annotations

import sys

from ddx.base import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


_MOST_WORDS = 3
"""Of a command's name."""


@value
class Flag:
    """`text` takes a word, `number` a whole number, `choice` one of a few, `switch` nothing."""

    name: str
    meaning: str
    kind: str = "text"
    many: bool = False
    choices: tuple[str, ...] = ()
    required: bool = False
    default: str | None = None
    also: str = ""
    """Another name that people know it by."""
    joined: bool = False
    """Of `many`: several may stand in one word, separated by commas."""

    @property
    def key(self) -> str:
        return self.name.lstrip("-").replace("-", "_")

    @property
    def absent(self) -> Any:
        """What the command gets when the flag is not given."""
        if self.kind == "switch":
            return False
        return () if self.many else self.default

    def split(self, given: Sequence[str]) -> tuple[str, ...]:
        """Values that were repeated or joined by commas, each by itself."""
        return tuple(word for text in given for part in text.split(",") if (word := part.strip()))


@value
class Argument:
    name: str
    meaning: str
    many: bool = False
    required: bool = True
    choices: tuple[str, ...] = ()
    """Words that a shell offers; the command itself says what else it takes."""


@value
class Command:
    """A command line, its help, and the function that carries it out; a program names it."""

    summary: str
    run: Callable[..., int]
    example: str
    arguments: tuple[Argument, ...] = ()
    flags: tuple[Flag, ...] = ()
    schema: str = ""
    """The JSON Schema of its --json answer, in docs/reference/schemas."""

    @staticmethod
    def of(**rest: Any) -> Callable[[Callable[..., int]], Command]:
        """Make a command of the function that carries it out; its docstring is the summary."""
        return lambda run: Command(" ".join((run.__doc__ or "").split()), run, **rest)


JSON = Flag("--json", "answer as one JSON value", kind="switch")
IF_REVISION = Flag("--if-revision", "only if the bead still has this revision (exit 5 otherwise)")
REASON = Flag("--reason", "why, in a sentence", required=True)
ID = Argument("id", "the bead's id")


def parse(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The plain form of a command line; None: click shall read it, or explain what is wrong."""
    flags = {name: flag for flag in command.flags for name in (flag.name, flag.also)}
    found: dict[str, Any] = {flag.key: flag.absent for flag in command.flags}
    given: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not _looks_like_a_flag(word):
            given.append(word)
            continue
        flag = flags.get(word)
        if flag is None:
            return None
        if flag.kind == "switch":
            found[flag.key] = True
            continue
        if position == len(words):
            return None
        fitting, read = _fit(flag, words[position])
        position += 1
        if not fitting:
            return None
        found[flag.key] = (*found[flag.key], read) if flag.many else read
    if any(flag.required and found[flag.key] in (None, ()) for flag in command.flags):
        return None
    for flag in command.flags:
        if flag.joined:
            found[flag.key] = flag.split(found[flag.key])
    return _with_arguments(command, given, found)


@value
class Program:
    """The commands of one program, by the words that a line begins with."""

    name: str
    summary: str
    commands: Mapping[str, str]
    """Where each command stands: `module:name`."""
    groups: Mapping[str, str]
    """What commands that begin with the same words have in common."""
    sections: Mapping[str, Sequence[str]] = {}
    """Headings in the help, each with the first words of its commands; without any there is one."""

    def main(self, words: Sequence[str] | None = None) -> int:
        """Run one command line, by default the one that was typed; the exit code is C-2's."""
        from ddx.console.error_handler import guarded

        return guarded(self.name, lambda: self.run(sys.argv[1:] if words is None else words))

    @staticmethod
    def completion(program: str, shell: str) -> str:
        """What a shell must run once to complete the words of a program."""
        from ddx.console.click_commands import completion_script

        return completion_script(program, shell)

    def start(self) -> None:
        """Run what was typed, and end the process with its exit code."""
        from ddx.console.error_handler import leave

        leave(self.main())

    def run(self, words: Sequence[str]) -> int:
        """Plain command lines run at once, all others are read by click (T-19)."""
        path = self.find(words)
        command = self.load(path) if path else None
        rest = words[self._taken(words, path) :]
        plain = parse(command, rest) if command else None
        if command and plain is not None:
            return command.run(**plain)
        if list(words) == ["--version"]:  # asked by other programs all day: without click (C-7)
            from ddx.console.version import version_of

            print(version_of(self.name))
            return 0
        from ddx.console.click_commands import run_command, run_program

        return run_command(self, path, rest) if path else run_program(self, words)

    def find(self, words: Sequence[str]) -> str:
        """The command with the longest name that a line begins with; empty if it is none."""
        for count in range(min(_MOST_WORDS, len(words)), 0, -1):
            path = " ".join(words[:count])
            if path in self.commands:
                return path
        return ""

    @staticmethod
    def _taken(words: Sequence[str], path: str) -> int:
        """How many words of the line the name takes; a name may come as one word."""
        return next(n for n in range(len(words) + 1) if " ".join(words[:n]) == path)

    def load(self, path: str) -> Command:
        """The command of that name."""
        module, _, name = self.commands[path].partition(":")
        command: Command = getattr(__import__(module, fromlist=[name]), name)
        return command

    def names_below(self, path: str) -> tuple[str, ...]:
        """The last words of the commands that begin with this one."""
        longer = (it for it in self.commands if it.startswith(f"{path} "))
        return tuple(it.removeprefix(f"{path} ") for it in longer)


def _fit(flag: Flag, word: str) -> tuple[bool, Any]:
    if flag.kind == "number":
        plain = word.isascii() and word.isdigit() and len(word) < 10
        return plain, int(word) if plain else None
    if flag.kind == "choice":
        return word in flag.choices, word
    return not _looks_like_a_flag(word), word


def _looks_like_a_flag(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _with_arguments(
    command: Command, given: list[str], found: dict[str, Any]
) -> dict[str, Any] | None:
    rest = given
    for argument in command.arguments:
        if argument.many:
            if argument.required and not rest:
                return None
            found[argument.name], rest = tuple(rest), []
        elif rest:
            found[argument.name], rest = rest[0], rest[1:]
        elif argument.required:
            return None
        else:
            found[argument.name] = None
    return None if rest else found
