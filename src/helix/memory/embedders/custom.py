"""Models that are not ours: their answers are looked at, brought to length 1, and calibrated (M-5).

Floors differ from model to model: what is a strong match for one is noise for another. So a model
that nobody has measured is asked about questions that fit a memory, and others that fit none (M-3).
The libraries that bring models are those that a person may have installed; none of them is ours.
Their models must be on this machine already: nothing is downloaded while HELIX works.
"""

from __future__ import annotations

import hashlib
import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ddx.base import JsonFile, value
from helix.memory.embedders import Calibration, EmbedderFailed, NoEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from helix.memory.embedders import Vectors

    Answer = Callable[[Sequence[str]], Any]

TEXTS_AT_ONCE = 64
LONGEST_TEXT = 8_000
"""In characters: what is behind them hardly changes what a text is about."""

_BLANK = " "
"""In place of an empty text, which many models refuse."""


class CustomEmbedder:
    """Any function from texts to rows of numbers, as an embedder.

    How its similarities are to be read is measured once, and kept in the folder `cache` if there
    is one.
    """

    def __init__(self, id: str, answer: Answer, *, cache: str = "") -> None:
        self.id = id
        self._answer = answer
        self._cache = cache
        self._dimension = 0
        self._calibration: Calibration | None = None

    @property
    def dimension(self) -> int:
        if not self._dimension:
            self.embed(["how long is a vector?"])
        return self._dimension

    @property
    def calibration(self) -> Calibration:
        if self._calibration is None:
            self._calibration = self._kept() or self._measured()
        return self._calibration

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        asked = [text[:LONGEST_TEXT] if text.strip() else _BLANK for text in texts]
        batches = [asked[at : at + TEXTS_AT_ONCE] for at in range(0, len(asked), TEXTS_AT_ONCE)]
        return np.concatenate([self._rows(batch) for batch in batches])

    def _rows(self, texts: Sequence[str]) -> Vectors:
        try:
            rows = np.asarray(self._answer(texts), np.float32)
        except (ValueError, TypeError, RuntimeError, OSError) as problem:
            raise EmbedderFailed(f"the embedder {self.id} failed: {problem}") from None
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
            raise self._refused(f"answered {rows.shape} to {len(texts)} texts")
        if self._dimension and rows.shape[1] != self._dimension:
            raise self._refused(
                f"answered {rows.shape[1]} numbers a text, before {self._dimension}"
            )
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._refused("answered a vector without a direction")
        self._dimension = rows.shape[1]
        unit: Vectors = rows / lengths[:, None]
        return unit

    def _refused(self, what: str) -> EmbedderFailed:
        return EmbedderFailed(f"the embedder {self.id} {what}")

    def _measured(self) -> Calibration:
        found = calibrate(self.embed, read_probe())
        if self._cache:
            os.makedirs(self._cache, exist_ok=True)
            JsonFile(self._file()).write(dict(vars(found)), durable=False)
        return found

    def _kept(self) -> Calibration | None:
        """What was measured before; a file that makes no sense is measured again."""
        if not self._cache:
            return None
        try:
            found = JsonFile(self._file()).read()
            kept = Calibration(**{name: float(number) for name, number in found.items()})
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return kept if kept.full > kept.floor else None

    def _file(self) -> str:
        name = hashlib.sha256(self.id.encode()).hexdigest()[:16]
        return os.path.join(self._cache, f"calibration-{name}.json")


# -- libraries -----------------------------------------------------------------------------


def _sentence_transformers(model: str) -> Answer:
    library = import_module("sentence_transformers")
    loaded = library.SentenceTransformer(model, local_files_only=True)
    return lambda texts: loaded.encode(list(texts), show_progress_bar=False)


def _fastembed(model: str) -> Answer:
    library = import_module("fastembed")
    loaded = library.TextEmbedding(model, local_files_only=True)
    return lambda texts: list(loaded.embed(list(texts)))


LIBRARIES: Mapping[str, tuple[Callable[[str], Answer], str]] = {
    "sentence-transformers": (_sentence_transformers, "all-MiniLM-L6-v2"),
    "fastembed": (_fastembed, "BAAI/bge-small-en-v1.5"),
}
"""By name: how a model is loaded, and which one if none is named."""


def open_library(name: str, model: str, *, cache: str = "") -> CustomEmbedder | NoEmbedder:
    """A model of that library, or why there is none."""
    load, usual = LIBRARIES[name]
    chosen = model or usual
    try:
        answer = load(chosen)
    except ImportError as problem:
        return NoEmbedder(
            f"memory.embedder is {name}, but that cannot be imported: {problem}",
            hint=f"pip install {name}, or set memory.embedder to minilm",
        )
    except (OSError, ValueError, RuntimeError) as problem:
        first, *_ = str(problem).splitlines() or [type(problem).__name__]
        return NoEmbedder(
            f"{name} cannot load the model {chosen}: {first}",
            hint=f"fetch it once with {name} itself: HELIX downloads nothing",
        )
    return CustomEmbedder(f"{name}:{chosen}", answer, cache=cache)


# -- what similarities mean ----------------------------------------------------------------

PROBE = os.path.join(os.path.dirname(__file__), "probe.json")

SILENT = 0.95
"""This share of the questions that fit no memory gets no answer."""
WIDTH_SHARE = 0.4
TEXT_SHARE = 0.4
"""Both of the way that cosines go from floor to full, as measured with the model we ship."""
COMMON_WORDS = 0.67
"""What share of the text's weight a memory that fits has by its words; a stranger has none."""
_LEAST_WAY = 0.02


@value
class Probe:
    """Memories, one question that fits each of them, and questions that fit none."""

    memories: tuple[str, ...]
    questions: tuple[str, ...]
    others: tuple[str, ...]


def read_probe(path: str = PROBE) -> Probe:
    """The texts of our package."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return Probe(*(tuple(found[name]) for name in ("memories", "questions", "others")))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise EmbedderFailed(
            f"{path} cannot be read, so no embedder can be calibrated: {problem}",
            hint="install helix-supervisor again",
        ) from None


def calibrate(embed: Callable[[Sequence[str]], Vectors], probe: Probe) -> Calibration:
    """Measure a model by what it makes of the probe."""
    rows = embed([*probe.memories, *probe.questions, *probe.others])
    count = len(probe.memories)
    memories, questions, others = rows[:count], rows[count : 2 * count], rows[2 * count :]
    return fitted(np.einsum("ij,ij->i", questions, memories), (others @ memories.T).max(axis=1))


def fitted(related: NDArray[np.floating], strangers: NDArray[np.floating]) -> Calibration:
    """From the cosines of right memories, and of the best wrong one for each stranger."""
    floor = float(np.quantile(strangers, SILENT))
    full = float(np.median(related))
    if full - floor < _LEAST_WAY:
        raise EmbedderFailed(
            f"its similarities do not tell related texts ({full:.2f}) from others ({floor:.2f})",
            hint="set memory.embedder to minilm, or to another model",
        )
    text_weight = TEXT_SHARE * (full - floor)
    return Calibration(
        floor=round(floor, 3),
        width=round(WIDTH_SHARE * (full - floor), 3),
        full=round(full + COMMON_WORDS * text_weight, 3),
        text_weight=round(text_weight, 3),
    )
