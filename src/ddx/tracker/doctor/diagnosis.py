"""The doctor's look at a tracker: its files as they are, read under the lock, and what is wrong.

A broken file stops every other command (D-15); this one reads the bytes itself.
"""

from __future__ import annotations

import os

from ddx.base import (
    ERROR,
    INFO,
    SEVERITIES,
    WARNING,
    DdxError,
    Finding,
    NotFound,
    is_alive,
    loads,
    value,
)
from ddx.git import commands as git
from ddx.tracker.changeset import attachment_name
from ddx.tracker.columns import Columns
from ddx.tracker.doctor.damaged_file import in_words, read_sheet, spans
from ddx.tracker.doctor.link_checks import link_findings
from ddx.tracker.doctor.row_checks import (
    MOVED_OUT,
    BackupCopy,
    RowContext,
    file_findings,
    fixable,
    kept_findings,
    lost_rows,
    missing_attachment,
    row_findings,
    unlike,
)
from ddx.tracker.publication import NO_HARD_LINKS
from ddx.tracker.setup import DRIVER
from ddx.tracker.snapshot import Snapshot, build, read_all, settled, wait_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.tracker.doctor.damaged_file import FileLine, ParsedFile
    from ddx.tracker.doctor.row_checks import BackupRow
    from ddx.tracker.tracker import Tracker

_PATIENCE = 100  # pauses of 10 ms for git to put a file back
_EVENTS = "events.jsonl"
_TEMPORARY = ".tmp-"


@value
class UnreadableLine:
    """A line of an attachment that nobody can read."""

    path: str
    number: int
    line: bytes
    problem: str


@value
class Diagnosis:
    """All that the doctor looks at."""

    sheet: ParsedFile
    archive: ParsedFile
    opened: Snapshot | None
    """The very file that `sheet` was read from; None: there is none."""
    copies: tuple[BackupCopy, ...]
    """Versions that we kept, the newest first."""
    wrecks: tuple[UnreadableLine, ...]
    attachments_gone: tuple[str, ...]
    """Folders whose events git knows and nobody else."""
    leftovers: tuple[str, ...]
    has_hard_links: bool
    lacks_merge_driver: bool

    @property
    def present(self) -> set[str]:
        return self.sheet.ids() | self.archive.ids()

    def kept(self) -> dict[str, BackupRow]:
        return unlike(self.copies, self.sheet)

    def lost(self) -> dict[str, BackupRow]:
        """Rows to bring back; of a tracker that is gone, those of the newest copy."""
        copies = self.copies if self.sheet.ids() else self.copies[:1]
        return lost_rows(unlike(copies, self.sheet), self.present)

    @property
    def is_gone(self) -> bool:
        """Not one row left of a tracker that had some (T-14a)."""
        return not self.sheet.ids() and bool(self.lost())


def examine(
    tracker: Tracker, *, machine: str, default_checks: tuple[str, ...]
) -> tuple[Finding, ...]:
    """Everything that is wrong, the gravest first; nothing is changed (T-20)."""
    with tracker.lock(to_look=True):
        exam = read_exam(tracker)
    around = RowContext(
        exam.present,
        machine,
        is_alive,
        has_attachment=lambda bead_id: os.path.exists(tracker.attachments.path(bead_id)),
        default_checks=default_checks,
    )
    found = [*_of_files(exam, tracker), *_of_rows(exam, around), *_of_surroundings(exam, tracker)]
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))


def require_tracker(tracker: Tracker) -> None:
    if not os.path.lexists(tracker.path) and not (
        tracker.lineage.has_rows() or tracker.lineage.backups()
    ):
        raise NotFound(
            f"{tracker.project.root} has no tracker yet",
            hint="make one: helix init; for the queue alone: ddx bead init",
        )


# Findings


def _of_files(exam: Diagnosis, tracker: Tracker) -> Iterator[Finding]:
    yield from file_findings(exam.sheet)
    yield from file_findings(exam.archive)
    if exam.is_gone:
        state = "holds no bead any more" if exam.opened else "is missing"
        what = f"the file {state}, but our copy {exam.copies[0].path} has {len(exam.lost())} beads"
        cure = "the doctor's --bring-back puts them in place again"
        yield Finding("missing-tracker", ERROR, tracker.path, what=what, cure=cure)
    else:
        yield from kept_findings(exam.kept(), exam.sheet, exam.present)
    for wreck in exam.wrecks:
        where = f"{wreck.path}:{wreck.number}"
        yield fixable("corrupt-attachment", where, wreck.problem, fix=MOVED_OUT)


def _of_rows(exam: Diagnosis, around: RowContext) -> Iterator[Finding]:
    active, archived = _columns(exam.sheet), _columns(exam.archive)
    yield from link_findings(active, archived)
    for sheet in (exam.sheet, exam.archive):
        for line in _first_rows(sheet):
            yield from row_findings(sheet.row(line), around)
    by_folder = {attachment_name(bead_id): bead_id for bead_id in around.known}
    for name in exam.attachments_gone:
        yield missing_attachment(by_folder.get(name, name), "git has one")
    for bead_id in active.ids:
        if bead_id in archived.place:
            what = f"stands in {exam.archive.path} too; the active row counts"
            cure = "nothing to do: archiving it again replaces the older row"
            yield Finding("archived-too", INFO, bead_id, what=what, cure=cure)


