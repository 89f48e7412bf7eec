"""A broken tracker file becomes a whole one, and every byte that is left out is named. Pure.

Rows that nobody contests keep their bytes. Rows of one id, and rows on the two sides of a conflict
that git left, are merged as T-14 says, as if their file had met its merge driver in time.
"""

from __future__ import annotations

from ddx.base import listed, value
from ddx.tracker.changeset import LARGEST_TEXT, capped
from ddx.tracker.doctor.damaged_file import BASE, COMMON, OURS, THEIRS
from ddx.tracker.doctor.row_checks import EVENT_TEXTS, is_oversized
from ddx.tracker.merge import merge_trackers
from ddx.tracker.row import Row, decode, encode, events_of, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from ddx.tracker.doctor.damaged_file import FileLine, ParsedFile
    from ddx.tracker.merge import MergeResult


@value
class Fix:
    """One thing that was mended, and how."""

    kind: str
    where: str
    what: str


@value
class RemovalPaths:
    """Where treatment puts what it takes out of a file."""

    unreadable: str
    cut: str


@value
class RepairedFile:
    """The file as it shall be; no fixes: as it is."""

    lines: Mapping[str, bytes]
    unreadable: tuple[bytes, ...]
    cut: tuple[Row, ...]
    fixes: tuple[Fix, ...]


def mend(
    sheet: ParsedFile,
    *,
    base: Mapping[str, Row],
    new_id: Callable[[str], str],
    taken: Collection[str],
    beside: RemovalPaths,
) -> RepairedFile:
    """Everything that can be read, each bead once; `base` is what git's two sides began with."""
    repair = _Repair(sheet, base, new_id, {*taken, *sheet.ids()})
    repair.settle_rows()
    repair.note_form()
    wrecks = [line for line in sheet.lines if not line.bead_id]
    for line in wrecks:
        repair.note("corrupt-line", line.number, f"moved, word for word, to {beside.unreadable}")
    cut = repair.cap_events(beside.cut)
    return RepairedFile(
        repair.lines, tuple(map(sheet.raw, wrecks)), tuple(cut), fixes=tuple(repair.fixes)
    )


