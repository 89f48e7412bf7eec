"""From a text to the words worth looking for, and from a match to the line worth showing. Pure."""

from __future__ import annotations

import re
from unicodedata import normalize

from ddx.base import changed, value
from ddx.documents.model import UNKNOWN, numbered_id, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.documents.graph import Graph

MOST_WORDS = 200
"""Of a longer text only the first different words count."""
OPEN, CLOSE = "\x01", "\x02"
"""Around a match; documents are indexed without these characters."""
_LONGEST_WORD = 100
# Joined words stay together: FEAT-001, rate-limit and depends_on are looked for as they stand.
_WORD = re.compile(r"[^\W_]+(?:[-._'\u2019][^\W_]+)*")
_JOINT = re.compile(r"[-._'\u2019]")
_MATCH = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}?")
_STOP_WORDS = """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers him his how i if in into is it its itself just let me more most
    must my no nor not now of off on once one only or other our out over own same shall she should
    so some such than that the their them then there these they this those through to too under
    until up us very was we were what when where which while who whom why will with would you your
    add change changed changes make need needs new use used using want wants
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@value
class Excerpt:
    """A line of a document and where the matches stand in it, as pairs of start and end."""

    line: int
    text: str
    marks: tuple[tuple[int, int], ...] = ()


def words_of(text: str) -> tuple[str, ...]:
    """Each word once, whatever its case; marks and operators of any language mean nothing."""
    found: dict[str, str] = {}
    for match in _WORD.finditer(normalize("NFC", text)):
        if len(match[0]) <= _LONGEST_WORD:
            found.setdefault(match[0].casefold(), match[0])
        if len(found) == MOST_WORDS:
            break
    return tuple(found.values())


def terms_of(text: str, *, apart: bool = False) -> tuple[str, ...]:
    """The words that say what a text is about.

    `apart`: in small letters and with joined words taken apart; a single letter says nothing.
    """
    terms = tuple(word for word in words_of(text) if word.casefold() not in STOP_WORDS)
    if not apart:
        return terms
    parts = (part.casefold() for word in terms for part in _JOINT.split(word))
    return tuple(dict.fromkeys(it for it in parts if len(it) > 1 and it not in STOP_WORDS))


def best_line(marked: str) -> Excerpt:
    """The line with the most different matches: prose before headings, then the first."""
    best, best_rank = None, (0, False)
    for number, line in enumerate(marked.split("\n"), start=1):
        if OPEN not in line:
            continue
        different = len({found[1].casefold() for found in _MATCH.finditer(line)})
        rank = (different, not line.lstrip(OPEN).startswith("#"))
        if rank > best_rank:
            best, best_rank = Excerpt(number, line), rank
    return _unmarked(best) if best else _first_line_of(marked)


def shortened(excerpt: Excerpt, width: int) -> Excerpt:
    """At most `width` characters, the first match among them; what was cut is marked."""
    text = excerpt.text
    if len(text) <= width or width < 3:
        return excerpt
    first, end = excerpt.marks[0] if excerpt.marks else (0, 0)
    start = max(0, min(first - (width - (end - first)) // 2, len(text) - width))
    before = "…" if start else ""
    after = "…" if start + width < len(text) else ""
    kept = range(start + len(before), start + width - len(after))
    marks = tuple(
        (max(left, kept.start) - start, min(right, kept.stop) - start)
        for left, right in excerpt.marks
        if right > kept.start and left < kept.stop
    )
    return changed(excerpt, text=f"{before}{text[kept.start : kept.stop]}{after}", marks=marks)


def _unmarked(marked: Excerpt) -> Excerpt:
    """The bare text of a line and the places of its matches."""
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    length = position = 0
    line = marked.text.strip()
    for match in _MATCH.finditer(line):
        before = line[position : match.start()].replace(CLOSE, "")
        parts += (before, match[1])
        start = length + len(before)
        length = start + len(match[1])
        marks.append((start, length))
        position = match.end()
    parts.append(line[position:].replace(CLOSE, ""))
    return Excerpt(marked.line, "".join(parts), tuple(marks))


def _first_line_of(text: str) -> Excerpt:
    """Where the match is in the title alone: the first line that says something."""
    lines = enumerate(text.split("\n"), start=1)
    return next((Excerpt(n, line.strip()) for n, line in lines if line.strip()), Excerpt(1, ""))


# An id, a path or a name in brackets; a plain word is no name, or `architecture` would be one.
_NAME = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]|[A-Za-z][\w.]*(?:[-/][\w.-]+)+")


def named_in(graph: Graph, text: str) -> tuple[dict[int, str], str]:
    """By node, the name it goes by in the text; and the text without those names."""
    found: dict[int, str] = {}
    rest: list[str] = []
    position = 0
    for match in _NAME.finditer(text):
        nodes = {n: name for name in _names(match) for n in _nodes(graph, name)}
        if nodes:
            found |= {n: name for n, name in nodes.items() if n not in found}
            rest.append(text[position : match.start()])
            position = match.end()
    return found, " ".join([*rest, text[position:]])


def unknown_in(graph: Graph, text: str) -> tuple[str, ...]:
    """What is written like the id of a document and is none here, each once."""
    names = [name for match in _NAME.finditer(text) for name in _names(match)]
    lost = (numbered_id(name) for name in names if not _nodes(graph, name))
    return tuple(dict.fromkeys(it for it in lost if it and type_of("", it, "") != UNKNOWN))


def _names(match: re.Match[str]) -> Iterator[str]:
    inside = (match[1] or match[0].rstrip(".-")).partition("|")[0]
    return (part.partition("#")[0].strip() for part in inside.split(","))


def _nodes(graph: Graph, name: str) -> list[int]:
    """The document of that id or path, or those that hold the part of that id, as TC-001."""
    n = graph.at_path[name] if name in graph.at_path else graph.find(name)
    if n is not None:
        return [n]
    return [graph.place[doc_id] for doc_id in graph.holders(name)]
