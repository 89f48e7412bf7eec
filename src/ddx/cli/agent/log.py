"""`ddx agent log`"""

from __future__ import annotations

import codecs
import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.base import UsageError
from ddx.base import json as fastjson
from ddx.cli.agent.attempt_lookup import find_attempt, is_over
from ddx.cli.agent.attempts import ATTEMPT
from ddx.cli.agent.output import event_in_words, local_day, local_time
from ddx.cli.bead.rows import answer_rows, lines_of_rows
from ddx.cli.context import CLOCK, here, tell
from ddx.console import JSON, Command, Flag, dim, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.cli.agent.attempt_lookup import ListedAttempt

_PAUSE_S = 0.3
_CHUNK = 1 << 16
_TAIL = 1 << 18
"""Of an agent's output, if nobody waits for more: what a person may want to read."""


@Command.of(
    example="ddx agent log last --follow",
    arguments=(ATTEMPT,),
    flags=(
        Flag("--follow", "go on until the attempt is over", kind="switch"),
        Flag("--output", "what the agent itself printed, the end of it", kind="switch"),
        JSON,
        Flag("--jsonl", "answer as JSON, an event a line", kind="switch"),
    ),
    schema="agent-log",
)
def run(*, attempt: str, follow: bool, output: bool, json: bool, jsonl: bool) -> int:
    """Tell the story of an attempt, line by line, or print what its agent printed."""
    if json and follow:
        raise UsageError("--json is one value; a story that goes on is a stream: --jsonl --follow")
    if output and (json or jsonl):
        raise UsageError("--output is what the agent printed, so it goes with no --json")
    found = find_attempt(here(), attempt)
    if output:
        _print_output(found, follow=follow)
    elif json:
        answer_rows((line, b"") for line, _ in _story(found, follow=False))
    elif jsonl:
        lines_of_rows((line, b"") for line, _ in _story(found, follow=follow))
    else:
        _print_story(found, follow=follow)
    return 0


def _print_story(attempt: ListedAttempt, *, follow: bool) -> None:
    day = ""
    for _, row in _story(attempt, follow=follow):
        at = str(row.get("at", ""))
        if local_day(at) != day:
            day = local_day(at)
            say(dim(day))
        say(dim(local_time(at)), f"  {event_in_words(row)}")


def _story(attempt: ListedAttempt, *, follow: bool) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Every whole line of events.jsonl, as it stands and as it reads; what is torn is left out."""
    path = attempt.record.story
    rest = b""
    for chunk in _growing(attempt, path, follow=follow):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            try:
                row = fastjson.loads(line.decode("utf-8"))
            except ValueError:
                row = None
            if isinstance(row, dict):
                yield line, row
            else:
                tell(f"a line of {path} cannot be read and is left out")


def _print_output(attempt: ListedAttempt, *, follow: bool) -> None:
    """The end of what the agent printed, and with --follow all that comes; safe on a terminal."""
    path = attempt.record.output
    size = os.path.getsize(path) if os.path.exists(path) else 0
    start = max(size - _TAIL, 0)
    if start:
        start += _read(path, start).find(b"\n") + 1
        tell(f"the first {start:,} bytes are only in {path}")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for chunk in _growing(attempt, path, follow=follow, start=start):
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            say(line)
        if len(rest) > _CHUNK:  # a program that ends no line
            say(rest)
            rest = ""
    if rest:
        say(rest)
    errors = attempt.record.errors
    if os.path.exists(errors) and os.path.getsize(errors):
        tell(f"what it printed on stderr: {errors}")


def _growing(attempt: ListedAttempt, path: str, *, follow: bool, start: int = 0) -> Iterator[bytes]:
    """A file's content from a place on; with `follow` until the attempt is over."""
    place = start
    while True:
        over = not follow or is_over(attempt)
        while chunk := _read(path, place):
            place += len(chunk)
            yield chunk
        if over:
            return
        sys.stdout.flush()
        CLOCK.sleep(_PAUSE_S)


def _read(path: str, place: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(place)
            return file.read(_CHUNK)
    except FileNotFoundError:
        return b""
