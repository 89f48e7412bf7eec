"""The last lines of an action's reply: which there are, and what one says (A-1). Pure.

A trailer is believed only if it cannot be mistaken: a line of its own, outside of code and quotes,
with a value from a closed set. Two lines of one key must agree. Everything else is unreadable, and
whoever asked must say what follows from that; there is no default.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from ddx.graph.markdown import prose
from ddx.text import cut, listed, shown_on_one_line
from ddx.values import value
from helix.policy.model import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LONGEST_REPLY = 1 << 20
_LONGEST_TEXT = 2000
_LONGEST_PATH = 400
_LONGEST_SHOWN = 60

_MARKS = "*_`"
_COUNT = re.compile(r"[0-9]{1,9}")
_METRIC = re.compile(
    r"[A-Za-z][\w.-]{0,63}=[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?"
)


class Kind(StrEnum):
    """What may stand after a key."""

    CHOICE = "one of its words"
    COUNT = "a whole number"
    PATH = "a path below the repository's root"
    METRIC = "name=number"
    TEXT = "text"


@value
class Key:
    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    may_be_missing: bool = False


@value
class Trailer:
    """What the reply of one action must end with, its status first."""

    action: str
    keys: tuple[Key, ...]


@value
class Found:
    """What a trailer says; a key that may be missing and is has no value."""

    values: Mapping[str, str | int]

    def text(self, key: str) -> str:
        return str(self.values.get(key, ""))

    def count(self, key: str) -> int:
        return int(self.values[key])


@value
class Unreadable:
    """It cannot be told what was meant, and why."""

    reason: str


Reading: TypeAlias = Found | Unreadable


def _choice(name: str, *choices: str) -> Key:
    return Key(name, Kind.CHOICE, choices)


def _counts(*names: str) -> tuple[Key, ...]:
    return tuple(Key(name, Kind.COUNT) for name in names)


TRAILERS: Mapping[str, Trailer] = {
    action: Trailer(action, keys)
    for action, keys in (
        (
            "check",
            (
                _choice("NEXT_ACTION", *Answer),
                Key("REASON", Kind.TEXT, may_be_missing=True),
                Key("QUESTION", Kind.TEXT, may_be_missing=True),
            ),
        ),
        ("review", (_choice("REVIEW_STATUS", "CLEAN", "ISSUES_FOUND"), *_counts("ISSUES_COUNT"))),
        (
            "align",
            (
                _choice("ALIGN_STATUS", "COMPLETE", "INCOMPLETE", "BLOCKED"),
                *_counts("GAPS_FOUND"),
                Key("ALIGN_REPORT", Kind.PATH),
            ),
        ),
        (
            "backfill",
            (
                _choice("BACKFILL_STATUS", "COMPLETE", "GUIDANCE_NEEDED", "BLOCKED"),
                Key("BACKFILL_REPORT", Kind.PATH),
            ),
        ),
        (
            "design",
            (
                _choice("PLAN_STATUS", "CONVERGED", "IN_PROGRESS", "GUIDANCE_NEEDED"),
                Key("PLAN_DOCUMENT", Kind.PATH),
                *_counts("PLAN_ROUNDS"),
            ),
        ),
        (
            "polish",
            (
                _choice("POLISH_STATUS", "CONVERGED", "IN_PROGRESS"),
                *_counts("ISSUES_MODIFIED", "ISSUES_CREATED", "ISSUES_MERGED"),
            ),
        ),
        (
            "frame",
            (_choice("FRAME_STATUS", "COMPLETE", "GUIDANCE_NEEDED"), *_counts("ARTIFACTS_CREATED")),
        ),
        (
            "evolve",
            (
                _choice("EVOLUTION_STATUS", "COMPLETE", "CONFLICTS", "BLOCKED"),
                *_counts("ARTIFACTS_UPDATED"),
                Key("CONFLICTS", Kind.TEXT),
            ),
        ),
        (
            "experiment",
            (
                _choice(
                    "EXPERIMENT_STATUS",
                    *("CONVERGED", "ITERATION_COMPLETE", "NO_IMPROVEMENT", "CLOSED"),
                ),
                Key("EXPERIMENT_BEST", Kind.METRIC),
            ),
        ),
    )
}


def read_trailer(text: str, trailer: Trailer) -> Reading:
    """What the final message of an action says in its last lines, or why that cannot be told."""
    if len(text) > LONGEST_REPLY:
        return Unreadable(f"the reply is longer than {LONGEST_REPLY >> 10} KB")
    lines = [line.rstrip("\r") for line in prose(text).split("\n")]
    values: dict[str, str | int] = {}
    for key in trailer.keys:
        said = [_read(key, given) for given in _given(lines, key.name)]
        if not said and key.may_be_missing:
            continue
        if not said:
            return Unreadable(f"there is no {key.name} line")
        for each in said:
            if isinstance(each, Unreadable):
                return each
            if each != said[0]:
                words = listed(
                    cut(shown_on_one_line(str(it)), _LONGEST_SHOWN) for it in (said[0], each)
                )
                return Unreadable(f"its {key.name} lines do not agree: {words}")
            values[key.name] = each
    return Found(values)


def trailer_lines(text: str) -> tuple[str, ...]:
    """The lines that some action's trailer could be read from; a prompt of ours has none (A-1)."""
    names = [key.name for trailer in TRAILERS.values() for key in trailer.keys]
    lines = text.split("\n")
    return tuple(line for line in lines if any(list(_given([line], name)) for name in names))


def _given(lines: Iterable[str], name: str) -> Iterator[str]:
    """What stands after the key in each of its lines, without the emphasis of the whole line."""
    for line in lines:
        if name not in line or line.startswith((" " * 4, "\t")):  # that far in, it is code
            continue
        bare = line.strip()
        opened = bare[: len(bare) - len(bare.lstrip(_MARKS))]
        closing = opened[::-1]
        before, key, after = bare.removeprefix(opened).partition(name)
        if before or not key:
            continue
        if closing and after.startswith(closing):
            after, closing = after.removeprefix(closing), ""
        after = after.lstrip()
        if not after.startswith(":"):
            continue
        rest = after[1:]
        if closing and rest.startswith(closing):
            rest = rest.removeprefix(closing)
        elif closing:
            rest = rest.rstrip().removesuffix(closing)
        yield rest.strip()


def _read(key: Key, given: str) -> str | int | Unreadable:
    said = _unmarked(given)
    match key.kind:
        case Kind.CHOICE if said in key.choices:
            return said
        case Kind.COUNT if _COUNT.fullmatch(said):
            return int(said)
        case Kind.PATH if _is_path(said):
            return said
        case Kind.METRIC if _METRIC.fullmatch(said):
            return said
        case Kind.TEXT:
            return cut(said, _LONGEST_TEXT)
    wanted = listed(key.choices, joiner="or") if key.choices else key.kind
    found = cut(shown_on_one_line(said), _LONGEST_SHOWN)
    return Unreadable(f"{key.name} is {found!r}, not {wanted}")


def _unmarked(given: str) -> str:
    """Without the emphasis and back-quotes that stand around all of it."""
    while len(given) > 2 and given[0] == given[-1] and given[0] in _MARKS:
        if given[0] in given[1:-1].strip(given[0]):
            break
        given = given[1:-1].strip()
    return given


def _is_path(said: str) -> bool:
    """Below the root, and no trick in it; whether it is there is for the caller to see (A-2)."""
    return (
        0 < len(said) <= _LONGEST_PATH
        and said.isprintable()
        and not said.startswith(("/", "~", "-"))
        and "\\" not in said
        and ".." not in said.split("/")
    )
