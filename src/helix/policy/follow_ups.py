"""Work that a build found and left for later: read from its reply, then planned (A-7). Pure.

A follow-up is a line of its own, `FOLLOW_UP:` and a JSON object:

    title         what is to be done; without one it is no follow-up
    description, acceptance, area
    blocks        true: the bead that was being built cannot be done before this
    depends_on    ids of beads, or titles of other follow-ups, that come before this

What cannot be read is not lost: it is named, with its text, for a person to see.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ddx.graph.markdown import prose
from ddx.text import cut, shown_on_one_line
from ddx.values import value
from helix.policy.drafts import Draft, area_label, clean_text, clean_title, identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from helix.policy.drafts import Identity, KnownBead

MOST_FOLLOW_UPS = 20
MOST_DEPTH = 2
"""Follow-ups of follow-ups; deeper ones are filed, but a person hands them out (S-13)."""
LABEL = "follow-up"
TOO_DEEP = f"it follows from follow-ups, {MOST_DEPTH} deep: a person decides whether it is built"
LARGEST_FOLLOW_UP = 8 << 10
MARK = "FOLLOW_UP:"
_LONGEST_SHOWN = 400
_LONGEST_TITLE = 80
_LINE = re.compile(rf"[ \t]{{0,3}}(?:[-*+] +)?[*_`]{{0,3}}{MARK}[*_`]{{0,3}}(.*)")
_TEXTS = ("title", "description", "acceptance", "area")


@value
class FollowUp:
    """One piece of work that an agent proposes."""

    title: str
    description: str = ""
    acceptance: str = ""
    area: str = ""
    blocks: bool = False
    depends_on: tuple[str, ...] = ()


@value
class Rejected:
    """A follow-up that cannot be filed: its text, and why."""

    text: str
    reason: str


@value
class Proposed:
    """All follow-ups of one reply."""

    found: tuple[FollowUp, ...] = ()
    rejected: tuple[Rejected, ...] = ()


def read_follow_ups(text: str) -> Proposed:
    """What a reply proposes; a line in a code fence is quoted and not meant."""
    found: list[FollowUp] = []
    rejected: list[Rejected] = []
    for given, is_quoted in _lines(text):
        read: FollowUp | str
        if is_quoted:
            read = "it stands in a code fence"
        elif len(given) > LARGEST_FOLLOW_UP:
            read = f"it is larger than {LARGEST_FOLLOW_UP >> 10} KB"
        elif len(found) >= MOST_FOLLOW_UPS:
            read = f"at most {MOST_FOLLOW_UPS} are filed for one attempt"
        else:
            read = _read(given)
        if isinstance(read, FollowUp):
            found.append(read)
        elif len(rejected) < MOST_FOLLOW_UPS:
            rejected.append(Rejected(cut(shown_on_one_line(given), _LONGEST_SHOWN), read))
    return Proposed(tuple(found), tuple(rejected))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """What stands after each mark, and whether it is quoted."""
    if MARK not in text:
        return
    for line, meant in zip(text.split("\n"), prose(text).split("\n"), strict=True):
        if match := _LINE.fullmatch(line.rstrip("\r")):
            yield match[1].strip().strip("*_`").strip(), line != meant


def _read(given: str) -> FollowUp | str:
    """The follow-up, or what is wrong with it."""
    try:
        row: Any = json.loads(given)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(row, dict):
        return "it is no JSON object"
    texts = {name: "" if row.get(name) is None else row[name] for name in _TEXTS}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if wrong:
        return f"its {wrong[0]} is no text"
    if not (title := clean_title(texts["title"])):
        return "it has no title"
    wanted = row.get("depends_on") or []
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(wanted, list) or not all(isinstance(each, str) for each in wanted):
        return "its depends_on is no list of texts"
    return FollowUp(
        title,
        clean_text(texts["description"]),
        clean_text(texts["acceptance"]),
        texts["area"],
        row.get("blocks") is True,
        tuple(each.strip() for each in wanted if each.strip()),
    )


@value
class Origin:
    """The bead whose attempt proposed them; `parent` is an open bead, or none."""

    bead: str
    parent: str = ""
    above: tuple[str, ...] = ()
    """The ancestors of its parent: nothing below them can wait for them (T-12)."""
    spec_id: str = ""
    is_open: bool = False
    """It did not land, or was left open: what blocks it must come first."""
    depth: int = 0
    """How many follow-ups and findings one after another have led to it, itself included."""


@value
class Planned:
    """What is done about the follow-ups of one attempt."""

    new: tuple[Draft, ...] = ()
    referenced: tuple[tuple[str, FollowUp], ...] = ()
    """Unfinished beads that say the same already."""
    waits_for: tuple[str, ...] = ()
    """Keys of drafts and ids of beads that the origin must wait for."""
    remarks: tuple[str, ...] = ()


def plan_follow_ups(
    found: Sequence[FollowUp], existing: Sequence[KnownBead], *, origin: Origin
) -> Planned:
    """One draft for each that no unfinished bead says already, beside its origin (A-7, T-18)."""
    known = {identity(bead.title): bead.id for bead in existing if not bead.is_finished}
    distinct: dict[Identity, FollowUp] = {}
    for each in found:
        distinct.setdefault(identity(each.title), each)
    fresh = {same: each for same, each in distinct.items() if same not in known}
    keys = {same: f"follow-up-{number}" for number, same in enumerate(fresh, 1)}
    names = {**known, **keys}
    waits_for = tuple(
        names[same]
        for same, each in distinct.items()
        if each.blocks and origin.is_open and names[same] != origin.bead
    )
    order = _Order(names, existing, origin, waits_for)
    new = [_draft(each, keys[same], origin, order) for same, each in fresh.items()]
    return Planned(
        tuple(new),
        tuple((known[same], each) for same, each in distinct.items() if same in known),
        waits_for,
        tuple(order.remarks),
    )


class _Order:
    """What comes before what; a wish that the tracker would refuse is dropped and said."""

    def __init__(
        self,
        names: Mapping[Identity, str],
        existing: Sequence[KnownBead],
        origin: Origin,
        waits_for: tuple[str, ...],
    ) -> None:
        self._names = names
        self._ids = {bead.id for bead in existing if bead.status != "cancelled"}
        self._above = {origin.parent, *origin.above}
        self._before: dict[str, tuple[str, ...]] = {origin.bead: waits_for}
        self.remarks: list[str] = []

    def before(self, each: FollowUp, key: str) -> tuple[str, ...]:
        """The keys and ids that this one waits for."""
        kept: list[str] = []
        for wanted in dict.fromkeys(each.depends_on):
            name = wanted if wanted in self._ids else self._names.get(identity(wanted), "")
            if problem := self._problem(key, name):
                said = cut(shown_on_one_line(wanted), _LONGEST_TITLE)
                self.remarks.append(f"{each.title!r} does not wait for {said!r}: {problem}")
            else:
                kept.append(name)
        self._before[key] = tuple(dict.fromkeys(kept))
        return self._before[key]

    def _problem(self, key: str, name: str) -> str:
        if not name:
            return "there is no such bead"
        if name in self._above:
            return "it is above it"
        return "each would wait for the other" if key in self._reached(name) else ""

    def _reached(self, name: str) -> set[str]:
        reached: set[str] = set()
        unseen = [name]
        while unseen:
            if (step := unseen.pop()) not in reached:
                reached.add(step)
                unseen += self._before.get(step, ())
        return reached


def _draft(each: FollowUp, key: str, origin: Origin, order: _Order) -> Draft:
    return Draft(
        key,
        each.title,
        description="\n\n".join(filter(None, (each.description, f"left over from {origin.bead}"))),
        acceptance=each.acceptance,
        labels=tuple(filter(None, (LABEL, area_label(each.area)))),
        parent=origin.parent,
        spec_id=origin.spec_id,
        depends_on=order.before(each, key),
        discovered_from=origin.bead,
        held=TOO_DEEP if origin.depth >= MOST_DEPTH else "",
    )
