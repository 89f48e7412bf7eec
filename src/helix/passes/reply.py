"""What agents may answer, and how it is read from the end of a reply (A-1, S-12, I-8). Pure."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.base import MarkdownText, cut, listed, shown, value
from ddx.documents import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class CheckAnswer(StrEnum):
    """What `check` may say (S-12)."""

    BUILD = "BUILD"
    DESIGN = "DESIGN"
    POLISH = "POLISH"
    ALIGN = "ALIGN"
    BACKFILL = "BACKFILL"
    WAIT = "WAIT"
    GUIDANCE = "GUIDANCE"
    STOP = "STOP"


@value
class CheckResult:
    """An answer of `check`, kept by the state that it is about."""

    state: str
    answer: CheckAnswer
    reason: str = ""
    question: str = ""


def known_by_state(
    *, unfinished: int, epics: int, claimed: int, finished: int, documents: int, state: str = ""
) -> CheckResult | None:
    """What needs no agent to be seen, and nothing else (S-14, D-22)."""
    if not unfinished and not finished and not documents:
        question = 'what shall be built? say it: helix input "<what you want>"'
        said = "there are no beads and no documents"
        return CheckResult(state, CheckAnswer.GUIDANCE, said, question=question)
    if claimed and claimed == unfinished - epics:
        return CheckResult(state, CheckAnswer.WAIT, "all that is left is being worked on elsewhere")
    return None


BUILD = "build"
ACTIVITIES = ("frame", "design", "test")
"""Those with a page of their own; every other one is carried out like a build."""
_PREFIXES = ("activity:", "phase:")


def activity_of(labels: Iterable[str]) -> str:
    """The first that a bead names and that has a page, else build."""
    for label in labels:
        prefix, colon, word = label.partition(":")
        if f"{prefix}{colon}" in _PREFIXES and word.strip() in ACTIVITIES:
            return word.strip()
    return BUILD


LONGEST_REPLY = 1 << 20
_LONGEST_TEXT = 2000
_LONGEST_PATH = 400
_LONGEST_SHOWN = 60
_MARKS = "*_`"
_COUNT = re.compile(r"[0-9]{1,9}")
_METRIC = re.compile(
    r"[A-Za-z][\w.-]{0,63}=[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?"
)


class TrailerValueKind(StrEnum):
    """What may stand after a key."""

    CHOICE = "one of its words"
    COUNT = "a whole number"
    PATH = "a path below the repository's root"
    METRIC = "name=number"
    TEXT = "text"


@value
class TrailerKey:
    name: str
    kind: TrailerValueKind
    choices: tuple[str, ...] = ()
    may_be_missing: bool = False


@value
class Trailer:
    """What the reply of one action must end with, its status first."""

    action: str
    keys: tuple[TrailerKey, ...]


@value
class TrailerValues:
    """What a trailer says; a key that may be missing and is has no value."""

    values: Mapping[str, str | int]

    def text(self, key: str) -> str:
        return str(self.values.get(key, ""))

    def count(self, key: str) -> int:
        return int(self.values[key])


@value
class UnreadableTrailer:
    """It cannot be told what was meant, and why."""

    reason: str


TrailerReading: TypeAlias = TrailerValues | UnreadableTrailer


def _choice(name: str, *choices: str) -> TrailerKey:
    return TrailerKey(name, TrailerValueKind.CHOICE, choices)


def _counts(*names: str) -> tuple[TrailerKey, ...]:
    return tuple(TrailerKey(name, TrailerValueKind.COUNT) for name in names)


def _path(name: str) -> TrailerKey:
    return TrailerKey(name, TrailerValueKind.PATH)


def _note(name: str) -> TrailerKey:
    return TrailerKey(name, TrailerValueKind.TEXT, may_be_missing=True)


_KEYS: Mapping[str, tuple[TrailerKey, ...]] = {
    "check": (_choice("NEXT_ACTION", *CheckAnswer), _note("REASON"), _note("QUESTION")),
    "review": (_choice("REVIEW_STATUS", "CLEAN", "ISSUES_FOUND"), *_counts("ISSUES_COUNT")),
    "align": (
        _choice("ALIGN_STATUS", "COMPLETE", "INCOMPLETE", "BLOCKED"),
        *_counts("GAPS_FOUND"),
        _path("ALIGN_REPORT"),
    ),
    "backfill": (
        _choice("BACKFILL_STATUS", "COMPLETE", "GUIDANCE_NEEDED", "BLOCKED"),
        _path("BACKFILL_REPORT"),
    ),
    "design": (
        _choice("PLAN_STATUS", "CONVERGED", "IN_PROGRESS", "GUIDANCE_NEEDED"),
        _path("PLAN_DOCUMENT"),
        *_counts("PLAN_ROUNDS"),
    ),
    "polish": (
        _choice("POLISH_STATUS", "CONVERGED", "IN_PROGRESS"),
        *_counts("ISSUES_MODIFIED", "ISSUES_CREATED", "ISSUES_MERGED"),
    ),
    "frame": (
        _choice("FRAME_STATUS", "COMPLETE", "GUIDANCE_NEEDED"),
        *_counts("ARTIFACTS_CREATED"),
    ),
    "evolve": (
        _choice("EVOLUTION_STATUS", "COMPLETE", "CONFLICTS", "BLOCKED"),
        *_counts("ARTIFACTS_UPDATED"),
        TrailerKey("CONFLICTS", TrailerValueKind.TEXT),
    ),
    "experiment": (
        _choice("EXPERIMENT_STATUS", "CONVERGED", "ITERATION_COMPLETE", "NO_IMPROVEMENT", "CLOSED"),
        TrailerKey("EXPERIMENT_BEST", TrailerValueKind.METRIC),
    ),
}
TRAILERS = {action: Trailer(action, keys) for action, keys in _KEYS.items()}


def read_trailer(text: str, trailer: Trailer) -> TrailerReading:
    """What the final message of an action says in its last lines, or why that cannot be told."""
    if len(text) > LONGEST_REPLY:
        return UnreadableTrailer(f"the reply is longer than {LONGEST_REPLY >> 10} KB")
    lines = [line.rstrip("\r") for line in Page(text).prose.split("\n")]
    values: dict[str, str | int] = {}
    for key in trailer.keys:
        said = [_read(key, given) for given in _given(lines, key.name)]
        if not said and key.may_be_missing:
            continue
        if not said:
            return UnreadableTrailer(f"there is no {key.name} line")
        for each in said:
            if isinstance(each, UnreadableTrailer):
                return each
            if each != said[0]:
                words = listed(
                    cut(shown(str(it), one_line=True), _LONGEST_SHOWN) for it in (said[0], each)
                )
                return UnreadableTrailer(f"its {key.name} lines do not agree: {words}")
            values[key.name] = each
    return TrailerValues(values)


def trailer_lines(text: str) -> tuple[str, ...]:
    """The lines that some action's trailer could be read from; a prompt of ours has none (A-1)."""
    names = [key.name for trailer in TRAILERS.values() for key in trailer.keys]
    lines = [line for line in text.split("\n") if ":" in line]
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


