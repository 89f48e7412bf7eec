"""Beads that agents propose, before they are filed: cleaned, bounded, held to T-17. Pure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from ddx.text import cut, shown
from ddx.tracker.criteria import judge
from ddx.tracker.model import FINISHED, Row, labels_of, status_of, text_of
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Identity: TypeAlias = tuple[str, str]

FILE_KEY = "finding-file"
"""Where a bead keeps the file that its finding is about: a part of what makes two the same."""
NO_CRITERION = "nothing in its acceptance can be run: polish it first"

_LONGEST_TITLE = 160
_LONGEST_TEXT = 8000


@value
class KnownBead:
    """A bead that is there already, as far as doubles are concerned."""

    id: str
    title: str
    status: str = "open"
    file: str = ""
    labels: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        return self.status in FINISHED


@value
class Draft:
    """A bead to be filed; links may name another draft by its key."""

    key: str
    title: str
    description: str = ""
    acceptance: str = ""
    labels: tuple[str, ...] = ()
    priority: int = 2
    parent: str = ""
    spec_id: str = ""
    depends_on: tuple[str, ...] = ()
    discovered_from: str = ""
    file: str = ""
    issue_type: str = ""
    refs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    marks: Mapping[str, str] = {}
    """Fields of whoever files it, by which the same draft is known again."""
    held: str = ""
    """Why no agent may be handed it, though it could be proven; empty: one may."""

    @property
    def is_executable(self) -> bool:
        """Its own acceptance proves something: default checks may pass with nothing done (T-17)."""
        return judge({"acceptance": self.acceptance}).ready

    def as_row(self) -> dict[str, Any]:
        """As the tracker takes drafts; what is empty is left out."""
        row = {
            "key": self.key,
            "title": self.title,
            "description": self.description,
            "acceptance": self.acceptance,
            "labels": list(self.labels),
            "priority": self.priority,
            "parent": self.parent,
            "spec-id": self.spec_id,
            "depends-on": list(self.depends_on),
            "discovered-from": self.discovered_from,
            FILE_KEY: self.file,
            "issue_type": self.issue_type,
            "refs": list(self.refs),
            "paths": list(self.paths),
            **self.marks,
        }
        filled = {name: given for name, given in row.items() if given not in ("", [])}
        if self.is_executable and not self.held:
            return filled
        why = self.held or NO_CRITERION
        return {**filled, "execution-eligible": False, "execution-skip-reason": why}


def known_bead(row: Row) -> KnownBead:
    return KnownBead(
        text_of(row, "id"),
        text_of(row, "title"),
        status_of(row),
        text_of(row, FILE_KEY),
        labels_of(row),
    )


def identity(title: str, file: str = "") -> Identity:
    """Two titles that a person would read as the same have the same, in one file (S-16)."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    words = "".join(mark if mark.isalnum() else " " for mark in folded).split()
    return " ".join(words), file.strip().removeprefix("./")


def clean_title(text: str) -> str:
    """One line that the tracker takes; empty if there is no word in it."""
    title = cut(shown(" ".join(text.split())), _LONGEST_TITLE)
    return title if any(map(str.isalnum, title)) else ""


def clean_text(text: str) -> str:
    return cut(shown(text.strip()), _LONGEST_TEXT)


def area_label(area: str) -> str:
    """`area:*` of a word that an agent gave; empty where it gave none."""
    folded = unicodedata.normalize("NFKC", area).casefold().removeprefix("area:")
    words = "".join(mark if mark.isalnum() and mark.isascii() else " " for mark in folded).split()
    return f"area:{'-'.join(words)[:40].strip('-')}" if words else ""
