"""Which embedder is meant, and what is asked of models that are not ours (M-4, M-5)."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from ddx.base.clock import Clock
from ddx.testing import FakeClock
from helix.memory.embedders import EmbedderFailed, NoEmbedder
from helix.memory.embedders.custom import (
    TEXTS_AT_ONCE,
    CustomEmbedder,
    calibrate,
    fitted,
    read_probe,
)
from helix.memory.embedders.http import KEY, HttpEmbedder
from helix.memory.embedders.minilm import MiniLM
from helix.memory.embedders.registry import open_embedder

PROBE = read_probe()


def absent(said: str, *, is_trusted: bool = True) -> NoEmbedder:
    found = open_embedder(said, is_trusted=is_trusted)
    assert isinstance(found, NoEmbedder)
    return found


def meaning(texts: Any) -> list[list[float]]:
    """A model of two thoughts: a memory and its question are one thing, all else is another."""
    rows = []
    for text in texts:
        known = [*PROBE.memories].index(text) if text in PROBE.memories else -1
        if text in PROBE.questions:
            known = PROBE.questions.index(text)
        row = [0.1] * (len(PROBE.memories) + 1)
        row[known] = 1.0 if known >= 0 else 2.0
        rows.append(row)
    return rows


# -- which one -----------------------------------------------------------------------------


def test_the_shipped_model_needs_nobodys_trust():  # M-5, X-22
    assert isinstance(open_embedder("minilm", is_trusted=False), MiniLM)


def test_off_is_a_choice_and_no_fault():  # M-4
    assert absent("off", is_trusted=False) == NoEmbedder("memory.embedder is off", is_chosen=True)


@pytest.mark.parametrize("said", ["https://user:word@host.invalid/v1", "fastembed:x", "mine"])
def test_a_repository_that_is_not_trusted_hands_nothing_to_others(said):
    found = absent(said, is_trusted=False)
    assert "not trusted" in found.reason
    assert "helix trust" in found.hint
    assert "word" not in found.reason
    assert not found.is_chosen


def test_an_unknown_name_lists_the_known_ones():  # M-5
    found = absent("minilmm")
    assert found.reason == "memory.embedder is 'minilmm', and no package here has such an embedder"
    assert found.hint.startswith("it is minilm, off, sentence-transformers or fastembed")


@pytest.mark.parametrize("name", ["sentence-transformers", "fastembed"])
def test_a_library_that_is_not_installed_says_how_to_get_it(name):  # M-5
    found = absent(f"{name}:some-model")
    assert f"memory.embedder is {name}, but that cannot be imported" in found.reason
    assert found.hint.startswith(f"pip install {name}")


@pytest.fixture
def package(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Installs a package with one module and one entry point of helix.embedders."""

    def install(name: str, module: str) -> None:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[helix.embedders]\n{name} = {name}:make\n")
        (tmp_path / f"{name}.py").write_text(module)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)

    return install


def test_another_package_can_bring_one_along(package):  # M-5
    package("mine_embedder", "class make:\n    id = 'mine'\n    dimension = 3\n")
    found = open_embedder("mine_embedder", is_trusted=True)
    assert not isinstance(found, NoEmbedder)
    assert (found.id, found.dimension) == ("mine", 3)
    assert "mine_embedder" in absent("nothing").hint


@pytest.mark.parametrize("module", ["import no_such_module", "", "def make(x): ...", "make = 3"])
def test_one_that_cannot_be_made_says_why(package, module):  # M-4
    package("broken_embedder", module)
    assert absent("broken_embedder").reason.startswith(
        "the embedder broken_embedder cannot be made: "
    )


# -- a model that is not ours --------------------------------------------------------------


def test_rows_of_any_length_come_to_length_1_in_batches_and_in_order():
    sizes = []

    def answer(texts: Any) -> Any:
        sizes.append(len(texts))
        return [[3.0 * int(text), 4.0] for text in texts]

    rows = CustomEmbedder("x", answer).embed([str(number) for number in range(TEXTS_AT_ONCE + 2)])
    assert sizes == [TEXTS_AT_ONCE, 2]
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
    assert rows[1].tolist() == pytest.approx([0.6, 0.8])
    assert rows.dtype == np.float32


