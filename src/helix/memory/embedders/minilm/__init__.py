"""The embedder that is shipped: all-MiniLM-L6-v2 in plain numpy, in this process (M-5).

Its weights are files of our own package: no torch, no download.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from helix.memory.embedders import Calibration, NoEmbedder
from helix.memory.embedders.minilm.model import DIMENSION, MOST_TOKENS, Encoder
from helix.memory.embedders.minilm.weights import DamagedWeights, Weights, read_weights
from helix.memory.embedders.minilm.wordpiece import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.memory.embedders import Vectors

ID = "all-MiniLM-L6-v2/int8"
WEIGHTS = "minilm.weights"
VOCABULARY = "vocab.txt"
CALIBRATION = Calibration(floor=0.285, width=0.10, full=0.57, text_weight=0.1)
"""Measured by benchmarks/memory/calibrate.py; see docs/explanation/embedding.md."""

_FOLDER = os.path.dirname(__file__)
_HINT = "install helix-supervisor again, or in a checkout: scripts/make-embedder"


class MiniLM:
    """Its tables are unpacked when the first text comes."""

    id = ID
    dimension = DIMENSION
    calibration = CALIBRATION

    def __init__(self, weights: Weights, pieces: WordPieces) -> None:
        self._weights = weights
        self._pieces = pieces
        self._encoder: Encoder | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._encoder is None:
            self._encoder = Encoder(self._weights)
        return self._encoder.encode([self._pieces.tokens(text, most=MOST_TOKENS) for text in texts])


def open_minilm(folder: str = _FOLDER) -> MiniLM | NoEmbedder:
    """The model of our package, or why it cannot be used."""
    weights = read_weights(os.path.join(folder, WEIGHTS))
    if isinstance(weights, DamagedWeights):
        return NoEmbedder(weights.reason, hint=_HINT)
    path = os.path.join(folder, VOCABULARY)
    try:
        with open(path, "rb") as file:
            listed = file.read()
    except OSError as problem:
        return NoEmbedder(f"{path} cannot be read: {problem.strerror}", hint=_HINT)
    if hashlib.sha256(listed).hexdigest() != weights.about.get("vocabulary_sha256"):
        return NoEmbedder(f"{path} is damaged: it is not the one of {WEIGHTS}", hint=_HINT)
    return MiniLM(weights, WordPieces(listed.decode().removesuffix("\n").split("\n")))
