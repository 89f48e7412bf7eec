"""A bead as the other rooms see it: what is known of it by name, all else by key (T-2). Pure."""

from __future__ import annotations

from ddx.base import to_bytes, value
from ddx.tracker import criteria
from ddx.tracker import row as rows
from ddx.tracker.row import CLAIM_KEYS, FINISHED, link_of, links_of, revision_of, text_of, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any, TypeAlias

    from ddx.tracker.criteria import CriteriaVerdict, Criterion
    from ddx.tracker.row import Row

    BeadId: TypeAlias = str
else:
    BeadId = str

_PASSING = frozenset({"updated_at", "events", "owner", *CLAIM_KEYS})
_LONGEST_COUNT = 8
_WILDCARDS = ("*", "?", "[")


@value
class BeadEvent:
    """Something that happened to a bead, as its record tells it."""

    kind: str
    summary: str
    body: str
    actor: str
    at: str


class _Text:
    """A field of a bead that is one text, by its key."""

    def __init__(self, key: str, read: Callable[[Row, str], str] = text_of) -> None:
        self._key = key
        self._read = read

    def __get__(self, bead: Bead, owner: object = None) -> str:
        return self._read(bead.row, self._key)


class _Texts:
    """A field of a bead that is a list of texts, by its key."""

    def __init__(self, key: str, read: Callable[[Row, str], tuple[str, ...]] = texts_of) -> None:
        self._key = key
        self._read = read

    def __get__(self, bead: Bead, owner: object = None) -> tuple[str, ...]:
        return self._read(bead.row, self._key)