def test_an_empty_text_is_asked_as_a_blank_and_a_long_one_is_cut():
    seen: list[str] = []

    def answer(texts: Any) -> Any:
        seen.extend(texts)
        return [[1.0]] * len(texts)

    CustomEmbedder("x", answer).embed(["", "y" * 10_000])
    assert [len(text) for text in seen] == [1, 8_000]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[1.0, 2.0]], r"answered \(1, 2\) to 2 texts"),
        ([1.0, 2.0], r"answered \(2,\) to 2 texts"),
        ([[], []], r"answered \(2, 0\) to 2 texts"),
        ([[1.0], [1.0, 2.0]], "failed"),
        ([["a"], ["b"]], "failed"),
        ([[0.0, 0.0], [1.0, 0.0]], "without a direction"),
        ([[float("nan"), 0.0], [1.0, 0.0]], "without a direction"),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error_with_the_models_name(answer, said):  # M-4
    with pytest.raises(EmbedderFailed, match=f"^the embedder odd .*{said}"):
        CustomEmbedder("odd", lambda _: answer).embed(["one", "two"])


def test_a_model_must_not_change_its_dimension():
    answers = iter([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    model = CustomEmbedder("x", lambda _: next(answers))
    assert model.dimension == 2
    with pytest.raises(EmbedderFailed, match="answered 3 numbers a text, before 2"):
        model.embed(["again"])


def test_a_model_is_measured_once_and_what_was_measured_is_kept(tmp_path):  # M-3
    asked: list[int] = []

    def answer(texts: Any) -> Any:
        asked.append(len(texts))
        return meaning(texts)

    first = CustomEmbedder("mine", answer, cache=str(tmp_path / "kept")).calibration
    assert sum(asked) == len(PROBE.memories) + len(PROBE.questions) + len(PROBE.others)
    asked.clear()
    assert CustomEmbedder("mine", answer, cache=str(tmp_path / "kept")).calibration == first
    assert not asked
    [file] = (tmp_path / "kept").iterdir()
    file.write_text('{"floor": 1}')
    assert CustomEmbedder("mine", answer, cache=str(tmp_path / "kept")).calibration == first
    assert asked
    assert CustomEmbedder("other", answer, cache=str(tmp_path / "kept")).calibration == first
    assert len([*(tmp_path / "kept").iterdir()]) == 2


def test_the_floor_is_where_the_model_draws_the_line():  # M-3
    found = calibrate(CustomEmbedder("x", meaning).embed, PROBE)
    assert 0.1 < found.floor < 0.4
    assert found.full >= 1
    narrow = fitted(np.array([0.9, 0.92, 0.94]), np.array([0.80, 0.82, 0.84]))
    assert 0.82 < narrow.floor < narrow.full < 1
    assert narrow.width < 0.05


def test_a_model_that_tells_nothing_apart_is_refused():  # M-3
    with pytest.raises(EmbedderFailed, match="do not tell related texts"):
        calibrate(CustomEmbedder("x", lambda texts: [[1.0, 1.0] for _ in texts]).embed, PROBE)


def test_the_probe_is_drawn_from_the_calibration_texts():  # M-3
    folder = Path(__file__).parents[2] / "benchmarks/memory/calibration"
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    pairs = {f"{row['trigger']}\n{row['resolution']}": row["objective"] for row in rows}
    assert [pairs[memory] for memory in PROBE.memories] == [*PROBE.questions]
    assert set(PROBE.others) < set((folder / "unrelated.txt").read_text().splitlines())


# -- an endpoint ---------------------------------------------------------------------------


class Server:
    """Answers as told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.answer: Callable[[dict[str, Any]], bytes] = embeddings
        self.address = ""


def embeddings(asked: dict[str, Any]) -> bytes:
    rows = [
        {"index": place, "embedding": [float(len(text)), 1.0]}
        for place, text in enumerate(asked["input"])
    ]
    return json.dumps({"data": rows[::-1]}).encode()


@contextmanager
def serving() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            asked = json.loads(self.rfile.read(size))
            told.seen.append((self.path, asked, dict(self.headers)))
            content = told.answer(asked)
            self.send_response(told.status)
            for name, text in told.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            told.seen.append((self.path, {}, dict(self.headers)))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    told.address = f"http://127.0.0.1:{server.server_port}/v1/embeddings"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with serving() as told:
        yield told


def opened(address: str) -> CustomEmbedder:
    found = open_embedder(address, is_trusted=True)
    assert isinstance(found, CustomEmbedder)
    return found


def test_an_endpoint_is_asked_as_openais_is(server, monkeypatch):  # M-5
    monkeypatch.setenv(KEY, "the-key")
    model = opened(f"{server.address}?version=1#small")
    rows = model.embed(["ab", "abcd"])
    assert rows[:, 0].tolist() == pytest.approx([2 / 5**0.5, 4 / 17**0.5])
    [(path, asked, headers)] = server.seen
    assert path == "/v1/embeddings?version=1"
    assert asked == {"input": ["ab", "abcd"], "encoding_format": "float", "model": "small"}
    assert headers["Authorization"] == "Bearer the-key"
    assert model.id == f"{server.address}#small"
    assert model.dimension == 2


def test_without_a_model_and_a_key_none_is_sent(server):  # M-5
    opened(server.address).embed(["ab"])
    [(_, asked, headers)] = server.seen
    assert "model" not in asked
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (500, b"", "answered 500$"),
        (401, b'{"error": "bad \x1b[31mkey"}', r"answered 401: .*bad \\x1b\[31mkey"),
        (200, b"<html>", "no JSON"),
        (200, b"{}", "no list of embeddings"),
        (200, b'{"data": [{"embedding": ["x"]}]}', "no list of embeddings"),
        (200, b'{"data": []}', "answered 0 rows to 1 texts"),
        (200, b'{"data": [{"index": 7, "embedding": [1]}]}', "answered 1 rows to 1 texts"),
        (200, b'{"data": [{"index": 0, "embedding": [0]}]}', "without a direction"),
    ],
)
def test_what_an_endpoint_says_wrong_is_told_in_one_line(server, status, content, said):  # M-4
    server.status, server.answer = status, lambda _: content
    with pytest.raises(EmbedderFailed, match=f"^the embedder http://127.0.0.1.*{said}") as failed:
        opened(server.address).embed(["x"])
    assert "\n" not in failed.value.message


def test_a_redirect_is_not_followed(server, monkeypatch):
    monkeypatch.setenv(KEY, "the-key")
    with serving() as other:
        server.status, server.headers = 302, {"Location": other.address}
        with pytest.raises(EmbedderFailed, match="answered 302"):
            opened(server.address).embed(["x"])
        assert not other.seen


def test_a_key_with_a_line_end_is_not_sent(server, monkeypatch):
    monkeypatch.setenv(KEY, "the-key\nX-Other: 1")
    with pytest.raises(EmbedderFailed, match="a character that http forbids") as failed:
        opened(server.address).embed(["x"])
    assert "the-key" not in failed.value.message
    assert not server.seen


def test_an_endpoint_that_is_not_there_says_so(server):  # M-4
    with serving() as gone:
        address = gone.address
    with pytest.raises(EmbedderFailed, match=r"cannot be reached: .*refused"):
        opened(address).embed(["x"])


def test_an_answer_that_drips_ends_with_the_limit(server):  # M-4
    class Hurried(FakeClock):
        def now_ns(self) -> int:
            self.advance(20)
            return super().now_ns()

    endpoint = HttpEmbedder(urlsplit(server.address), clock=Hurried(), limit_s=15)
    with pytest.raises(EmbedderFailed, match="took longer than 15 s"):
        endpoint.answer(["x"])
    assert HttpEmbedder(urlsplit(server.address), clock=Clock()).answer(["x"]) == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://", "without a host"),
        ("http://host:port/", "no http address"),
        ("https://me:secret@host/v1", "holds a name or a password"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_before(address, said):  # M-5
    found = absent(address)
    assert said in found.reason
    assert "secret" not in found.reason + found.hint
