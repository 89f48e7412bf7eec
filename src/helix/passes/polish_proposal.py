"""What a polish proposes, read from its reply and held to what it may touch (A-10). Pure.

One fenced JSON object with the lists `changes`, `new` and `merged`. An entry that cannot be used is
named with its reason; it never spoils the others, and nobody takes the pass for finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ddx.base import cut, shown, value
from helix.passes.drafts import clean_text, clean_title
from helix.passes.reply import fenced_object

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

T = TypeVar("T")
MOST_ENTRIES = 200
_LONGEST_WORD = 200
_LONGEST_COMMAND = 2000
_MOST_WORDS = 50

_TEXTS = {"description": "description", "acceptance": "acceptance"}
_WORDS = {"spec_id": "spec-id", "parent": "parent"}
_LISTS = {"verify": "verify", "labels": "labels", "depends_on": "depends-on"}
_FIELDS = {**_TEXTS, **_WORDS, **_LISTS}

_RESERVED = ("kind:", "action:", "scope:", "review-", "severity:", "conflict:")
"""Labels that steer a run: only the code that owns their meaning gives or takes them."""


@value
class BeadChange:
    """New values of some fields of one bead, by the names that the tracker uses."""

    id: str
    fields: Mapping[str, Any]


@value
class NewBead:
    """A bead that is not there yet; `replaces` is the one that was split."""

    key: str
    title: str
    fields: Mapping[str, Any]
    replaces: str = ""


@value
class BeadMerge:
    """A bead that another one says better."""

    id: str
    into: str
    reason: str


@value
class PolishProposal:
    changes: tuple[BeadChange, ...] = ()
    new: tuple[NewBead, ...] = ()
    merged: tuple[BeadMerge, ...] = ()
    rejected: tuple[str, ...] = ()
    listed: tuple[int, int, int] = (0, 0, 0)
    """How many entries each list had, whatever became of them."""


def read_proposal(text: str, *, within: Collection[str]) -> PolishProposal | str:
    """What is proposed for the beads of a scope, or why there is nothing that can be read."""
    found = fenced_object(text)
    if isinstance(found, str):
        return found
    lists = [found.get(name) or [] for name in ("changes", "new", "merged")]
    if not all(isinstance(rows, list) for rows in lists):
        return "changes, new and merged must be lists"
    if unknown := set(found) - {"changes", "new", "merged"}:
        return f"it has a part that is none: {_said(sorted(map(str, unknown))[0])}"
    if sum(map(len, lists)) > MOST_ENTRIES:
        return f"it has more than {MOST_ENTRIES} entries"
    return _Reader(within).read(*lists)


class _Reader:
    """Reads entry by entry; each bead may be named once only."""

    def __init__(self, within: Collection[str]) -> None:
        self._within = within
        self._used: set[str] = set()
        self._rejected: list[str] = []

    def read(self, changes: list[Any], new: list[Any], merged: list[Any]) -> PolishProposal:
        made = self._each(self._new, "new", new)
        return PolishProposal(
            self._each(self._change, "changes", changes),
            made,
            self._each(self._merge, "merged", merged),
            rejected=tuple(self._rejected),
            listed=(len(changes), len(new), len(merged)),
        )

    def _each(
        self, read: Callable[[dict[str, Any]], T], where: str, rows: list[Any]
    ) -> tuple[T, ...]:
        found = []
        for number, row in enumerate(rows, 1):
            try:
                if not isinstance(row, dict):
                    raise ValueError("it is no object")
                found.append(read(row))
            except ValueError as problem:
                self._rejected.append(f"{where} {number}: {problem}")
        return tuple(found)

    def _change(self, row: dict[str, Any]) -> BeadChange:
        bead_id = self._take(row)
        fields = _fields(row, besides=("id",))
        if not fields:
            raise ValueError(f"{bead_id} is named, and nothing of it changes")
        return BeadChange(bead_id, fields)

    def _new(self, row: dict[str, Any]) -> NewBead:
        title = row.get("title")
        if not isinstance(title, str) or not clean_title(title):
            raise ValueError("it has no title")
        fields = _fields(row, besides=("key", "title", "replaces"))
        old = _word(row, "replaces")
        if old and old not in self._within:
            raise ValueError(f"{_said(old)} is not one of the beads to polish")
        return NewBead(_word(row, "key"), clean_title(title), fields, replaces=old)

    def _merge(self, row: dict[str, Any]) -> BeadMerge:
        if unknown := set(row) - {"id", "into", "reason"}:
            raise ValueError(f"{_said(sorted(unknown)[0])} is no part of a merge")
        bead_id, into = self._take(row), _word(row, "into")
        if not into or into == bead_id:
            raise ValueError(f"{bead_id} must be merged into another bead")
        reason = row.get("reason")
        return BeadMerge(bead_id, into, clean_title(reason) if isinstance(reason, str) else "")

    def _take(self, row: dict[str, Any]) -> str:
        bead_id = _word(row, "id")
        if bead_id not in self._within:
            raise ValueError(f"{_said(bead_id)} is not one of the beads to polish")
        if bead_id in self._used:
            raise ValueError(f"{bead_id} is named twice")
        self._used.add(bead_id)
        return bead_id


def is_reserved(label: str) -> bool:
    return label == "blocked" or label.startswith(_RESERVED)


def _fields(row: dict[str, Any], *, besides: tuple[str, ...]) -> dict[str, Any]:
    """The fields by their names in the tracker; one that polish may not touch is an error."""
    fields: dict[str, Any] = {}
    for name, given in row.items():
        if name in besides:
            continue
        if name not in _FIELDS:
            raise ValueError(f"{_said(name)} is nothing that a polish may change")
        fields[_FIELDS[name]] = _value(name, given)
    return fields


def _value(name: str, given: Any) -> Any:
    if name in _LISTS:
        if not isinstance(given, list) or len(given) > _MOST_WORDS:
            raise ValueError(f"{name} must be a short list of texts")
        most = _LONGEST_COMMAND if name == "verify" else _LONGEST_WORD
        if not all(_is_line(item, most) for item in given):
            raise ValueError(f"{name} must be a short list of texts")
        return [item.strip() for item in given]
    if not isinstance(given, str):
        raise ValueError(f"{name} must be a text")
    if name in _WORDS:
        return _word({name: given}, name)
    return clean_text(given)


def _word(row: dict[str, Any], name: str) -> str:
    given = row.get(name)
    if given is None:
        return ""
    if not isinstance(given, str) or (given and not _is_line(given, _LONGEST_WORD)):
        raise ValueError(f"{name} must be one word")
    return given.strip()


def _is_line(given: Any, most: int) -> bool:
    return (
        isinstance(given, str)
        and bool(given.strip())
        and given.isprintable()
        and len(given) <= most
    )


def _said(word: Any) -> str:
    return repr(cut(shown(str(word), one_line=True), 60))
