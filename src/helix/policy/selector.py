"""Which ready bead a person means by a word or two: `helix build [selector]`. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.policy.drafts import identity
from helix.policy.selection import best_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from helix.policy.model import Candidate


def meant(selector: str, ready: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Of the ready ones, best first; the first way of naming that names any decides.

    An id, the parent, the document, a label, and last the words of the title.
    """
    word = selector.strip()
    order = best_first(ready)
    if not word:
        return tuple(order)
    for names in _WAYS:
        if found := tuple(bead for bead in order if names(bead, word)):
            return found
    return ()


def _says(bead: Candidate, words: str) -> bool:
    wanted, title = (identity(text)[0].split() for text in (words, bead.title))
    return bool(wanted) and set(wanted) <= set(title)


_WAYS: tuple[Callable[[Candidate, str], bool], ...] = (
    lambda bead, word: bead.id == word,
    lambda bead, word: bead.parent == word,
    lambda bead, word: bead.spec_id.casefold() == word.casefold(),
    lambda bead, word: word in bead.labels,
    _says,
)
