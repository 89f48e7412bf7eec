"""Advice that comes back: a text that recall had handed out is no new knowledge (M-10). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.memory.model import identity

if TYPE_CHECKING:
    from helix.memory.model import Draft, Memory

REPEATED = 0.8
"""The share of a text's word groups that a memory may hold before the text counts as its echo."""
_GROUP = 3


def is_echo(draft: Draft, memory: Memory) -> bool:
    """Do trigger and resolution both stand in the memory already, word for word or nearly so?"""
    known = _groups(memory.whole)
    return all(_share(text, known) >= REPEATED for text in (draft.trigger, draft.resolution))


def _share(text: str, known: set[tuple[str, ...]]) -> float:
    groups = _groups(text)
    return len(groups & known) / len(groups) if groups else 0.0


def _groups(text: str) -> set[tuple[str, ...]]:
    """Every three words that follow each other; shorter ones too, so that a short text counts."""
    words = identity(text).split()
    if len(words) < _GROUP:
        return {tuple(words)} if words else set()
    return {tuple(words[place : place + _GROUP]) for place in range(len(words) - _GROUP + 1)}
