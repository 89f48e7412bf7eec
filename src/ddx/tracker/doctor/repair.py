"""The doctor's hand: mends a tracker's files under its lock, after keeping what was there.

Copies come first and are on the disk before a file is replaced, so nothing that ever stood in a
file is thrown away: `.ddx/backups` has the whole file as it was, every line that was moved out,
and every text that was cut.
"""

from __future__ import annotations

import os

from ddx.base import ERROR, DdxError, Refused, replace, to_bytes
from ddx.git import commands as git
from ddx.tracker.columns import NewRow
from ddx.tracker.doctor.damaged_file import read_sheet, spans
from ddx.tracker.doctor.diagnosis import read_exam
from ddx.tracker.doctor.repair_plan import Fix, RemovalPaths, RepairedFile, mend
from ddx.tracker.doctor.row_checks import file_findings
from ddx.tracker.publication import BACKUPS_KEPT, DAY_NS, stamp_in_name
from ddx.tracker.snapshot import build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.base import Lock
    from ddx.tracker.doctor.damaged_file import ParsedFile
    from ddx.tracker.doctor.diagnosis import Diagnosis
    from ddx.tracker.row import Row
    from ddx.tracker.tracker import Tracker

_REPLACED_TRIES = 5
_COPY = "fix-"
"""Not `beads-`: those are our own writes, and the oldest of them go by themselves (T-14a)."""


def treat(
    tracker: Tracker, *, fix: bool, bring_back: bool, new_id: Callable[[str], str]
) -> tuple[Fix, ...]:
    """Mend what can be mended, bring back what was lost, and say what was done."""
    with tracker.lock() as lock:
        for _ in range(_REPLACED_TRIES):
            exam = read_exam(tracker)
            if bring_back and not fix:
                _require_readable(exam.sheet)
            treatment = _Treatment(tracker, exam, new_id)
            if treatment.carry_out(lock, fix=fix, bring_back=bring_back):
                return tuple(treatment.fixes)
    raise DdxError(f"{tracker.path} is being replaced again and again; nothing was changed")


