"""A tracker file as far as it can be read: rows, unreadable lines, git's markers (T-11). Pure."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from json import JSONDecodeError, JSONDecoder

from ddx.base import value
from ddx.tracker.row import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.tracker.row import Row

OURS, BASE, THEIRS = "ours", "base", "theirs"
COMMON = ""
"""The side of a line outside of every conflict: both sides have it."""

_MARKERS = tuple(mark * 7 for mark in (b"<", b"|", b"=", b">"))
_JSON = JSONDecoder()


@value
class FileLine:
    """One row, or one line that holds none; `problem` says what keeps commands from reading it.

    A row with a problem can be saved: it shares its line with others, or has several lines.
    """

    number: int
    start: int
    end: int
    bead_id: str = ""
    problem: str = ""
    hunk: int = -1
    side: str = COMMON


@value
class ConflictHunk:
    """One conflict that git left, from its first to its last marker.

    A sound one has both its sides, whole, and nothing else: only then may a row that one side
    lacks count as removed by it.
    """

    first: int
    last: int
    sound: bool


@value
class ParsedFile:
    """What one file holds, line by line."""

    path: str
    content: bytes
    """In UTF-8; `original` is what stands in the file."""
    original: bytes
    lines: tuple[FileLine, ...]
    hunks: tuple[ConflictHunk, ...]
    marked_lines: tuple[int, ...]
    """Lines that begin with a byte order mark."""
    dos_lines: int
    """How many lines end in CR LF."""

    @property
    def rows(self) -> Iterator[FileLine]:
        return (line for line in self.lines if line.bead_id)

    @property
    def is_utf16(self) -> bool:
        return self.content is not self.original

    def raw(self, line: FileLine) -> bytes:
        return self.content[line.start : line.end]

    def row(self, line: FileLine) -> Row:
        return decode(self.raw(line))

    def ids(self) -> set[str]:
        return {line.bead_id for line in self.rows}


def read_sheet(path: str, original: bytes) -> ParsedFile:
    """Whatever the bytes are, everything in them has its place here."""
    content = _as_utf8(original)
    markers = _Markers()
    found: list[FileLine] = []
    unreadable: list[FileLine] = []
    marked: list[int] = []
    dos = number = 0
    for number, (start, end) in enumerate(spans(content), start=1):
        if content.startswith(BOM_UTF8, start):
            found += _saved(content, unreadable)
            unreadable.clear()
            marked.append(number)
            start += len(BOM_UTF8)
        line = content[start:end]
        dos += line.endswith(b"\r")
        hunk, side = markers.place()
        if line.startswith(_MARKERS):
            markers.meet(line[:1], number)
            row_id, problem = "", ""
        else:
            row_id, problem = _read(line)
        if problem:
            unreadable.append(FileLine(number, start, end, problem=problem, hunk=hunk, side=side))
            continue
        found += _saved(content, unreadable)
        unreadable.clear()
        if row_id:
            end -= line.endswith(b"\r")
            found.append(FileLine(number, start, end, bead_id=row_id, hunk=hunk, side=side))
    found += _saved(content, unreadable)
    hunks = markers.hunks_up_to(number, unsound={line.hunk for line in found if line.problem})
    return ParsedFile(
        path=path,
        content=content,
        original=original,
        lines=tuple(found),
        hunks=hunks,
        marked_lines=tuple(marked),
        dos_lines=dos,
    )


def spans(content: bytes) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, without its newline."""
    start = 0
    while start < len(content):
        newline = content.find(b"\n", start)
        end = len(content) if newline < 0 else newline
        yield start, end
        start = end + 1


def _as_utf8(original: bytes) -> bytes:
    """Some editors and shells save in UTF-16, and mark it."""
    if original.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            return original.decode("utf-16").encode("utf-8")
        except UnicodeError:
            return original
    return original


def _read(line: bytes) -> tuple[str, str]:
    """The id of the row in a line, or why there is none; neither in a blank line."""
    if not line.strip():
        return "", ""
    try:
        return str(decode(line)["id"]), ""
    except ValueError as problem:
        return "", in_words(problem)


def in_words(problem: ValueError) -> str:
    """Why a line cannot be read; it has no lines of its own to count."""
    if isinstance(problem, JSONDecodeError):
        return f"not JSON: {problem.msg.removesuffix(' at')} at character {problem.pos + 1}"
    return str(problem)


def _saved(content: bytes, unreadable: list[FileLine]) -> list[FileLine]:
    """Lines that nobody could read one by one, with the rows among them that can be saved.

    Files put end to end leave two rows on one line, an editor that formats leaves one on many.
    """
    if not unreadable:
        return []
    why = {line.number: line.problem for line in unreadable}
    first = unreadable[0]
    text = content[first.start : unreadable[-1].end].decode("utf-8", "surrogateescape")
    hunk, side = first.hunk, first.side
    found: list[FileLine] = []
    number, place, at = first.number, first.start, _next_mark(text, 0)
    place += at
    while at < len(text):
        bead_id, end = _row_at(text, at)
        after = place + len(_bytes(text[at:end]))
        lines = text.count("\n", at, end)
        problem = (
            "its row stands on several lines" if lines else "it shares its line with something else"
        )
        if not bead_id:
            problem = why[number]
        line = FileLine(
            number, place, after, bead_id=bead_id, problem=problem, hunk=hunk, side=side
        )
        found.append(line)
        at = _next_mark(text, end)
        number += lines + text.count("\n", end, at)
        place = after + at - end
    return found


def _row_at(text: str, at: int) -> tuple[str, int]:
    """The id of the row that begins here and where it ends; no id: where the line ends."""
    if text[at] == "{":
        try:
            _, end = _JSON.raw_decode(text, at)
            return str(decode(_bytes(text[at:end]))["id"]), end
        except (ValueError, RecursionError):
            pass  # then the line is moved out as it is
    newline = text.find("\n", at)
    return "", len(text) if newline < 0 else newline


def _next_mark(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class _Markers:
    """Follows git's markers down a file; a conflict inside another one stays on that one's side."""

    def __init__(self) -> None:
        self._hunks: list[ConflictHunk] = []
        self._depth = 0
        self._first = 0
        self._side = COMMON
        self._sound = True

    def place(self) -> tuple[int, str]:
        """The conflict and the side of it that the next row belongs to."""
        return (len(self._hunks), self._side) if self._depth else (-1, COMMON)

    def meet(self, mark: bytes, number: int) -> None:
        if not self._depth and mark != b"<":
            self._hunks.append(ConflictHunk(number, number, sound=False))
        elif not self._depth:
            self._depth, self._first, self._side, self._sound = 1, number, OURS, True
        elif mark == b"<":
            self._depth, self._sound = self._depth + 1, False
        elif mark == b">":
            self._depth -= 1
            if not self._depth:
                self._sound = self._sound and self._side == THEIRS
                self._hunks.append(ConflictHunk(self._first, number, self._sound))
        elif self._depth == 1:
            expected = (OURS,) if mark == b"|" else (OURS, BASE)
            self._sound = self._sound and self._side in expected
            self._side = BASE if mark == b"|" else THEIRS

    def hunks_up_to(self, last: int, *, unsound: set[int]) -> tuple[ConflictHunk, ...]:
        if self._depth:
            self._hunks.append(ConflictHunk(self._first, last, sound=False))
        return tuple(
            ConflictHunk(hunk.first, hunk.last, hunk.sound and n not in unsound)
            for n, hunk in enumerate(self._hunks)
        )
