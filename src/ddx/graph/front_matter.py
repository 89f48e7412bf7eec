"""The block between `---` lines at the head of a document (G-1).

Nearly all of them are plain `key: value` lines, read here in a few microseconds; whatever is more
than that goes to a full YAML reader. Both give texts only, so that `id: 007` stays 007.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_LARGEST = 200_000
_DEEPEST = 20
_MOST_ALIASES = 10
"""With ten of them a block cannot unfold to more than forty times its size (G-10)."""

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
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _require_small(yaml.parse(block, loader))
        found = yaml.load(block, loader)  # noqa: S506
    except yaml.reader.ReaderError as problem:
        line = block.encode()[: problem.position].count(b"\n") + 2
        raise BrokenFrontMatter("broken YAML: it holds a control character", line) from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        if mark and mark.line >= block.count("\n"):  # at the end it was missed, not made
            mark = problem.context_mark or mark
        what = problem.problem or "cannot be read"
        raise BrokenFrontMatter(f"broken YAML: {what}", mark.line + 2 if mark else 1) from None
    if found is None or found == "":
        return {}
    if not isinstance(found, dict):
        raise BrokenFrontMatter("the front matter is not a table of keys", 2)
    return found


def _require_small(events: Iterator[Any]) -> None:
    """Before anything is built: YAML's own reader goes as deep as it is told, and crashes."""
    from yaml import events as kinds

    depth = aliases = 0
    for event in events:
        if isinstance(event, kinds.CollectionStartEvent):
            depth += 1
        elif isinstance(event, kinds.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, kinds.AliasEvent):
            aliases += 1
        if depth > _DEEPEST or aliases > _MOST_ALIASES:
            what = "nested too deeply" if depth > _DEEPEST else "full of aliases"
            raise BrokenFrontMatter(f"the front matter is {what}", event.start_mark.line + 2)
