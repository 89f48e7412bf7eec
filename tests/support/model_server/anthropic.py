"""Anthropic Messages, as claude speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tests.support.model_server.dialect import (
    Answer,
    Asked,
    Body,
    Dialect,
    Part,
    frame,
    latest,
    new_id,
    shortened,
    text_in,
)
from tests.support.model_server.script import Http, Say, Usage

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(path: str, body: Body) -> Asked:
    messages = body.get("messages", [])
    said_by_user = [message["content"] for message in messages if message["role"] == "user"]
    return Asked(
        model=body.get("model", ""),
        prompt=shortened(map(text_in, said_by_user)),
        turn=sum(message["role"] == "assistant" for message in messages),
        tools=tuple(tool["name"] for tool in body.get("tools", [])),
        results=latest(_results(said_by_user)),
        streams=bool(body.get("stream")),
    )


def _results(contents: list[str | list[Body]]) -> Iterator[str]:
    for content in contents:
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_result":
                yield text_in(block.get("content"))


class Messages(Answer):
    """Its first event already counts the input; the output is counted by the last but one."""

    def __init__(self, asked: Asked, usage: Usage) -> None:
        self._count = 0
        self._stop = "end_turn"
        self._usage = {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": usage.output,
        }
        self._message: Body = {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**self._usage, "output_tokens": 1},
        }

    def opening(self) -> Iterator[bytes]:
        yield _event({"type": "message_start", "message": self._message})

    def part(self, part: Part) -> Iterator[bytes]:
        block = self._block(part)
        if isinstance(part, Say):
            empty: Body = {"text": ""}
            delta = {"type": "text_delta", "text": part.text}
        else:
            empty = {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part.input)}
        at = {"index": self._count}
        self._count += 1
        yield _event({"type": "content_block_start", **at, "content_block": {**block, **empty}})
        yield _event({"type": "content_block_delta", **at, "delta": delta})
        yield _event({"type": "content_block_stop", **at})

    def closing(self) -> Iterator[bytes]:
        stop = {"stop_reason": self._stop, "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": stop, "usage": self._usage})
        yield _event({"type": "message_stop"})

    def whole(self, parts: Iterable[Part]) -> Body:
        content = [self._block(part) for part in parts]
        ending = {"stop_reason": self._stop, "usage": self._usage}
        return {**self._message, "content": content, **ending}

    def _block(self, part: Part) -> Body:
        if isinstance(part, Say):
            return {"type": "text", "text": part.text}
        self._stop = "tool_use"
        return {"type": "tool_use", "id": new_id("toolu"), "name": part.name, "input": part.input}


def _event(body: Body) -> bytes:
    return frame(body, event=body["type"])


def refusal(http: Http) -> Body:
    kind = ERRORS.get(http.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": f"scripted {http.status}"}}


ANTHROPIC = Dialect("anthropic", read, Messages, refusal)
