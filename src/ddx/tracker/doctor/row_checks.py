"""What is wrong with a file, with a row, and with the file beside what we kept of it. Pure."""

from __future__ import annotations

from ddx.base import ERROR, INFO, LAST, WARNING, Finding, cut, listed, sort_key, value
from ddx.tracker.changeset import LARGEST_TEXT
from ddx.tracker.criteria import judge
from ddx.tracker.doctor.damaged_file import COMMON, spans
from ddx.tracker.doctor.link_checks import AT_WORK
from ddx.tracker.publication import changed_fields
from ddx.tracker.row import (
    RUNNER,
    Row,
    decode,
    events_of,
    holder_of,
    is_eligible,
    links_of,
    revision_of,
    status_of,
    text_of,
    type_of,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from ddx.tracker.doctor.damaged_file import FileLine, ParsedFile

EVENT_TEXTS = ("body", "summary")
_LONGEST_PID = 9
MOVED_OUT = "moves the line, word for word, to .ddx/backups"
_ADD_AGAIN = (
    "git or an editor replaced the file; unless you meant that, "
    "the doctor's --bring-back adds it again"
)


@value
class RowContext:
    """What a row is judged by besides itself."""

    known: Collection[str]
    """The ids of every bead, archived ones too."""
    machine: str
    is_alive: Callable[[int, str], bool]
    """Does this process live, and has it this start mark?"""
    has_attachment: Callable[[str], bool]
    default_checks: tuple[str, ...] = ()


@value
class BackupCopy:
    """A version of the tracker that we kept."""

    path: str
    content: bytes
    is_last: bool
    """It is what we wrote last, and another program has put its file in that one's place."""


@value
class BackupRow:
    """A row of a copy."""

    copy: BackupCopy
    line: bytes
    row: Row


def fixable(kind: str, where: str, what: str, *, fix: str, severity: str = ERROR) -> Finding:
    """A finding that the doctor's own --fix mends; `fix` says how."""
    cure = f"the doctor's --fix {fix}"
    return Finding(kind, severity, where, what=what, cure=cure, fixable=True)


# One file


def file_findings(sheet: ParsedFile) -> Iterator[Finding]:
    """What keeps commands from reading the file (T-11), in the order of its lines."""
    yield from _form_findings(sheet)
    for hunk in sheet.hunks:
        what = f"git left a merge unfinished here, up to line {hunk.last}"
        fix = "joins both sides bead by bead, and no side is lost"
        yield fixable("conflict-markers", f"{sheet.path}:{hunk.first}", what, fix=fix)
    for number, lines in _by_number(sheet).items():
        saved = [line.bead_id for line in lines if line.bead_id]
        fix = f"gives {listed(saved)} a line of its own" if saved else MOVED_OUT
        yield fixable("corrupt-line", f"{sheet.path}:{number}", lines[-1].problem, fix=fix)
    yield from _duplicates(sheet)


def _form_findings(sheet: ParsedFile) -> Iterator[Finding]:
    if sheet.is_utf16:
        what = "the file was saved as UTF-16 instead of UTF-8"
        yield fixable("byte-order-mark", f"{sheet.path}:1", what, fix="writes it as UTF-8")
    for number in sheet.marked_lines:
        what = "the line begins with a byte order mark"
        yield fixable("byte-order-mark", f"{sheet.path}:{number}", what, fix="takes it away")
    if sheet.dos_lines:
        what = f"{sheet.dos_lines} of its lines end in CR LF, so git shows them all as changed"
        fix = "writes plain newlines"
        yield fixable("line-endings", sheet.path, what, fix=fix, severity=WARNING)


def _by_number(sheet: ParsedFile) -> dict[int, list[FileLine]]:
    found: dict[int, list[FileLine]] = {}
    for line in sheet.lines:
        if line.problem:
            found.setdefault(line.number, []).append(line)
    return found


def _duplicates(sheet: ParsedFile) -> Iterator[Finding]:
    """Only outside of conflicts: inside of one both sides have their own row."""
    first: dict[str, FileLine] = {}
    for line in sheet.rows:
        if line.side != COMMON or first.setdefault(line.bead_id, line) is line:
            continue
        other = first[line.bead_id]
        fields = changed_fields(sheet.row(other), sheet.row(line))
        how = f"with another {listed(fields)}" if fields else "with the same row"
        what = f"the id {line.bead_id!r} stands in line {other.number} too, {how}"
        fix = "joins rows of one bead, and gives another bead an id of its own"
        yield fixable("duplicate-id", f"{sheet.path}:{line.number}", what, fix=fix)


# One row


def row_findings(row: Row, around: RowContext) -> Iterator[Finding]:
    bead_id = str(row["id"])
    if is_orphaned(row, machine=around.machine, is_alive=around.is_alive):
        what = f"is held by {holder_of(row)}, but that process is gone"
        cure = f"set it free: ddx bead update {typed(bead_id)} --unclaim"
        yield Finding("orphaned-claim", WARNING, bead_id, what=what, cure=cure)
    yield from _oversized(row)
    lost = [link for link in links_of(row, "superseded-by") if link not in around.known]
    if lost and status_of(row) in AT_WORK:
        what = f"is superseded by {listed(lost)}, which exists nowhere; so nobody does it"
        cure = f"name what replaces it: ddx bead supersede {typed(bead_id)} --by ... --reason ..."
        yield Finding("dangling-edge", WARNING, bead_id, what=what, cure=cure)
    if text_of(row, "events_attachment") and not around.has_attachment(bead_id):
        yield missing_attachment(bead_id, "the row says that its events are kept beside it")
    yield from _without_criteria(row, around)


def is_orphaned(row: Row, *, machine: str, is_alive: Callable[[int, str], bool]) -> bool:
    """A runner's claim (T-24) from this machine whose process is dead, or another by now (D-5)."""
    pid = text_of(row, "claimed-pid").strip()
    return (
        status_of(row) == "in_progress"
        and text_of(row, "owner") == RUNNER
        and text_of(row, "claimed-machine") == machine
        and pid.isascii()
        and pid.isdigit()
        and len(pid) <= _LONGEST_PID
        and not is_alive(int(pid), text_of(row, "claimed-pid-start"))
    )


def missing_attachment(bead_id: str, why: str) -> Finding:
    what = f"its folder in .ddx/attachments has no events.jsonl, but {why}"
    cure = "bring that file back from git or from a copy of the repository"
    return Finding("missing-attachment", WARNING, bead_id, what=what, cure=cure)


def is_oversized(text: object) -> bool:
    return isinstance(text, str) and (
        len(text) > LARGEST_TEXT
        or (
            len(text) > LARGEST_TEXT // 4
            and len(text.encode("utf-8", "surrogatepass")) > LARGEST_TEXT
        )
    )


def _oversized(row: Row) -> Iterator[Finding]:
    bead_id = str(row["id"])
    for place, event in enumerate(events_of(row), start=1):
        for key in EVENT_TEXTS:
            if is_oversized(event.get(key)):
                what = f"the {key} of its event {place} has more than 64 KiB (T-6)"
                fix = "keeps head and tail, and the whole text in .ddx/backups"
                yield fixable("oversized-field", bead_id, what, fix=fix, severity=WARNING)
    for key, text in row.items():
        if is_oversized(text):
            what = f"its {cut(key, 40)} has {len(text):,} characters, and every reader reads them"
            cure = f"put the text in a document and name that: ddx bead update {typed(bead_id)} ..."
            yield Finding("oversized-field", INFO, bead_id, what=what, cure=cure)


def _without_criteria(row: Row, around: RowContext) -> Iterator[Finding]:
    """Only where an agent could be handed the bead."""
    if (
        status_of(row) not in AT_WORK
        or type_of(row) == "epic"
        or not is_eligible(row)
        or links_of(row, "superseded-by")
    ):
        return
    for problem in judge(row, default_checks=around.default_checks).problems[:1]:
        place = f"acceptance line {problem.line}: " if problem.line else ""
        what = f"{place}{problem.why}, so no agent is handed it (T-17)"
        yield Finding("no-success-criteria", WARNING, str(row["id"]), what=what, cure=problem.fix)


# The file beside what we kept of it (T-14a)


def unlike(copies: Sequence[BackupCopy], sheet: ParsedFile) -> dict[str, BackupRow]:
    """Rows of our copies that do not stand in the file word for word, each from the newest."""
    there = {revision_of(sheet.raw(line)) for line in sheet.rows}
    found: dict[str, BackupRow] = {}
    for copy in copies:
        for start, end in spans(copy.content):
            line = copy.content[start:end].rstrip(b"\r")
            if not line.strip() or revision_of(line) in there:
                continue
            try:
                row = decode(line)
            except ValueError:
                continue  # a copy of a file that was broken already
            found.setdefault(str(row["id"]), BackupRow(copy, line, row))
    return found


def lost_rows(kept: dict[str, BackupRow], present: Collection[str]) -> dict[str, BackupRow]:
    """Those whose bead is in no file any more."""
    return {bead_id: item for bead_id, item in kept.items() if bead_id not in present}


def kept_findings(
    kept: dict[str, BackupRow], sheet: ParsedFile, present: Collection[str]
) -> Iterator[Finding]:
    """What another program took away when it replaced the file, and what it changed."""
    for bead_id, item in lost_rows(kept, present).items():
        title = cut(text_of(item.row, "title"), 60)
        what = f"{title!r} is in no file any more, but in our copy {item.copy.path}"
        yield Finding("lost-row", ERROR, bead_id, what=what, cure=_ADD_AGAIN)
    versions: dict[str, list[Row]] = {}
    for line in sheet.rows:
        if line.bead_id in kept:
            versions.setdefault(line.bead_id, []).append(sheet.row(line))
    for bead_id, rows in versions.items():
        finding = _changed(kept[bead_id], rows)
        if finding:
            yield finding


def _changed(kept: BackupRow, rows: list[Row]) -> Finding | None:
    bead_id = str(kept.row["id"])
    fields = listed(changed_fields(kept.row, rows[0]) or ["updated_at"])
    ours = sort_key(text_of(kept.row, "updated_at"))
    cure = f"compare {kept.copy.path} with: ddx bead show {typed(bead_id)}"
    if ours != LAST and all(sort_key(text_of(row, "updated_at")) < ours for row in rows):
        what = f"is older than our copy {kept.copy.path} and has another {fields}"
        return Finding("rewound-row", WARNING, bead_id, what=what, cure=cure)
    if kept.copy.is_last:
        what = f"another program changed its {fields} since our last write"
        return Finding("changed-row", INFO, bead_id, what=what, cure=cure)
    return None