def _read(key: TrailerKey, given: str) -> str | int | UnreadableTrailer:
    said = _unmarked(given)
    match key.kind:
        case TrailerValueKind.CHOICE if said in key.choices:
            return said
        case TrailerValueKind.COUNT if _COUNT.fullmatch(said):
            return int(said)
        case TrailerValueKind.PATH if _is_path(said):
            return said
        case TrailerValueKind.METRIC if _METRIC.fullmatch(said):
            return said
        case TrailerValueKind.TEXT:
            return cut(said, _LONGEST_TEXT)
    wanted = listed(key.choices, joiner="or") if key.choices else key.kind
    found = cut(shown(said, one_line=True), _LONGEST_SHOWN)
    return UnreadableTrailer(f"{key.name} is {found!r}, not {wanted}")


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


def fenced_lists(text: str) -> list[list[Any]]:
    return [found for found in _values(text, "[") if isinstance(found, list)]


def fenced_object(text: str) -> dict[str, Any] | str:
    """The one object that stands there, empty without one; or why none can be meant."""
    found = [it for it in _values(text, "{") if isinstance(it, dict)]
    if len(found) > 1:
        return f"there are {len(found)} fenced JSON objects, and one was asked for"
    return found[0] if found else {}


def _values(text: str, begin: str) -> Iterator[Any]:
    for block in MarkdownText(text).blocks():
        if block.is_closed and block.text.lstrip().startswith(begin):
            try:
                yield json.loads(block.text)
            except (ValueError, RecursionError):
                continue
