"""Beads that somebody proposes, and their filing: cleaned, bounded, held to T-17. Pure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.base import DdxError, changed, cut, shown, value
from ddx.tracker import FINISHED, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.tracker import Bead, Snapshot, TrackerEdit

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
class BeadDraft:
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


@value
class NotFiled:
    """A draft that the tracker refused."""

    title: str
    why: str

    @property
    def sentence(self) -> str:
        return f"{self.title!r} was not filed: {self.why}"


@value
class NotLinked:
    """A bead that should wait for another one, which the tracker refused."""

    bead: str
    wanted: str
    why: str

    @property
    def sentence(self) -> str:
        return f"{self.bead} does not wait for {self.wanted}: {self.why}"


Refusal: TypeAlias = NotFiled | NotLinked


@value
class FiledDrafts:
    """The new beads by the keys of their drafts, and what the tracker refused."""

    beads: Mapping[str, str]
    refusals: tuple[Refusal, ...] = ()


def known_bead(bead: Bead) -> KnownBead:
    return KnownBead(bead.id, bead.title, bead.status, file=bead.text(FILE_KEY), labels=bead.labels)


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


def file_drafts(
    edit: TrackerEdit, drafts: Sequence[BeadDraft], *, draw_id: Callable[[], str]
) -> FiledDrafts:
    """A bead for each draft; links between them come when all are there.

    The edit keeps a sentence for each refusal; whether one stops the others, the caller decides.
    """
    created: dict[str, str] = {}
    refusals: list[Refusal] = []
    for draft in drafts:
        row = changed(draft, depends_on=(), parent=open_parent(edit, draft.parent)).as_row()
        try:
            (bead_id,) = edit.create([row], draw_id=draw_id)
        except DdxError as problem:
            refusals.append(NotFiled(draft.title, problem.message))
            edit.remark(refusals[-1].sentence)
            continue
        created[draft.key] = bead_id
    for draft in drafts:
        for wanted in draft.depends_on if draft.key in created else ():
            if refusal := link_beads(edit, created[draft.key], created.get(wanted, wanted)):
                refusals.append(refusal)
    return FiledDrafts(created, tuple(refusals))


def open_parent(view: Snapshot | TrackerEdit, parent: str) -> str:
    """The bead, or the nearest one above it that something can be added to; empty: none."""
    seen: set[str] = set()
    while parent and parent not in seen:
        if parent in view and not view.is_finished(parent):
            return parent
        seen.add(parent)
        parent = view.parent(parent)
    return ""


def link_beads(edit: TrackerEdit, bead_id: str, wanted: str) -> NotLinked | None:
    """Make the bead wait for the other one; None if it does now."""
    if wanted in edit.waits_for(bead_id):
        return None
    try:
        edit.add_dependency(bead_id, wanted)
    except DdxError as problem:
        refusal = NotLinked(bead_id, wanted, problem.message)
        edit.remark(refusal.sentence)
        return refusal
    return None
