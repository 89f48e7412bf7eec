"""The model that is shipped: unit rows, whoever stands beside, and true to its source (M-5)."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helix.memory.embedders import Calibration, NoEmbedder, saturated
from helix.memory.embedders.custom import calibrate, read_probe
from helix.memory.embedders.minilm import (
    CALIBRATION,
    VOCABULARY,
    WEIGHTS,
    MiniLM,
    open_minilm,
)
from helix.memory.embedders.minilm.model import DIMENSION, TOKENS_AT_ONCE, batches, gelu

ROOT = Path(__file__).parents[2]
HOME = ROOT / "src/helix/memory/embedders/minilm"
REFERENCE = json.loads((ROOT / "tests/fixtures/embedding/reference.json").read_text())
"""Made by sentence-transformers from the full weights."""

TEXTS = [
    "SQLite database is locked when two workers write",
    "",
    "Let several workers write at the same time",
    "x",
    "How do I repot a lemon tree?",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 5,
    "Héllo 🙂 东京",
    "Let several workers write at the same time",
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    found = open_minilm()
    assert isinstance(found, MiniLM)
    return found


def test_every_text_is_a_row_of_length_1(model):  # M-5
    rows = model.embed(TEXTS)
    assert rows.shape == (len(TEXTS), DIMENSION)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


def test_no_text_is_no_row(model):
    assert model.embed([]).shape == (0, DIMENSION)


def test_a_text_is_the_same_alone_and_in_company_and_in_any_order(model):  # M-5
    together = model.embed(TEXTS)
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    back = model.embed(TEXTS[::-1])[::-1]
    many = model.embed(TEXTS * 6)[-len(TEXTS) :]
    for other in (alone, back, many):
        assert np.abs(together - other).max() < 1e-5


def test_the_same_texts_give_the_same_bytes(model):  # M-5
    assert model.embed(TEXTS).tobytes() == model.embed(TEXTS).tobytes()


def test_it_says_what_sentence_transformers_says(model):  # M-5
    rows = model.embed([row["text"] for row in REFERENCE["rows"]])
    true = np.array(REFERENCE["similarities"])
    assert np.abs(rows @ rows.T - true).max() < 0.02
    assert np.abs(rows @ rows.T - true).mean() < 0.004
    first = np.array([row["first"] for row in REFERENCE["rows"]])
    mine = rows[:, : first.shape[1]]
    cosines = (mine * first).sum(1) / np.linalg.norm(mine, axis=1) / np.linalg.norm(first, axis=1)
    assert cosines.min() > 0.997
    assert cosines.mean() > 0.999


def test_what_is_computed_at_once_is_bounded():  # M-5
    lengths = [256] * 9 + [2] * 1000
    order = list(range(len(lengths)))[::-1]
    found = list(batches(order, lengths))
    assert [place for batch in found for place in batch] == order
    assert max(sum(lengths[place] for place in batch) for batch in found) <= TOKENS_AT_ONCE
    assert list(batches([0], [TOKENS_AT_ONCE + 1])) == [[0]]
    assert list(batches([], [])) == []


def test_related_texts_are_above_the_floor_and_others_below(model):  # M-3
    locked, together, tree = model.embed([TEXTS[0], TEXTS[2], TEXTS[4]])
    assert locked @ together > CALIBRATION.floor > locked @ tree


def test_the_bend_is_exact():  # M-5
    points = np.linspace(-6, 6, 2001, dtype=np.float32)
    true = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in points.tolist()]
    assert np.abs(gelu(points) - true).max() < 1e-6


def test_measuring_the_model_by_the_probe_gives_the_numbers_it_is_shipped_with(model):  # M-3
    found = calibrate(model.embed, read_probe())
    for name in Calibration.__annotations__:
        assert getattr(found, name) == pytest.approx(getattr(CALIBRATION, name), abs=0.03)


def test_similarity_becomes_relevance_between_floor_and_full():  # M-3
    scale = Calibration(floor=0.2, width=0.1, full=0.6, text_weight=0.2)
    assert [scale.relevance(raw) for raw in (-1, 0.2, 0.4, 0.6, 2)] == pytest.approx(
        [0, 0, 0.5, 1, 1]
    )
    assert [saturated(bm25) for bm25 in (-1, 0, 5)] == [0, 0, 0.5]


# -- the files beside it -------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in (WEIGHTS, VOCABULARY):
        shutil.copyfile(HOME / name, tmp_path / name)
    return tmp_path


def test_a_flipped_bit_is_found(folder):  # M-4
    content = bytearray((folder / WEIGHTS).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / WEIGHTS).write_bytes(content)
    found = open_minilm(str(folder))
    assert isinstance(found, NoEmbedder)
    assert found.reason == f"{folder / WEIGHTS} is damaged: its checksum does not fit"
    assert "scripts/make-embedder" in found.hint
    assert not found.is_chosen


def test_missing_files_are_named(folder):  # M-4
    (folder / VOCABULARY).unlink()
    match open_minilm(str(folder)):
        case NoEmbedder(reason=reason):
            assert reason == f"{folder / VOCABULARY} cannot be read: No such file or directory"
        case other:
            raise AssertionError(other)
    (folder / WEIGHTS).unlink()
    match open_minilm(str(folder)):
        case NoEmbedder(reason=reason):
            assert reason == f"{folder / WEIGHTS} is missing"
        case other:
            raise AssertionError(other)


def test_another_vocabulary_is_refused(folder):  # M-4
    content = (folder / VOCABULARY).read_bytes()
    (folder / VOCABULARY).write_bytes(content.replace(b"database", b"databass"))
    match open_minilm(str(folder)):
        case NoEmbedder(reason=reason):
            assert "vocab.txt is damaged" in reason
        case other:
            raise AssertionError(other)


def test_the_license_of_the_model_is_beside_it():  # M-5
    assert "Apache License" in (HOME / "LICENSE").read_text()
    assert "rounded to 8 bits" in (HOME / "NOTICE").read_text()
    weights = (HOME / WEIGHTS).read_bytes()
    digest = hashlib.sha256((HOME / VOCABULARY).read_bytes()).hexdigest()
    assert digest.encode() in weights[:20_000]


def test_a_wheel_and_a_source_archive_hold_the_model_and_its_license():  # M-5, P-2
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    targets = project["tool"]["hatch"]["build"]["targets"]
    assert "src/helix" in targets["wheel"]["packages"]
    assert "/src" in targets["sdist"]["include"]
    licenses = {f"src/helix/memory/embedders/minilm/{name}" for name in ("LICENSE", "NOTICE")}
    assert licenses < set(project["project"]["license-files"])
    assert project["project"]["license"] == "MIT AND Apache-2.0"


def test_a_cold_process_loads_nothing_but_numpy_and_ours():  # M-5, C-7
    script = (
        "import sys; from helix.memory.embedders.registry import open_embedder;"
        "model = open_embedder('minilm', is_trusted=False); row = model.embed(['a text']);"
        "print(row.shape, *sorted(m for m in ('torch', 'urllib.request', 'sqlite3', 'socket')"
        " if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "(1, 384)", done.stderr
