"""What every dialect has in common: how a request is understood and an answer is put together."""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tests.support.model_server.script import Http, Say, Usage

Body: TypeAlias = dict[str, Any]
LONGEST_TEXT = 50_000
LATEST_RESULTS = 20


@dataclass(frozen=True)
class Asked:
    """One request, whatever its dialect: `turn` is how often the model has spoken before it."""

    model: str
    prompt: str
    """What the user said; what the tools answered is not part of it."""
    turn: int
    tools: tuple[str, ...]
    results: tuple[str, ...] = ()
    """What the tools answered, in order; the latest ones."""
    streams: bool = True


@dataclass(frozen=True)
class Call:
    """A tool call in the client's own words."""

    name: str
    input: Mapping[str, Any]
    namespace: str = ""


Part: TypeAlias = Say | Call


class Answer(Protocol):
    """One answer on its way out, as frames of a stream or, for who wants no stream, whole."""

    def opening(self) -> Iterator[bytes]: ...

    def part(self, part: Part) -> Iterator[bytes]: ...

    def closing(self) -> Iterator[bytes]: ...

    def whole(self, parts: Iterable[Part]) -> Body: ...


@dataclass(frozen=True)
class Dialect:
    name: str
    read: Callable[[str, Body], Asked]
    answer: Callable[[Asked, Usage], Answer]
    refusal: Callable[[Http], Body]


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


def frame(body: Body, *, event: str = "") -> bytes:
    """One event of a stream; some dialects name it a second time."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(body)}\n\n".encode()


def text_in(content: Any) -> str:
    """The text of a message's content, which is a text or blocks that may hold one."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def shortened(texts: Iterable[str]) -> str:
    return "\n".join(texts)[:LONGEST_TEXT]


def latest(results: Iterable[str]) -> tuple[str, ...]:
    return tuple(result[:LONGEST_TEXT] for result in deque(results, maxlen=LATEST_RESULTS))
