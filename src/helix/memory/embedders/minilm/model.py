"""The forward pass: tokens of many texts side by side, without any padding.

Texts lie behind one another in one long row of tokens, ordered by length. Whatever looks at single
tokens sees the whole row at once; attention sees all texts of one length together. So nothing is
computed for tokens that are not there, and nothing has to be masked.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ddx.base import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from helix.memory.embedders import Vectors
    from helix.memory.embedders.minilm.weights import Weights

DIMENSION = 384
LAYERS = 6
MOST_TOKENS = 256
"""Of one text; what is behind them does not count, as in sentence-transformers."""

_HEADS = 12
_HEAD_SIZE = DIMENSION // _HEADS
_SMALLEST_VARIANCE = 1e-12
TOKENS_AT_ONCE = 1024
"""More would cost memory and hardly gain time."""

# erfc(z) is nearly exp(-z²) times a polynomial in 1/(1 + _BEND z): Abramowitz and Stegun, 7.1.26.
_BEND = 0.3275911
_POLYNOMIAL = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


@value
class TokenSpan:
    """Texts of one length that lie behind one another in the row of tokens."""

    begin: int
    texts: int
    length: int

    @property
    def end(self) -> int:
        return self.begin + self.texts * self.length


@value
class Layer:
    """One layer's tables at full width."""

    attend: Vectors
    attend_bias: Vectors
    mix: Vectors
    mix_bias: Vectors
    mix_gain: Vectors
    mix_shift: Vectors
    widen: Vectors
    widen_bias: Vectors
    narrow: Vectors
    narrow_bias: Vectors
    narrow_gain: Vectors
    narrow_shift: Vectors


class Encoder:
    """The model's tables: the words stay as small as they are stored, all else is unpacked once."""

    def __init__(self, weights: Weights) -> None:
        arrays = weights.arrays
        self._words, self._scales = arrays["words"], arrays["words.scale"]
        self._positions = arrays["positions"]
        self._gain, self._shift = arrays["words.gain"], arrays["words.shift"]
        self._layers = [_layer(weights, number) for number in range(LAYERS)]

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """One row of length 1 for the tokens of each text."""
        rows = np.empty((len(texts), DIMENSION), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for places in batches(order, [len(tokens) for tokens in texts]):
            rows[places] = self._pooled([texts[place] for place in places])
        return rows

    def _pooled(self, texts: Sequence[Sequence[int]]) -> Vectors:
        spans = list(_spans(texts))
        hidden = self._embedded(texts)
        for layer in self._layers:
            hidden = _through(layer, hidden, spans)
        rows = [
            hidden[span.begin : span.end].reshape(span.texts, span.length, DIMENSION).mean(axis=1)
            for span in spans
        ]
        return unit_rows(np.concatenate(rows))

    def _embedded(self, texts: Sequence[Sequence[int]]) -> Vectors:
        ids = np.concatenate([np.asarray(tokens, np.intp) for tokens in texts])
        places = np.concatenate([np.arange(len(tokens)) for tokens in texts])
        hidden: Vectors = self._words[ids].astype(np.float32)
        hidden *= self._scales[ids, None]
        hidden += self._positions[places]
        return _normed(hidden, self._gain, self._shift)


def unit_rows(rows: NDArray[np.float32]) -> Vectors:
    """Each row at length 1; a row of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scaled: Vectors = rows / np.maximum(lengths, np.float32(1e-12))[:, None]
    return scaled


def batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places in their order, as many at once as the row of tokens has room for."""
    batch: list[int] = []
    tokens = 0
    for place in order:
        if batch and tokens + lengths[place] > TOKENS_AT_ONCE:
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += lengths[place]
    if batch:
        yield batch


def _layer(weights: Weights, number: int) -> Layer:
    named: Mapping[str, Vectors] = {
        name: weights.arrays[f"layer.{number}.{name.replace('_', '.')}"]
        for name in Layer.__annotations__
        if "_" in name
    }
    tables = {
        name: weights.table(f"layer.{number}.{name}")
        for name in Layer.__annotations__
        if "_" not in name
    }
    return Layer(**named, **tables)


def _spans(texts: Sequence[Sequence[int]]) -> Iterator[TokenSpan]:
    begin = 0
    for length, same in groupby(texts, key=len):
        span = TokenSpan(begin, sum(1 for _ in same), length)
        yield span
        begin = span.end


def _through(layer: Layer, hidden: Vectors, spans: Sequence[TokenSpan]) -> Vectors:
    seen = hidden @ layer.attend.T
    seen += layer.attend_bias
    mixed = np.empty_like(hidden)
    for span in spans:
        mixed[span.begin : span.end] = _attention(seen[span.begin : span.end], span)
    mixed = mixed @ layer.mix.T
    mixed += layer.mix_bias
    mixed += hidden
    hidden = _normed(mixed, layer.mix_gain, layer.mix_shift)
    wide = hidden @ layer.widen.T
    wide += layer.widen_bias
    narrow = gelu(wide) @ layer.narrow.T
    narrow += layer.narrow_bias
    narrow += hidden
    return _normed(narrow, layer.narrow_gain, layer.narrow_shift)


def _attention(seen: Vectors, span: TokenSpan) -> Vectors:
    """What each token gathers from the tokens of its own text."""
    split = seen.reshape(span.texts, span.length, 3, _HEADS, _HEAD_SIZE)
    query, key, said = split.transpose(2, 0, 3, 1, 4)
    weight = query @ key.swapaxes(-1, -2)
    weight *= np.float32(1 / math.sqrt(_HEAD_SIZE))
    weight -= weight.max(axis=-1, keepdims=True)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=-1, keepdims=True)
    gathered: Vectors = (weight @ said).transpose(0, 2, 1, 3).reshape(-1, DIMENSION)
    return gathered


def _normed(rows: Vectors, gain: Vectors, shift: Vectors) -> Vectors:
    rows -= rows.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / np.float32(DIMENSION)
    rows /= np.sqrt(variance + np.float32(_SMALLEST_VARIANCE))[:, None]
    rows *= gain
    rows += shift
    return rows


def gelu(rows: Vectors) -> Vectors:
    """x times the chance that a normal number is below x: what is positive, less its tail."""
    size = np.abs(rows)
    step = 1 / (1 + np.float32(_BEND / math.sqrt(2)) * size)
    tail = np.full_like(rows, _POLYNOMIAL[-1])
    for factor in reversed((0.0, *_POLYNOMIAL[:-1])):
        tail *= step
        tail += np.float32(factor)
    tail *= np.exp(size * size * np.float32(-0.5))
    tail *= size * np.float32(0.5)
    answer: Vectors = np.maximum(rows, 0) - tail
    return answer
