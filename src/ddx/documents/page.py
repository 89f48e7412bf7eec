"""The text of one document: how its bytes are read, its front matter, and what stands below it.

Every step takes time in proportion to the text, whatever the text holds (G-10).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from _blake2 import blake2b

from ddx.base import ERROR, WARNING, Finding, closes, opening, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

LARGEST_FILE = 20_000_000
OURS = ("ddx", "dun")
"""The tables of the front matter that are about the graph."""

_BOM = b"\xef\xbb\xbf"
_TICKS = re.compile(r"`+")
_NOT_NEWLINE = re.compile(r"[^\n]")
_LARGEST = 200_000
_DEEPEST = 20
_FENCE = "---"
_CLOSING = re.compile(r"\n---[ \t]*(?=\n|\Z)")
_LINE = re.compile(r"( *)(?:- +|([A-Za-z_][A-Za-z0-9_-]{0,99}):(?: +|\Z))(.*)")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
"""A text that begins with one of them means something to YAML."""


class BrokenFrontMatter(Exception):
    """What is wrong, and in which line of the file."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


@value
class Page:
    """A document's text taken apart; `Page(text)` is one that is all body."""

    text: str
    front_matter: str = ""
    first_line: int = 1
    """Of the body, in the file."""
    fields: Mapping[str, Any] = {}
    """What the front matter says; nothing where it is broken."""
    problem: BrokenFrontMatter | None = None

    @classmethod
    def read(cls, path: str) -> Page:
        """The page of a file; an empty one if it is no file, gone or too large."""
        try:
            content, _ = read_file(path, most=LARGEST_FILE)
        except OSError:
            return cls("")
        return cls.of(content)

    @classmethod
    def of(cls, content: bytes) -> Page:
        """The page that these bytes are; what is no text in UTF-8 is read as well as can be."""
        return cls.of_text(decoded("", content)[0])

    @classmethod
    def of_text(cls, text: str) -> Page:
        """The page of a text with plain line ends."""
        block, first_line = "", 1
        try:
            block, first_line = split(text)
            fields = read(block) if block else {}
        except BrokenFrontMatter as problem:
            return cls(text, block, first_line, problem=problem)
        return cls(text, block, first_line, fields=fields)

    @property
    def body(self) -> str:
        if self.first_line == 1:
            return self.text
        return self.text.split("\n", self.first_line - 1)[-1]

    @property
    def prose(self) -> str:
        """The body without fenced code and comments, line for line."""
        return prose(self.body)

    @property
    def content_hash(self) -> str:
        """Of what a reader would call the content: a stamp in it does not change it (G-8)."""
        return _hash({"": self.front_matter} if self.problem else self.fields, self.body)

    def lines_of(self, key: str, names: Sequence[str]) -> Iterator[int]:
        """In which line each name stands that a key of the front matter lists."""
        return lines_of(self.front_matter, f"{key}:", names)


