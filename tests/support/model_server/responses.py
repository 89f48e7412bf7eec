"""OpenAI Responses, as codex speaks it."""

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
    items = body.get("input", [])
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    outputs = (item.get("output") for item in items if item.get("type", "").endswith("_output"))
    return Asked(
        model=body.get("model", ""),
        prompt=shortened(text_in(item["content"]) for item in items if item.get("role") == "user"),
        turn=_turns(items),
        tools=tuple(_tool_names(body.get("tools", []))),
        results=latest(map(text_in, outputs)),
        streams=bool(body.get("stream")),
    )


def _turns(items: Iterable[Body]) -> int:
    """A turn is a run of what the model said and called: its parts are items of their own."""
    turns, was_model = 0, False
    for item in items:
        is_model = item.get("role") == "assistant" or item.get("type", "").endswith("_call")
        turns += is_model and not was_model
        was_model = is_model
    return turns


def _tool_names(tools: Iterable[Body]) -> Iterator[str]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tool_names(tool["tools"])
        else:
            yield tool.get("name") or tool["type"]


class Response(Answer):
    """Each part is an item that is added and then done; the last event holds them all again."""

    def __init__(self, asked: Asked, usage: Usage) -> None:
        self._items: list[Body] = []
        self._head: Body = {"id": new_id("resp"), "object": "response", "model": asked.model}
        whole_input = usage.input + usage.cache_read + usage.cache_write
        self._usage = {
            "input_tokens": whole_input,
            "input_tokens_details": {
                "cached_tokens": usage.cache_read,
                "cache_write_tokens": usage.cache_write,
            },
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": whole_input + usage.output,
        }

    def opening(self) -> Iterator[bytes]:
        yield _event("response.created", response={**self._head, "status": "in_progress"})

    def part(self, part: Part) -> Iterator[bytes]:
        item = _item(part)
        at = {"output_index": len(self._items)}
        self._items.append(item)
        yield _event("response.output_item.added", **at, item={**item, "status": "in_progress"})
        if isinstance(part, Say):
            where = {"item_id": item["id"], "content_index": 0, **at}
            yield _event("response.output_text.delta", **where, delta=part.text)
        yield _event("response.output_item.done", **at, item=item)

    def closing(self) -> Iterator[bytes]:
        yield _event("response.completed", response=self._completed())

    def whole(self, parts: Iterable[Part]) -> Body:
        self._items = [_item(part) for part in parts]
        return self._completed()

    def _completed(self) -> Body:
        return {**self._head, "status": "completed", "output": self._items, "usage": self._usage}


def _item(part: Part) -> Body:
    if isinstance(part, Say):
        content = [{"type": "output_text", "text": part.text, "annotations": []}]
        item = {"type": "message", "id": new_id("msg"), "role": "assistant", "content": content}
    else:
        item = {
            "type": "function_call",
            "id": new_id("fc"),
            "call_id": new_id("call"),
            "name": part.name,
            "arguments": json.dumps(part.input),
        }
        if part.namespace:
            item["namespace"] = part.namespace
    return {**item, "status": "completed"}


def _event(name: str, **body: object) -> bytes:
    return frame({"type": name, **body}, event=name)


def refusal(http: Http) -> Body:
    return {"error": {"type": "server_error", "code": None, "message": f"scripted {http.status}"}}


RESPONSES = Dialect("responses", read, Response, refusal)
