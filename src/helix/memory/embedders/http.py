"""An endpoint that speaks as OpenAI's /embeddings does: asked over http, with a time limit (M-5).

The model is named behind a `#`, which no server ever sees:

    memory:
      embedder: http://localhost:11434/v1/embeddings#nomic-embed-text

A key, if one is needed, comes from HELIX_EMBEDDER_KEY; it is sent to that address and to no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit, urlunsplit

from ddx.base import cut, loads, shown, to_bytes, variable
from helix.memory.embedders import EmbedderFailed, NoEmbedder
from helix.memory.embedders.custom import CustomEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from urllib.parse import SplitResult
    from urllib.request import OpenerDirector

    from ddx.base import Clock

KEY = "HELIX_EMBEDDER_KEY"
LIMIT_S = 30.0

_MOST_BYTES = 64 << 20
_CHUNK = 1 << 16
_MOST_SAID = 200


def open_endpoint(address: str, *, clock: Clock, cache: str = "") -> CustomEmbedder | NoEmbedder:
    """The endpoint at that address; nothing is sent before the first text."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - a port that is no number is only found when it is asked for
    except ValueError as problem:
        return NoEmbedder(f"memory.embedder is no http address: {problem}")
    if not parts.hostname:
        return NoEmbedder("memory.embedder is an http address without a host")
    if parts.username is not None or parts.password is not None:
        return NoEmbedder(
            "memory.embedder holds a name or a password", hint=f"put the key into ${KEY} instead"
        )
    endpoint = HttpEmbedder(parts, clock=clock)
    return CustomEmbedder(endpoint.id, endpoint.answer, cache=cache)


class HttpEmbedder:
    """One address and model."""

    def __init__(self, parts: SplitResult, *, clock: Clock, limit_s: float = LIMIT_S) -> None:
        self._address = urlunsplit(parts._replace(fragment=""))
        self._model = parts.fragment
        self._clock = clock
        self._limit_s = limit_s
        # Without the query, which may hold a key: this name is stored with every row.
        place = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
        model = f"#{parts.fragment}" if parts.fragment else ""
        self.id = f"{parts.scheme}://{place}{parts.path}{model}"

    def answer(self, texts: Sequence[str]) -> list[list[float]]:
        """One row of numbers a text, in their order."""
        answer = self._post({"input": list(texts), "encoding_format": "float"})
        try:
            rows = sorted(answer["data"], key=lambda row: int(row.get("index", 0)))
            found = [[float(number) for number in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError):
            self._fail("answered something that is no list of embeddings")
        if sorted(row.get("index", place) for place, row in enumerate(rows)) != [
            *range(len(texts))
        ]:
            self._fail(f"answered {len(rows)} rows to {len(texts)} texts")
        return found

    def _post(self, row: dict[str, Any]) -> Any:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        if self._model:
            row["model"] = self._model
        headers = {"Content-Type": "application/json", "User-Agent": "helix"}
        if key := variable(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = Request(  # noqa: S310 - the registry looked at the scheme
            self._address, data=to_bytes(row), headers=headers, method="POST"
        )
        try:
            content = self._read(request)
        except HTTPError as problem:
            with problem:
                self._fail(f"answered {problem.code}{_said(problem)}")
        except (OSError, HTTPException) as problem:
            reason = getattr(problem, "reason", None) or problem
            self._fail(f"cannot be reached: {shown(cut(str(reason), _MOST_SAID), one_line=True)}")
        except ValueError:  # a line end in the key
            self._fail("cannot be asked: its key or address holds a character that http forbids")
        try:
            return loads(content.decode())
        except ValueError:
            self._fail("answered something that is no JSON")

    def _read(self, request: Any) -> bytes:
        """All of the answer within the limit, however slowly it drips."""
        deadline = self._clock.now_ns() + int(self._limit_s * 1e9)
        content = bytearray()
        with _opener().open(request, timeout=self._limit_s) as answer:
            while chunk := answer.read1(_CHUNK):
                content += chunk
                if len(content) > _MOST_BYTES:
                    self._fail(f"answered more than {_MOST_BYTES >> 20} MB")
                if self._clock.now_ns() > deadline:
                    self._fail(f"took longer than {self._limit_s:g} s")
        return bytes(content)

    def _fail(self, what: str) -> NoReturn:
        hint = f"look at memory.embedder and ${KEY}; memory.embedder: minilm needs no network"
        raise EmbedderFailed(f"the embedder {self.id} {what}", hint=hint)


def _opener() -> OpenerDirector:
    """Follows no redirect: the key and the texts are for the address that a person wrote down."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return build_opener(Stay)


def _said(problem: Any) -> str:
    """The first words of an error's text: services say there which model or key is wrong."""
    try:
        words = problem.read(_CHUNK).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f": {shown(cut(words, _MOST_SAID), one_line=True)}" if words else ""
