"""Gemini's generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.support.model_server.dialect import (
    Answer,
    Asked,
    Body,
    Dialect,
    Part,
    frame,
    latest,
    shortened,
    text_in,
)
from tests.support.model_server.script import Http, Say, Usage

STATUSES = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def read(path: str, body: Body) -> Asked:
    named = re.search(r"/models/([^/:]+):", path)
    contents = body.get("contents", [])
    by_user = [content["parts"] for content in contents if content.get("role") == "user"]
    answers = (part.get("functionResponse") for parts in by_user for part in parts)
    return Asked(
        model=named[1] if named else "",
        prompt=shortened(map(text_in, by_user)),
        turn=sum(content.get("role") == "model" for content in contents),
        tools=tuple(
            function["name"]
            for tool in body.get("tools", [])
            for function in tool.get("functionDeclarations", [])
        ),
        results=latest(str(answer.get("response")) for answer in answers if answer),
        streams=":streamGenerateContent" in path,
    )


class Content(Answer):
    """Every frame is a whole answer of its own; the last one tells what was used."""

    def __init__(self, asked: Asked, usage: Usage) -> None:
        self._model = asked.model
        whole_input = usage.input + usage.cache_read + usage.cache_write
        self._usage = {
            "promptTokenCount": whole_input,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": whole_input + usage.output,
        }

    def opening(self) -> Iterator[bytes]:
        yield frame(self._body([]))

    def part(self, part: Part) -> Iterator[bytes]:
        yield frame(self._body([_part(part)]))

    def closing(self) -> Iterator[bytes]:
        yield frame(self.whole([]))

    def whole(self, parts: Iterable[Part]) -> Body:
        body = self._body([_part(part) for part in parts])
        body["candidates"][0]["finishReason"] = "STOP"
        return {**body, "usageMetadata": self._usage}

    def _body(self, parts: list[Body]) -> Body:
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        return {"candidates": [candidate], "modelVersion": self._model}


def _part(part: Part) -> Body:
    if isinstance(part, Say):
        return {"text": part.text}
    return {"functionCall": {"name": part.name, "args": part.input}}


def refusal(http: Http) -> Body:
    status = STATUSES.get(http.status, "UNAVAILABLE")
    message = f"scripted {http.status}"
    return {"error": {"code": http.status, "status": status, "message": message}}


GEMINI = Dialect("gemini", read, Content, refusal)
