"""Filing what a request came to: one write, all or nothing, nothing twice (I-6, I-9).

Each bead knows its request and which part of it it is. So the same request once more finds its
beads as long as they are open, and adds only what has come since.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import ChangedFirst, Refused
from ddx.graph.authority import numbered_id
from ddx.text import listed
from ddx.tracker.codec import decode
from ddx.tracker.lifecycle import Ending, close
from ddx.tracker.model import (
    FINISHED,
    RUNNER,
    id_prefix,
    labels_of,
    link_of,
    status_of,
    text_of,
    texts_of,
)
from ddx.tracker.updating import Patch, add_dependency, update
from ddx.values import changed, value
from helix.actions.filing import file_drafts
from helix.actions.series import Series
from helix.policy.parts import ESCALATION, NEW, REQUEST
from helix.policy.speculation import basis_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ddx.clock import Clock
    from ddx.project import Project
    from ddx.settings import Settings
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker
    from ddx.tracker.working import Changes
    from helix.policy.intake import Settled
    from helix.policy.parts import Part
    from helix.policy.request import Wish
    from helix.slider import Slider

REQUEST_KEY, PART_KEY, ANSWER_KEY = "intake-request", "intake-part", "intake-answer"
"""On a bead: which request it belongs to, which part of it it is, what a person answered."""

CONFLICT = "conflict:"
SHARED = (CONFLICT, "gap:")
"""Parts that are the same whichever request met them."""
BASIS = "intake-basis"
"""On the bead of such a part: a mark of what it said when it was filed."""
_REFUSALS = ("was not filed", "does not wait for")


class Overtaken(ChangedFirst):
    """Another request took a name for its document after this one had looked."""


@value
class Place:
    """Where requests are taken in."""

    project: Project
    settings: Settings
    tracker: Tracker
    slider: Slider
    clock: Clock


@value
class Filed:
    """What came of a request: by part, the bead; and what happened to which."""

    beads: Mapping[str, Row] = {}
    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    """Escalations that a person has answered."""
    remarks: tuple[str, ...] = ()


def file_request(place: Place, wish: Wish, settled: Settled) -> Filed:
    """Everything that was settled, in one write; where one bead is refused, none is filed."""
    done = Filed()

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        filing = _Filing(place, snapshot, wish, now=now)
        done = filing.carry_out(settled)
        return filing.series.changes()

    place.tracker.change(decide)
    return done


class _Filing:
    """The changes for one request on the tracker as it stands."""

    def __init__(self, place: Place, snapshot: Snapshot, wish: Wish, *, now: str) -> None:
        self.series = Series(snapshot, now=now)
        self._wish = wish
        self._prefix = id_prefix(place.settings.bead_prefix or place.project.name)
        self._doubts = {f"kind:{ESCALATION}", place.slider.speculation_label}
        self._known = known_parts(snapshot, wish.key)
        self._promised = _promised(snapshot, wish.key)
        self._created: list[str] = []
        self._updated: list[str] = []

    def carry_out(self, settled: Settled) -> Filed:
        above = ""
        if settled.request is not None:
            self._file([settled.request])
            above = self._known[REQUEST]
        earlier = [part for part in settled.parts if part.key in self._known]
        self._file([_below(part, above) for part in settled.parts])
        self._file(settled.opened)
        for part in earlier:
            self._update(self._known[part.key], part, above)
        closed = [it for key, said in settled.answered.items() if (it := self._answer(key, said))]
        parts = (*filter(None, [settled.request]), *settled.parts, *settled.opened)
        return Filed(
            {part.key: self.series.row(self._known[part.key]) for part in parts},
            tuple(self._created),
            tuple(self._updated),
            tuple(closed),
            tuple(self.series.remarks),
        )

    def _file(self, parts: Sequence[Part]) -> None:
        """Those that are not there yet; every bead and every link must hold."""
        fresh = [part for part in parts if part.key not in self._known]
        for name in (name for part in fresh if part.key.startswith(NEW) for name in part.about):
            if name in self._promised:
                raise Overtaken(f"{name} was taken by another request", hint="give it once more")
        drafts = [
            changed(
                part.draft,
                depends_on=tuple(self._known.get(key, key) for key in part.draft.depends_on),
                marks={**part.draft.marks, REQUEST_KEY: self._wish.key, PART_KEY: part.key},
            )
            for part in fresh
        ]
        said = len(self.series.remarks)
        made = file_drafts(self.series, drafts, draw_id=self._draw_id)
        refused = [it for it in self.series.remarks[said:] if any(why in it for why in _REFUSALS)]
        if refused:
            raise Refused(f"nothing was filed: {listed(refused)}")
        self._created += made.values()
        self._known |= made
        for bead_id in (bead for key, bead in made.items() if key.startswith(SHARED)):
            patch = Patch({BASIS: said_by(self.series.row(bead_id))})
            self.series.add(update(self.series, bead_id, patch, now=self.series.now, by=RUNNER))

    def _draw_id(self) -> str:
        return f"{self._prefix}-{os.urandom(4).hex()}"

    def _update(self, bead_id: str, part: Part, above: str) -> None:
        """What an open bead has not yet: its place, its order, and that nobody doubts it now."""
        before = self.series.row(bead_id)
        if status_of(before) != "open" or bead_id not in self.series:
            return
        had, has = (self._doubts & set(it) for it in (labels_of(before), part.draft.labels))
        is_free = part.draft.is_executable and not part.draft.held
        # Who reviewed it took the label away: only one doubt takes the place of another.
        is_other = bool(had) and had != has
        patch = Patch(
            {"execution-eligible": is_free, "execution-skip-reason": part.draft.held}
            if is_other
            else {},
            add_labels=tuple(sorted(has - had)) if is_other else (),
            remove_labels=tuple(sorted(had - has)),
            parent=above if above and not link_of(before, "parent") else None,
        )
        self.series.add(update(self.series, bead_id, patch, now=self.series.now, by=RUNNER))
        for key in part.draft.depends_on:
            wanted = self._known.get(key, key)
            if wanted not in self.series.waits_for(bead_id):
                self.series.add(
                    add_dependency(self.series, bead_id, wanted, now=self.series.now, by=RUNNER)
                )
        if self.series.row(bead_id) != before:
            self._updated.append(bead_id)

    def _answer(self, key: str, said: bool) -> str:
        """The escalation is closed by its answer; a refused conflict stays for a person."""
        part = key if key.startswith(SHARED) else f"question:{key}"
        bead_id = self._known.get(part, "")
        if not bead_id or (part == key and not said):
            return ""
        if self.series.status(bead_id) in FINISHED:
            return ""
        word = "yes" if said else "no"
        patch = Patch({ANSWER_KEY: word})
        self.series.add(update(self.series, bead_id, patch, now=self.series.now, by=RUNNER))
        ending = Ending(f"a person answered: {word}")
        self.series.add(close(self.series, bead_id, ending, actor=RUNNER, now=self.series.now))
        return bead_id


def _below(part: Part, above: str) -> Part:
    return changed(part, draft=changed(part.draft, parent=above)) if above else part


def said_by(row: Row) -> str:
    """A mark of what the bead says, however urgent somebody finds it."""
    return basis_of({name: given for name, given in row.items() if name != "priority"})


def known_parts(snapshot: Snapshot, request: str) -> dict[str, str]:
    """By part, the bead that says it: open, below an open request, or a conflict long settled."""
    found: dict[str, str] = {}
    columns = snapshot.columns
    for n, status in enumerate(columns.statuses):
        if status in FINISHED:
            continue
        row = decode(snapshot.line(n))
        part = text_of(row, PART_KEY)
        if part and (text_of(row, REQUEST_KEY) == request or part.startswith(SHARED)):
            found.setdefault(part, columns.ids[n])
    for child in snapshot.children(found.get(REQUEST, "")) if REQUEST in found else ():
        row = snapshot.row(child)
        if text_of(row, REQUEST_KEY) == request and status_of(row) != "cancelled":
            found.setdefault(text_of(row, PART_KEY), child)
    for row in answered(snapshot):
        if text_of(row, PART_KEY).startswith(CONFLICT) and text_of(row, ANSWER_KEY) == "yes":
            found.setdefault(text_of(row, PART_KEY), text_of(row, "id"))
    return found


def answered(snapshot: Snapshot) -> Iterator[Row]:
    """The escalations that a person's answer has closed."""
    columns = snapshot.columns
    for n, labels in enumerate(columns.labels):
        if columns.statuses[n] == "closed" and f"kind:{ESCALATION}" in labels:
            row = decode(snapshot.line(n))
            if text_of(row, ANSWER_KEY):
                yield row


def promised_files(snapshot: Snapshot, *, but: str) -> dict[str, str]:
    """By file, the open bead that names it, except for those of one request."""
    found: dict[str, str] = {}
    for n, status in enumerate(snapshot.columns.statuses):
        if status in FINISHED:
            continue
        row = decode(snapshot.line(n))
        if text_of(row, REQUEST_KEY) != but:
            found |= dict.fromkeys(texts_of(row, "paths"), snapshot.columns.ids[n])
    return found


def _promised(snapshot: Snapshot, request: str) -> frozenset[str]:
    """The ids of documents that beads of other requests are about to write."""
    names = map(file_stem, promised_files(snapshot, but=request))
    return frozenset(numbered_id(name) or name for name in names)


def file_stem(path: str) -> str:
    """The name of a file without its folder and its ending."""
    return path.rpartition("/")[2].rpartition(".")[0]