def read_file(path: str, *, most: int) -> tuple[bytes, int]:
    """A file's content, nothing of it if there are more than `most` bytes, and its size."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device would never end
            raise OSError(errno.EINVAL, "it is no regular file")
        if status.st_size > most:
            return b"", status.st_size
        parts = []
        while part := os.read(fd, status.st_size + 1):
            parts.append(part)
        return b"".join(parts), status.st_size
    finally:
        os.close(fd)


def decoded(path: str, content: bytes) -> tuple[str, tuple[Finding, ...]]:
    """The text with plain line ends; what had to be mended is said, not hidden."""
    findings: list[Finding] = []

    def find(kind: str, severity: str, place: int, what: str) -> None:
        line = content.count(b"\n", 0, place) + 1
        findings.append(Finding(kind, severity, path, line=line, what=what))

    if content.startswith(_BOM):
        content = content[len(_BOM) :]
        find("bom", WARNING, 0, "begins with a byte order mark")
    is_text = b"\0" not in content
    if b"\r" in content:
        if is_text:
            find("crlf", WARNING, content.index(b"\r"), "has line ends of another system")
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not is_text:
        place = content.index(b"\0")
        find("binary", ERROR, place, "holds NUL bytes: this is no text in UTF-8")
        content = content.replace(b"\0", b" ")
    try:
        return content.decode("utf-8"), tuple(findings)
    except UnicodeDecodeError as problem:
        if is_text:
            find("not-utf-8", ERROR, problem.start, "holds bytes that are not UTF-8")
        return content.decode("utf-8", "replace"), tuple(findings)


def _hash(table: Mapping[str, Any], body: str) -> str:
    bare = dict(table)
    for name in OURS:
        if isinstance(fields := bare.get(name), dict):
            bare[name] = {key: found for key, found in fields.items() if key != "review"}
            if not bare[name]:
                del bare[name]
    content = f"{_in_order(bare)!r}\n{body.rstrip()}\n"
    return blake2b(content.encode(), digest_size=16).hexdigest()


def _in_order(found: Any) -> Any:
    if isinstance(found, str):
        return found
    if isinstance(found, list):
        return [_in_order(item) for item in found]
    return sorted([(key, _in_order(inner)) for key, inner in found.items()])


# -- prose -------------------------------------------------------------------------------------


def prose(body: str) -> str:
    """The text without fenced code and comments, line for line."""
    if "```" not in body and "~~~" not in body and "<!--" not in body:
        return body
    lines = body.split("\n")
    last_closing = body.count("\n", 0, body.rfind("-->")) if "-->" in body else -1
    fence, inside = "", False
    for n, line in enumerate(lines):
        if fence:
            fence = "" if closes(line, fence) else fence
            lines[n] = ""
        elif not inside and (opened := opening(line)):
            fence = opened
            lines[n] = ""
        elif inside or ("<!--" in line and n <= last_closing):
            lines[n], inside = _without_comments(line, inside=inside)
            inside = inside and n < last_closing  # a comment that never ends is none
    return "\n".join(lines)


def _without_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """What is shown of a line, and whether it ends inside a comment."""
    bare = without_code_spans(line) if "`" in line else line
    shown: list[str] = []
    at = 0
    while True:
        if inside:
            end = line.find("-->", at)
            if end < 0:
                return "".join(shown), True
            at = end + 3
        start = bare.find("<!--", at)
        if start < 0:
            return "".join((*shown, line[at:])), False
        shown.append(line[at:start])
        at, inside = start + 2, True


def without_code_spans(block: str) -> str:
    """A run of back-quotes opens a span if a run of the same length follows, which closes it."""
    runs = [match.span() for match in _TICKS.finditer(block)]
    closings: dict[int, list[int]] = {}
    for n in reversed(range(len(runs))):
        closings.setdefault(runs[n][1] - runs[n][0], []).append(n)
    shown: list[str] = []
    at = n = 0
    while n < len(runs):
        start, end = runs[n]
        is_escaped = block[start - 1 : start] == "\\" != block[start - 2 : start - 1]
        later = closings.get(end - start - is_escaped, [])
        while later and later[-1] <= n:
            later.pop()
        if later:
            n = later.pop()
            shown += (block[at:start], _NOT_NEWLINE.sub(" ", block[start : runs[n][1]]))
            at = runs[n][1]
        n += 1
    return "".join((*shown, block[at:]))


# -- front matter ------------------------------------------------------------------------------


def split(text: str) -> tuple[str, int]:
    """The block's text, and the line number of the first line after it; 1 if there is none."""
    opening, newline, _ = text[:1000].partition("\n")
    if opening.rstrip(" \t") != _FENCE or not newline:
        return "", 1
    closing = _CLOSING.search(text, len(opening))
    if closing is None:
        raise BrokenFrontMatter("the front matter is not closed by a --- line", 1)
    block = text[len(opening) + 1 : closing.start() + 1]
    return block, block.count("\n") + 3


