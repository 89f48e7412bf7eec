"""OpenAI chat completions, as opencode speaks it to a provider of one's own."""

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


def read(path: str, body: Body) -> Asked:
    messages = body.get("messages", [])
    by_role = {
        role: [message for message in messages if message["role"] == role]
        for role in ("user", "assistant", "tool")
    }
    return Asked(
        model=body.get("model", ""),
        prompt=shortened(text_in(message["content"]) for message in by_role["user"]),
        turn=len(by_role["assistant"]),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools", [])),
        results=latest(text_in(message["content"]) for message in by_role["tool"]),
        streams=bool(body.get("stream")),
    )


class Completion(Answer):
    """Each part is a change to one message; what it used comes after the message's end."""

    def __init__(self, asked: Asked, usage: Usage) -> None:
        self._calls = 0
        self._head: Body = {"id": new_id("chatcmpl"), "model": asked.model, "created": 0}
        whole_input = usage.input + usage.cache_read + usage.cache_write
        self._usage = {
            "prompt_tokens": whole_input,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens": usage.output,
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": whole_input + usage.output,
        }

    def opening(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def part(self, part: Part) -> Iterator[bytes]:
        if isinstance(part, Say):
            yield self._chunk({"content": part.text})
        else:
            yield self._chunk({"tool_calls": [self._call(part.name, part.input)]})

    def closing(self) -> Iterator[bytes]:
        yield self._chunk({}, finish=self._finish)
        chunk = {"object": "chat.completion.chunk", "choices": [], "usage": self._usage}
        yield frame({**self._head, **chunk})
        yield b"data: [DONE]\n\n"

    def whole(self, parts: Iterable[Part]) -> Body:
        message: Body = {"role": "assistant", "content": ""}
        for part in parts:
            if isinstance(part, Say):
                message["content"] += part.text
            else:
                calls = message.setdefault("tool_calls", [])
                calls.append(self._call(part.name, part.input))
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        kind = {"object": "chat.completion", "choices": [choice], "usage": self._usage}
        return {**self._head, **kind}

    @property
    def _finish(self) -> str:
        return "tool_calls" if self._calls else "stop"

    def _call(self, name: str, input: object) -> Body:
        function = {"name": name, "arguments": json.dumps(input)}
        index = self._calls
        self._calls += 1
        return {"index": index, "id": new_id("call"), "type": "function", "function": function}

    def _chunk(self, delta: Body, *, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return frame({**self._head, "object": "chat.completion.chunk", "choices": [choice]})


def refusal(http: Http) -> Body:
    return {"error": {"type": "server_error", "message": f"scripted {http.status}"}}


CHAT = Dialect("chat", read, Completion, refusal)
