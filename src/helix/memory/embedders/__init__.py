"""What every embedder promises, so that recall need not know which one it has (M-5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ddx.base import DdxError, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]


@value
class Calibration:
    """What a model's similarities mean; every model has numbers of its own (M-3).

    All are on the scale of a cosine with what the words have in common added to it.
    """

    floor: float
    """Below it two texts have nothing to do with each other."""
    width: float
    """How far below the best candidate another one may be and still compete with it."""
    full: float
    """From here on a match is as good as it gets: its relevance is 1."""
    text_weight: float
    """What a perfect match of words adds to a cosine."""

    def relevance(self, similarity: float) -> float:
        """From 0 at the floor to 1 at full, and never outside."""
        share = (similarity - self.floor) / (self.full - self.floor)
        return min(max(share, 0.0), 1.0)


class Embedder(Protocol):
    """Turns texts into vectors whose products say how close the texts are."""

    @property
    def id(self) -> str:
        """What rows are marked with: vectors of different ids are never compared (M-4)."""

    @property
    def dimension(self) -> int: ...

    @property
    def calibration(self) -> Calibration: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in their order, each of length 1; or EmbedderFailed."""


@value
class NoEmbedder:
    """Why there is no embedder: recall goes by text alone, and `health` says so (M-4)."""

    reason: str
    hint: str = ""
    is_chosen: bool = False
    """Switched off by a person: nothing is wrong, and nothing needs to be mended."""


class EmbedderFailed(DdxError):
    """An embedder that was there could not embed this time."""


def saturated(bm25: float) -> float:
    """Words in common, from 0 to nearly 1: the first ones count most."""
    return bm25 / (bm25 + 5.0) if bm25 > 0 else 0.0