class _Treatment:
    """One try: what is wrong in one exam, mended."""

    def __init__(self, tracker: Tracker, exam: Diagnosis, new_id: Callable[[str], str]) -> None:
        self.fixes: list[Fix] = []
        self._tracker = tracker
        self._exam = exam
        self._new_id = new_id
        at = stamp_in_name(tracker.clock.now_ns())
        backups = tracker.project.ddx("backups")
        self._backups = backups
        self._copy = os.path.join(backups, f"{_COPY}{at}-")
        self._beside = RemovalPaths(
            unreadable=os.path.join(backups, f"unreadable-{at}.txt"),
            cut=os.path.join(backups, f"cut-{at}.jsonl"),
        )

    def carry_out(self, lock: Lock, *, fix: bool, bring_back: bool) -> bool:
        """False: another program was faster with the tracker's file, and we start over."""
        exam = self._exam
        back = exam.lost() if bring_back else {}
        active, archived = (self._next(sheet, fix=fix) for sheet in (exam.sheet, exam.archive))
        if exam.is_gone and not back:
            active = _as_it_is(exam.sheet)  # an empty tracker would only hide what was lost
        lines = {**active.lines, **{bead_id: kept.line for bead_id, kept in back.items()}}
        self._keep_what_goes(active, archived, fix=fix)
        if active.fixes or back:
            if not self._replace_tracker(lock, lines):
                return False
            self.fixes += active.fixes
            self.fixes += [
                Fix("lost-row", bead_id, f"is back, from {kept.copy.path}")
                for bead_id, kept in back.items()
            ]
        if archived.fixes:
            self._keep(exam.archive)
            replace(exam.archive.path, _joined(archived.lines))
            self.fixes += archived.fixes
        if fix:
            self._mend_attachments()
            self._remove_leftovers()
        return True

    def _next(self, sheet: ParsedFile, *, fix: bool) -> RepairedFile:
        if not fix:
            return _as_it_is(sheet)
        return mend(
            sheet,
            base=_common_origin(self._tracker, sheet),
            new_id=self._new_id,
            taken=self._exam.present,
            beside=self._beside,
        )

    def _keep_what_goes(self, *files: RepairedFile, fix: bool) -> None:
        unreadable = [line for file in files for line in file.unreadable]
        unreadable += [wreck.line for wreck in self._exam.wrecks if fix]
        if unreadable:
            replace(self._beside.unreadable, [line + b"\n" for line in unreadable])
        cut = [text for file in files for text in file.cut]
        if cut:
            replace(self._beside.cut, [to_bytes(text) + b"\n" for text in cut])

    def _replace_tracker(self, lock: Lock, lines: Mapping[str, bytes]) -> bool:
        tracker, before = self._tracker, self._exam.opened
        if before is None:
            # Empty where rows were is as wrong as missing, so a crash here hides nothing (T-14a).
            os.close(os.open(tracker.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
            return False
        self._keep(self._exam.sheet)
        tracker.keep_what_was_replaced(before)
        columns = build(tracker.path, b"".join(_joined(lines)))
        pieces = [NewRow(lines[bead_id]) for bead_id in sorted(lines)]
        return tracker.replace(lock, before, [*pieces], columns)

    def _keep(self, sheet: ParsedFile) -> None:
        """The whole file as it is; only the oldest of many such copies ever go (C-9)."""
        if not sheet.original:
            return
        replace(f"{self._copy}{os.path.basename(sheet.path)}", (sheet.original,))
        copies = sorted(name for name in os.listdir(self._backups) if name.startswith(_COPY))
        for name in copies[:-BACKUPS_KEPT]:
            path = os.path.join(self._backups, name)
            if self._tracker.clock.now_ns() - os.stat(path).st_mtime_ns > DAY_NS:
                os.unlink(path)

    def _mend_attachments(self) -> None:
        for path in dict.fromkeys(wreck.path for wreck in self._exam.wrecks):
            numbers = {wreck.number for wreck in self._exam.wrecks if wreck.path == path}
            with open(path, "rb") as file:
                content = file.read()
            lines = [content[start:end] + b"\n" for start, end in spans(content)]
            replace(path, [line for n, line in enumerate(lines, start=1) if n not in numbers])
            what = f"moved, word for word, to {self._beside.unreadable}"
            self.fixes += [
                Fix("corrupt-attachment", f"{path}:{number}", what) for number in sorted(numbers)
            ]

    def _remove_leftovers(self) -> None:
        for path in self._exam.leftovers:
            os.unlink(path)
            self.fixes.append(Fix("leftover", path, "removed"))


def _require_readable(sheet: ParsedFile) -> None:
    for finding in file_findings(sheet):
        if finding.severity == ERROR:
            raise Refused(
                f"{finding.where}: {finding.what}; nothing was brought back",
                hint="the file must be mended in the same step: say --fix too",
            )


def _as_it_is(sheet: ParsedFile) -> RepairedFile:
    return RepairedFile({line.bead_id: sheet.raw(line) for line in sheet.rows}, (), (), fixes=())


def _joined(lines: Mapping[str, bytes]) -> list[bytes]:
    return [lines[bead_id] + b"\n" for bead_id in sorted(lines)]


def _common_origin(tracker: Tracker, sheet: ParsedFile) -> dict[str, Row]:
    """The file that both sides of an unfinished merge began with, if git still has it."""
    root = tracker.project.root
    path = os.path.relpath(sheet.path, root)
    if not sheet.hunks or path.startswith(os.pardir):
        return {}
    try:
        content = git.file_at(root, ":1", f"./{path}")
    except DdxError:
        return {}
    origin = read_sheet(path, content or b"")
    return {line.bead_id: origin.row(line) for line in origin.rows}