def _of_surroundings(exam: Diagnosis, tracker: Tracker) -> Iterator[Finding]:
    if exam.lacks_merge_driver:
        yield Finding(
            "merge-driver",
            WARNING,
            tracker.project.ddx(".gitattributes"),
            what="names our merge driver, but this clone's git does not know it: "
            "two branches that both changed the tracker would leave conflict markers",
            cure="tell git: ddx bead init",
        )
    if not exam.has_hard_links:
        yield Finding(
            "no-hard-links",
            INFO,
            tracker.project.ddx("state"),
            what="this file system has no hard links, so we cannot notice that git or an editor "
            "replaced the tracker",
            cure="commit the tracker often: ddx bead commit",
        )
    for path in exam.leftovers:
        what = "a writer that was killed left its temporary file; the tracker itself is whole"
        yield fixable("leftover", path, what, fix="removes it", severity=INFO)


def _first_rows(sheet: ParsedFile) -> list[FileLine]:
    """One row an id, so that a file that is not mended yet can be judged."""
    found: dict[str, FileLine] = {}
    for line in sheet.rows:
        found.setdefault(line.bead_id, line)
    return list(found.values())


def _columns(sheet: ParsedFile) -> Columns:
    lines = (sheet.raw(line).replace(b"\n", b" ") for line in _first_rows(sheet))
    return build(sheet.path, b"\n".join(lines))


# Reading; the caller holds the lock


def read_exam(tracker: Tracker) -> Diagnosis:
    wait_until(
        lambda: _has_content(tracker.path) or not tracker.lineage.has_rows(),
        pause=tracker.clock.sleep,
        tries=_PATIENCE,
    )
    opened = _open(tracker)
    inode = opened.identity.inode if opened else 0
    if opened:
        tracker.lineage.settle(inode)
    content = read_all(opened.fd, opened.identity.size) if opened else b""
    return Diagnosis(
        sheet=read_sheet(tracker.path, content),
        archive=read_sheet(tracker.archive_path, _content(tracker.archive_path)),
        opened=opened,
        copies=tuple(_copies(tracker, inode)),
        wrecks=tuple(_wrecks(tracker.project.ddx("attachments"))),
        attachments_gone=tuple(_attachments_gone(tracker)),
        leftovers=tuple(_leftovers(tracker)),
        has_hard_links=_has_hard_links(tracker.lock(to_look=True).path),
        lacks_merge_driver=_lacks_merge_driver(tracker),
    )


def _open(tracker: Tracker) -> Snapshot | None:
    """The live file once nobody is in the middle of writing it, without reading it as rows."""
    try:
        fd = os.open(tracker.path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fd, identity = settled(tracker.path, fd, clock=tracker.clock)
    return Snapshot(tracker.path, fd, identity, Columns.of(()))


def _copies(tracker: Tracker, live: int) -> Iterator[BackupCopy]:
    lineage = tracker.lineage
    seen = {live}
    for path in (lineage.last, lineage.prev, *reversed(lineage.backups())):
        try:
            with open(path, "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                content = b"" if inode in seen else file.read()
        except FileNotFoundError:
            continue
        seen.add(inode)
        if content.strip():
            yield BackupCopy(path, content, is_last=path == lineage.last)


def _wrecks(folder: str) -> Iterator[UnreadableLine]:
    for name in _listed(folder):
        path = os.path.join(folder, name, _EVENTS)
        content = _content(path)
        for number, (start, end) in enumerate(spans(content), start=1):
            line = content[start:end]
            try:
                if line.strip() and not isinstance(loads(line.decode("utf-8")), dict):
                    yield UnreadableLine(path, number, line, problem="not a JSON object")
            except ValueError as problem:
                yield UnreadableLine(path, number, line, problem=in_words(problem))


def _attachments_gone(tracker: Tracker) -> Iterator[str]:
    folder = tracker.project.ddx("attachments")
    try:
        changed = git.changed_paths(tracker.project.root, [folder])
    except DdxError:
        return  # no git here, or none that answers
    for path in changed:
        name = os.path.basename(os.path.dirname(path))
        there = os.path.exists(os.path.join(folder, name, _EVENTS))
        if os.path.basename(path) == _EVENTS and not there:
            yield name


def _leftovers(tracker: Tracker) -> Iterator[str]:
    """Temporary files whose writer is dead; readers write the cache without our lock."""
    attachments = tracker.project.ddx("attachments")
    folders = [tracker.project.ddx(name) for name in ("", "backups", "cache", "state")]
    folders += [os.path.join(attachments, name) for name in _listed(attachments)]
    for folder in folders:
        for name in _listed(folder):
            _, mark, rest = name.partition(_TEMPORARY)
            pid = rest.partition("-")[0]
            if mark and pid.isdigit() and len(pid) < 10 and not is_alive(int(pid)):
                yield os.path.join(folder, name)


def _has_hard_links(path: str) -> bool:
    probe = f"{path}{_TEMPORARY}{os.getpid()}-probe"
    try:
        os.link(path, probe)
        os.unlink(probe)
    except OSError as problem:
        return problem.errno not in NO_HARD_LINKS
    return True


def _lacks_merge_driver(tracker: Tracker) -> bool:
    root = tracker.project.root
    attribute = DRIVER.replace(".", "=").encode()
    places = (tracker.project.ddx(".gitattributes"), os.path.join(root, ".gitattributes"))
    return (
        any(attribute in _content(path) for path in places)
        and bool(git.common_folder(root))
        and not git.get_config(root, f"{DRIVER}.driver")
    )


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
