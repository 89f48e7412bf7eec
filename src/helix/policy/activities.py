"""Which page an attempt on a bead follows: its `activity:*` label says so (I-8, D-20). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILD = "build"
ACTIVITIES = ("frame", "design", "test")
"""Those with a page of their own; every other one is carried out like a build."""

_PREFIXES = ("activity:", "phase:")


def activity_of(labels: Iterable[str]) -> str:
    """The first that a bead names and that has a page, else build."""
    for label in labels:
        prefix, colon, word = label.partition(":")
        if f"{prefix}{colon}" in _PREFIXES and word.strip() in ACTIVITIES:
            return word.strip()
    return BUILD
