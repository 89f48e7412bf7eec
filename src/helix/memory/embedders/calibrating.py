"""What the similarities of a model mean, measured with texts whose relation is known (M-3).

Floors differ from model to model: what is a strong match for one is noise for another. So a model
that nobody has measured is asked about questions that fit a memory, and others that fit none.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from ddx.values import value
from helix.memory.embedders.base import Calibration, EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from helix.memory.embedders.base import Vectors

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