def read(block: str) -> dict[str, Any]:
    """The block as nested texts, lists and tables."""
    if len(block) > _LARGEST:
        raise BrokenFrontMatter(f"the front matter is larger than {_LARGEST} characters", 1)
    found = _read_plain(block)
    return _read_yaml(block) if found is None else found


def line_of(block: str, name: str) -> int:
    """In which line of the file a name stands first."""
    return next(lines_of(block, "", [name]))


def lines_of(block: str, key: str, names: Sequence[str]) -> Iterator[int]:
    """In which line of the file each name stands that a key lists, one after the other."""
    at = max(block.find(key), 0)
    line = block.count("\n", 0, at) + 2
    for name in names:
        found = _whole_word(block, name, at)
        if found >= 0:
            line += block.count("\n", at, found)
            at = found
        yield line


def _whole_word(block: str, word: str, start: int) -> int:
    """TD-1 does not stand in TD-10."""
    at = block.find(word, start)
    while at >= 0:
        around = block[at - 1 : at] if at else "", block[at + len(word) : at + len(word) + 1]
        if not any(mark.isalnum() or mark in ("-", "_") for mark in around):
            return at
        at = block.find(word, at + 1)
    return -1


def _read_plain(block: str) -> dict[str, Any] | None:
    """Tables, texts and lists of texts; None where the block holds more, or what YAML would not."""
    if not block.replace("\n", "").isprintable():
        return None
    top: dict[str, Any] = {}
    tables = [(0, top)]
    table, name, key_indent, item_indent = top, "", -1, -1
    for line in block.split("\n"):
        found = _LINE.match(line)
        if found is None:
            bare = line.strip(" ")
            if bare and bare[0] != "#":
                return None
            continue
        spaces, key, rest = found.groups()
        indent, rest = len(spaces), rest.rstrip(" ")
        if key is None:
            text = _text(rest)
            if text is None or key_indent < 0 or indent < key_indent:
                return None
            if item_indent < 0:
                item_indent = indent
                table[name] = []
            if indent != item_indent:
                return None
            table[name].append(text)
            continue
        if -1 < key_indent < indent and item_indent < 0:
            inner: dict[str, Any] = {}
            table[name] = inner
            tables.append((indent, inner))
        while tables[-1][0] > indent:
            tables.pop()
        table, name, item_indent = tables[-1][1], key, -1
        if tables[-1][0] != indent or name in table or len(tables) > _DEEPEST:
            return None
        key_indent = -1 if rest else indent
        value = _texts(rest) if rest[:1] == "[" else _text(rest)
        if value is None:
            return None
        table[name] = value
    return top


def _text(given: str) -> str | None:
    """A text as it stands on one line; None where YAML has to say what it means."""
    mark = given[:1]
    if mark in ("'", '"'):
        inner = given[1:-1]
        is_plain = given[-1] == mark and len(given) > 1 and mark not in inner and "\\" not in inner
        return inner if is_plain else None
    if mark in _INDICATORS or ": " in given or " #" in given or given[-1:] == ":":
        return None
    return given


def _texts(given: str) -> list[str] | None:
    """`[A, B]`, if all in it is plain."""
    inner = given[1:-1].strip(" ")
    if given[-1] != "]" or len(given) < 2 or any(mark in inner for mark in "[]{}:"):
        return None
    items = [_text(part.strip(" ")) for part in inner.split(",")] if inner else []
    return None if None in items or "" in items else [item for item in items if item is not None]


def _read_yaml(block: str) -> dict[str, Any]:
    from ddx.base import BrokenYaml, read_texts

    try:
        found = read_texts(block)
    except BrokenYaml as problem:
        line = problem.line + 1 if problem.line else 1
        raise BrokenFrontMatter(f"broken YAML: {problem.what}", line) from None
    if found is None or found == "":
        return {}
    if not isinstance(found, dict):
        raise BrokenFrontMatter("the front matter is not a table of keys", 2)
    return found
