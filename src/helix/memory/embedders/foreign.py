"""A model that is not ours: its answers are looked at, brought to length 1, and calibrated."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ddx import fastjson
from ddx.files import replace
from helix.memory.embedders.base import Calibration, EmbedderFailed
from helix.memory.embedders.calibrating import calibrate, read_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helix.memory.embedders.base import Vectors

TEXTS_AT_ONCE = 64
LONGEST_TEXT = 8_000
"""In characters: what is behind them hardly changes what a text is about."""

_BLANK = " "
"""In place of an empty text, which many models refuse."""


class Foreign:
    """Any function from texts to rows of numbers, as an embedder.

    How its similarities are to be read is measured once, and kept in the folder `cache` if there
    is one.
    """

    def __init__(self, id: str, answer: Callable[[Sequence[str]], Any], *, cache: str = "") -> None:
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
            replace(self._file(), [fastjson.to_bytes(dict(vars(found)))], durable=False)
        return found

    def _kept(self) -> Calibration | None:
        """What was measured before; a file that makes no sense is measured again."""
        if not self._cache:
            return None
        try:
            with open(self._file(), encoding="utf-8") as file:
                found = fastjson.loads(file.read())
            kept = Calibration(**{name: float(number) for name, number in found.items()})
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return kept if kept.full > kept.floor else None

    def _file(self) -> str:
        name = hashlib.sha256(self.id.encode()).hexdigest()[:16]
        return os.path.join(self._cache, f"calibration-{name}.json")
