"""What an import tells: the rows, and one note for each field that did not simply fit."""

from __future__ import annotations

from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ddx.tracker.model import Row

    Say: TypeAlias = Callable[[str, str, str], None]
    """Takes a note's kind, field and detail, in words."""


@value
class Note:
    """What became of one field; `kind` is mapped, kept, skipped or changed.

    `id` is the bead's, or the place in the file for what never became a bead; `field` is `row`
    where the note is about all of it."""

    id: str
    kind: str
    field: str
    detail: str


@value
class Incoming:
    """`renamed` holds (old, new) for ids that may not stand in a tracker of ours (T-3)."""

    rows: tuple[Row, ...]
    notes: tuple[Note, ...]
    renamed: tuple[tuple[str, str], ...] = ()


@value
class Plan:
    """What an import would do: add the new rows, leave all others as they stand."""

    new: tuple[Row, ...]
    same: tuple[str, ...]
    clashes: tuple[str, ...]
    notes: tuple[Note, ...]


def silent(kind: str, field: str, detail: str) -> None:
    """For a mapping made only to compare."""
