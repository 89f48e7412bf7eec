"""What a command looks like: one table that the hot lane and click both read (T-19)."""

from __future__ import annotations

from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


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

    @property
    def key(self) -> str:
        return self.name.lstrip("-").replace("-", "_")

    @property
    def absent(self) -> Any:
        """What the command gets when the flag is not given."""
        if self.kind == "switch":
            return False
        return () if self.many else self.default


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
    """A command line, its help, and the function that carries it out."""

    path: str
    summary: str
    run: Callable[..., int]
    example: str
    arguments: tuple[Argument, ...] = ()
    flags: tuple[Flag, ...] = ()
    schema: str = ""
    """The JSON Schema of its --json answer, in docs/reference/schemas."""


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
    return _with_arguments(command, given, found)


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
