"""Embedding libraries that a person may have installed; none of them is ours (M-5).

Their models must be on this machine already: nothing is downloaded while HELIX works.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from helix.memory.embedders.base import Absent
from helix.memory.embedders.foreign import Foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Answer = Callable[[Sequence[str]], Any]


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


def open_library(name: str, model: str, *, cache: str = "") -> Foreign | Absent:
    """A model of that library, or why there is none."""
    load, usual = LIBRARIES[name]
    chosen = model or usual
    try:
        answer = load(chosen)
    except ImportError as problem:
        return Absent(
            f"memory.embedder is {name}, but that cannot be imported: {problem}",
            hint=f"pip install {name}, or set memory.embedder to minilm",
        )
    except (OSError, ValueError, RuntimeError) as problem:
        first, *_ = str(problem).splitlines() or [type(problem).__name__]
        return Absent(
            f"{name} cannot load the model {chosen}: {first}",
            hint=f"fetch it once with {name} itself: HELIX downloads nothing",
        )
    return Foreign(f"{name}:{chosen}", answer, cache=cache)