@value
class Bead:
    """A bead as it was when we looked; a row that others wrote badly reads as far as it can."""

    id: BeadId
    row: Row
    revision: str = ""

    @classmethod
    def of(cls, row: Row, revision: str = "") -> Bead:
        """The bead that stands in a row; of an empty row one without an id."""
        return cls(text_of(row, "id"), row, revision)

    # -- any field, by its key --------------------------------------------------------------

    def get(self, key: str) -> Any:
        """The value as it stands in the file, whatever it is; None if there is none."""
        return self.row.get(key)

    def text(self, key: str) -> str:
        """The value as text; absent, null and empty are the same (T-5)."""
        return text_of(self.row, key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts without its stray spaces and empties; a lone text counts as one."""
        return texts_of(self.row, key)

    def link(self, key: str) -> str:
        """The id that stands under `key`, or an empty string."""
        return link_of(self.row, key)

    def links(self, key: str) -> tuple[str, ...]:
        """The ids under `key`, which may be one id, several joined by commas, or a list."""
        return links_of(self.row, key)

    def content(self, *, besides: Collection[str] = ()) -> bytes:
        """What it says, whoever holds it and whatever happened to it, without some more fields."""
        return to_bytes(
            {
                name: said
                for name, said in sorted(self.row.items())
                if name not in _PASSING and name not in besides
            }
        )

    def digest(self, names: Iterable[str]) -> str:
        """A hash of these fields alone; those that are empty do not count."""
        return revision_of(to_bytes({name: self.row[name] for name in names if self.row.get(name)}))

    # -- what it asks for -------------------------------------------------------------------

    title = _Text("title")
    description = _Text("description")
    acceptance = _Text("acceptance")
    verify = _Texts("verify")
    notes = _Text("notes")

    @property
    def type(self) -> str:
        return rows.type_of(self.row)

    @property
    def priority(self) -> int:
        return rows.priority_of(self.row)

    @property
    def rank(self) -> int | None:
        """Its place among those of one priority, where somebody gave it one."""
        return rows.rank_of(self.row)

    @property
    def labels(self) -> tuple[str, ...]:
        return rows.labels_of(self.row)

    paths = _Texts("paths")

    def overlaps(self, paths: Iterable[str]) -> bool:
        """Could an edit below one of its paths be an edit below one of these?"""
        return overlap(self.paths, paths)

    @property
    def is_eligible(self) -> bool:
        """May an agent be handed it? Its own word, else what its kind says (D-13)."""
        return rows.is_eligible(self.row)

    @property
    def is_eligible_by_kind(self) -> bool:
        """The same without its own word: by its type and labels alone."""
        return rows.eligible_by_default(self.type, self.labels)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """All that the bead itself asks to be checked."""
        return criteria.criteria_of(self.row)

    def judged(self, *, default_checks: tuple[str, ...] = ()) -> CriteriaVerdict:
        """What would be run for it, and what keeps it from being ready (T-17)."""
        return criteria.judge(self.row, default_checks=default_checks)

    # -- where it stands --------------------------------------------------------------------

    parent = _Text("parent", link_of)
    spec_id = _Text("spec-id", link_of)

    @property
    def documents(self) -> tuple[str, ...]:
        """What it names as its sources: first of all its spec-id, then its references."""
        return (*self.links("spec-id"), *self.links("refs"))

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The beads that must be closed first (D-14)."""
        return rows.blockers_of(self.row)

    superseded_by = _Texts("superseded-by", links_of)
    replaces = _Texts("replaces", links_of)

    @property
    def fingerprint(self) -> dict[str, str]:
        """What governs it; once this is another, it is not the bead that was selected (X-18)."""
        return {
            "spec-id": self.spec_id,
            "parent": self.parent,
            "superseded-by": _together(self.superseded_by),
            "replaces": _together(self.replaces),
            "dependencies": _together(self.waits_for),
            "execution-eligible": str(self.is_eligible).lower(),
            "issue_type": self.type,
        }

    # -- what became of it ------------------------------------------------------------------

    @property
    def status(self) -> str:
        return rows.status_of(self.row)

    @property
    def is_finished(self) -> bool:
        return self.status in FINISHED

    @property
    def is_in_conflict(self) -> bool:
        """Two sides of a merge changed it, and nobody has settled it yet (T-14)."""
        return bool(self.row.get("merge-conflicts"))

    blocked_reason = _Text("blocked-reason")
    close_reason = _Text("close_reason")
    closing_commit = _Text("closing_commit_sha")

    @property
    def session(self) -> str:
        """The attempt that closed it."""
        return self.text("session_id")

    @property
    def attempts(self) -> int:
        """How often it was tried in vain."""
        found = self.text("attempts")
        return int(found) if found.isdigit() and len(found) <= _LONGEST_COUNT else 0

    created_at = _Text("created_at")
    updated_at = _Text("updated_at")
    closed_at = _Text("closed_at")

    @property
    def owner(self) -> str:
        return self.text("owner") or self.text("assignee")

    claim_id = _Text("claim-id")

    @property
    def holder(self) -> str:
        """Who has it, in words: `helix (pid 812 on tower) since 2026-01-02T03:04:05Z`."""
        return rows.holder_of(self.row)

    @property
    def events(self) -> tuple[BeadEvent, ...]:
        return tuple(
            BeadEvent(
                text_of(it, "kind"),
                text_of(it, "summary"),
                text_of(it, "body"),
                actor=text_of(it, "actor"),
                at=text_of(it, "created_at"),
            )
            for it in rows.events_of(self.row)
        )


def overlap(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Could an edit below one of our paths be an edit below one of theirs?"""
    others = [_stem(path) for path in theirs]
    return any(
        one.startswith(other) or other.startswith(one)
        for one in map(_stem, ours)
        for other in others
    )


def _stem(path: str) -> str:
    """What every file that the path means begins with; a folder ends in a slash."""
    path = path.strip().removeprefix("./")
    places = [path.find(mark) for mark in _WILDCARDS if mark in path]
    if places:
        return path[: min(places)]
    return path if path.endswith("/") or not path else f"{path}/"


def _together(links: tuple[str, ...]) -> str:
    return ",".join(sorted(links))