class _Repair:
    """The next file in the making."""

    def __init__(
        self,
        sheet: ParsedFile,
        base: Mapping[str, Row],
        new_id: Callable[[str], str],
        taken: set[str],
    ) -> None:
        self.lines: dict[str, bytes] = {}
        self.fixes: list[Fix] = []
        self._sheet = sheet
        self._base = base if all(hunk.sound for hunk in sheet.hunks) else {}
        self._taken = taken
        self._draw = new_id

    def note(self, kind: str, number: int, what: str) -> None:
        self.fixes.append(Fix(kind, f"{self._sheet.path}:{number}", what))

    def note_form(self) -> None:
        sheet = self._sheet
        if sheet.is_utf16:
            self.note("byte-order-mark", 1, "written as UTF-8")
        for number in sheet.marked_lines:
            self.note("byte-order-mark", number, "taken away")
        if sheet.dos_lines:
            what = f"{sheet.dos_lines} lines end in a plain newline now"
            self.fixes.append(Fix("line-endings", sheet.path, what))
        for line in sheet.rows:
            if line.problem:
                self.note("corrupt-line", line.number, f"{line.bead_id} has a line of its own now")

    # -- rows ------------------------------------------------------------------------------

    def settle_rows(self) -> None:
        by_id: dict[str, list[FileLine]] = {}
        for line in self._sheet.rows:
            by_id.setdefault(line.bead_id, []).append(line)
        contested = {}
        for bead_id, lines in by_id.items():
            if len(lines) == 1 and lines[0].side == COMMON:
                self.lines[bead_id] = self._bytes(lines[0])
            elif all(line.side == COMMON for line in lines):
                self._put(self._joined(lines), lines)
            else:
                contested[bead_id] = lines
        if self._sheet.hunks:
            self._settle_conflicts(contested)

    def _settle_conflicts(self, contested: Mapping[str, list[FileLine]]) -> None:
        """Both sides of git's conflicts, merged as if the merge had been ours to do."""
        ours: dict[str, Row] = {}
        theirs: dict[str, Row] = {}
        base: dict[str, Row] = {}
        for bead_id, lines in contested.items():
            for side, rows in ((OURS, ours), (THEIRS, theirs)):
                if there := [line for line in lines if line.side in (COMMON, side)]:
                    rows[bead_id] = self._joined(there)
            if (origin := self._origin(bead_id, lines)) is not None:
                base[bead_id] = origin
        merged = merge_trackers(base, ours, theirs, new_id=self._new_id)
        for bead_id, row in merged.rows.items():
            self._put(row, contested.get(bead_id, []))
        for hunk in self._sheet.hunks:
            what = f"both sides are joined, bead by bead, up to line {hunk.last}"
            self.note("conflict-markers", hunk.first, what)
        self._note_merge("conflict-markers", self._sheet.hunks[0].first, merged)
        for bead_id in sorted(contested.keys() - self.lines.keys()):
            self._settle_removed(bead_id, contested[bead_id])

    def _settle_removed(self, bead_id: str, lines: list[FileLine]) -> None:
        """A torn conflict proves no removal: what it began with stays."""
        torn = [line for line in lines if not self._sheet.hunks[line.hunk].sound]
        if torn:
            self.lines[bead_id] = self._bytes(torn[0])
        else:
            what = f"{bead_id} is out: it was removed, and no side has changed it since"
            self.note("conflict-markers", lines[0].number, what)

    def _origin(self, bead_id: str, lines: list[FileLine]) -> Row | None:
        """What both sides began with, where we can be sure; a guess could remove a bead."""
        hunks = self._sheet.hunks
        if not all(line.hunk < 0 or hunks[line.hunk].sound for line in lines):
            return None
        for side in (BASE, COMMON):
            there = [line for line in lines if line.side == side]
            if there:
                return self._sheet.row(there[0]) if len(there) == 1 else None
        return self._base.get(bead_id)

    def _joined(self, lines: list[FileLine]) -> Row:
        """One row of all that stand under one id; another bead among them gets its own id."""
        first, *others = lines
        row = self._sheet.row(first)
        for line in others:
            merged = merge_trackers(
                {}, {line.bead_id: row}, {line.bead_id: self._sheet.row(line)}, new_id=self._new_id
            )
            row = merged.rows[line.bead_id]
            for renamed in merged.renamed:
                self._put(merged.rows[renamed.new], [])
            if not merged.renamed and line.side == first.side:
                what = f"joined with line {first.number}, which has the same id"
                self.note("duplicate-id", line.number, what)
            self._note_merge("duplicate-id", line.number, merged)
        return row

    def _note_merge(self, kind: str, number: int, merged: MergeResult) -> None:
        for renamed in merged.renamed:
            what = f"another bead has the id {renamed.old}, so this one is {renamed.new} now"
            self.note(kind, number, what)
        for bead_id in dict.fromkeys(conflict.bead for conflict in merged.conflicts):
            fields = listed(it.field for it in merged.conflicts if it.bead == bead_id)
            what = (
                f"{bead_id} has two values for {fields}; the first stands until you choose: "
                f"ddx bead resolve {typed(bead_id)} --field F --take ours|theirs"
            )
            self.note(kind, number, what)

    def _new_id(self, bead_id: str) -> str:
        """The merge sees only two rows; an id that it gets back is drawn again (T-18)."""
        drawn = self._draw(bead_id)
        if drawn in self._taken:
            return bead_id
        self._taken.add(drawn)
        return drawn

    def _put(self, row: Row, lines: list[FileLine]) -> None:
        """A row that came through as one of its lines had it keeps that line's bytes."""
        same = (self._bytes(line) for line in lines if self._sheet.row(line) == row)
        self.lines[str(row["id"])] = next(same, None) or encode(row)

    def _bytes(self, line: FileLine) -> bytes:
        return encode(self._sheet.row(line)) if line.problem else self._sheet.raw(line)

    # -- fields ----------------------------------------------------------------------------

    def cap_events(self, path: str) -> list[Row]:
        """Event texts in their legal size (T-6); the whole ones, for the file beside."""
        whole: list[Row] = []
        for bead_id, line in self.lines.items():
            if len(line) <= LARGEST_TEXT:
                continue
            row = decode(line)
            cut = [
                {"id": bead_id, "event": place, "field": key, "text": event[key]}
                for place, event in enumerate(events_of(row), start=1)
                for key in EVENT_TEXTS
                if is_oversized(event.get(key))
            ]
            if cut:
                self.lines[bead_id] = encode({**row, "events": list(map(_capped, row["events"]))})
                what = f"{len(cut)} texts of its events are cut; they are whole in {path}"
                self.fixes.append(Fix("oversized-field", bead_id, what))
                whole += cut
        return whole


def _capped(event: Any) -> Any:
    if not isinstance(event, dict):
        return event
    texts = {key: capped(event[key]) for key in EVENT_TEXTS if is_oversized(event.get(key))}
    return {**event, **texts}
