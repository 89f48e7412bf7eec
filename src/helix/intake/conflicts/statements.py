"""The sentences of documents that say what has to hold (I-5).

Only structured places count: sections about constraints or requirements, and the fields of the
front matter that state them. Elsewhere people weigh, quote and remember: that is no rule.

A section counts if its heading, at any level, ends in constraints or requirements with at most
three words before ("3.2 Non-functional requirements"), or begins with one of them and goes on with
"and", "for", "of", a colon, a dash or a parenthesis. Headings below it belong to it. So does a
section that is called just "Decision": it is where an ADR says what holds (ADR-007).
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from ddx.base import cut, value
from ddx.documents import Page
from helix.intake.conflicts.clauses import LONGEST
from helix.intake.conflicts.detection import BELOW, Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ddx.documents import Graph
    from ddx.project import Project

MOST_STATEMENTS = 500
"""Of one document."""
MOST_OF_A_PROJECT = 20_000
"""What is left out is what has the least authority."""
_DOCUMENT = ".md"
FIELDS = (
    *("constraints", "requirements", "technology", "technologies"),
    *("tech_stack", "tech-stack", "stack"),
)
"""Of the front matter, at its top or in our table."""
_OURS = ("ddx", "dun")
_DEEPEST = 4

_NUMBERING = r"(?:\d+(?:\.\d+)*[.)]?\s+|[ivx]+[.)]\s+)?"
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_SECTION = re.compile(
    rf"{_NUMBERING}(?:[\w/&,'-]+\s+){{0,3}}?(?:constraints?|requirements?)"
    r"(?:\s*[:(\u2013\u2014-].*|\s+(?:and|&|for|of)\s.*)?"
    rf"|{_NUMBERING}decision",
    re.IGNORECASE,
)
_NOT_IN_FORCE = re.compile(
    r"\b(?:non-?requirements?|rejected|deprecated|superseded|former|old|obsolete|out of scope|open"
    r"|future|dropped|removed|no)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX!]?\][ \t]+)?(.*)")
_ROW = re.compile(r"[ \t]*\|(.*?)\|?[ \t]*")
_RULE_OF_TABLE = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*")
_QUOTE = re.compile(r"[ \t]*>")
_SENTENCE_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<! etc)(?<! approx)(?<! incl)(?<! vs)[.!?][)\"'*_`]*\s+"
    r"(?=[A-Z0-9\"'`*_(\[])|;\s+"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)|\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_MARKS = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_BREAK = re.compile(r"<br ?/?>")
_STRUCK = re.compile(r"~~.*?~~")
_ID_CELL = re.compile(r"\W*(?:[A-Za-z]{1,10}-?\d[\w.-]*|\d+(?:\.\d+)*|P\d|)\W*")
_NOTHING = frozenset({"none", "n/a", "tbd", "to be defined", "-", "\u2013", "\u2014", "..."})
_WILL_NOT = frozenset({"won't", "wont", "won't have", "rejected", "dropped", "deprecated"})
_NARROW = 4


@value
class _Block:
    """A paragraph, an item or a row: its lines with their numbers, and the heading it is under."""

    lines: tuple[tuple[int, str], ...]
    section: str
    lead: str = ""
    """The words of the item above it that ends in a colon."""


def read_statements(
    project: Project, graph: Graph, documents: Iterable[str]
) -> tuple[Statement, ...]:
    """The statements of these documents, by authority; what is gone or cannot be read says none.

    Reports, plans and superseded documents carry no authority, and tests and code are no documents.
    """
    places = {n for name in documents if (n := graph.find(name)) is not None}
    found: list[Statement] = []
    for n in sorted(places, key=graph.rank):
        path = graph.paths[n]
        if not path.endswith(_DOCUMENT) or not graph.has_authority(n):
            continue
        page = Page.read(os.path.join(project.root, path))
        found += statements_in(page, document=graph.ids[n], tier=graph.tiers[n], path=path)
        if len(found) >= MOST_OF_A_PROJECT:
            break
    return tuple(found[:MOST_OF_A_PROJECT])


def statements_in(
    page: Page, *, document: str, tier: int | None, path: str
) -> tuple[Statement, ...]:
    """Each single statement with its line, in order; a front matter that is broken says nothing."""
    if page.problem:
        page = Page(page.text)
    found = [*_fields(page), *(sentence for each in _blocks(page) for sentence in _sentences(each))]
    return tuple(
        Statement(
            document=document,
            tier=tier,
            path=path,
            line=line,
            text=cut(said, LONGEST),
            section=section,
        )
        for line, said, section in found[:MOST_STATEMENTS]
    )


# -- the front matter ----------------------------------------------------------------------


def _fields(page: Page) -> Iterator[tuple[int, str, str]]:
    table = page.fields
    ours = [table[name] for name in _OURS if isinstance(table.get(name), dict)]
    for fields in (table, *ours):
        for key, given in fields.items():
            if str(key).lower() in FIELDS:
                said = list(_leaves(given, ()))
                first_words = [leaf.partition(" ")[0] for _, leaf in said]
                lines = page.lines_of(key, first_words)
                for line, (names, leaf) in zip(lines, said, strict=True):
                    yield line, ": ".join((*names, leaf)), str(key)


def _leaves(given: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Texts with the keys that lead to them."""
    if isinstance(given, str):
        said = " ".join(given.split())
        if said and said.lower() not in _NOTHING:
            yield names, said
    elif isinstance(given, list):
        for item in given:
            yield from _leaves(item, names)
    elif isinstance(given, dict) and len(names) < _DEEPEST:
        for key, inner in given.items():
            yield from _leaves(inner, (*names, str(key).replace("_", " ")))


# -- the sections --------------------------------------------------------------------------


def _blocks(page: Page) -> Iterator[_Block]:
    """The blocks of the sections that count; code, comments and quotations are left out."""
    section, level = "", 0
    lines: list[tuple[int, str]] = []
    leads: list[tuple[int, str]] = []
    shown = page.prose.split("\n")
    for n, line in enumerate(shown):
        number = n + page.first_line
        heading = _heading(line, shown[n + 1] if n + 1 < len(shown) else "")
        item, row = _ITEM.fullmatch(line), _ROW.fullmatch(line)
        ends = heading or item or row or not line.strip() or _QUOTE.match(line)
        if ends and lines:
            yield _Block(tuple(lines), section, _lead(leads))
            lines = []
        if heading:
            section, level = _entered(section, level, heading)
            leads = []
        elif not section or _QUOTE.match(line) or _UNDERLINE.fullmatch(line):
            continue
        elif item:
            indent = len(item[1].expandtabs(_NARROW))
            leads = [lead for lead in leads if lead[0] < indent]
            lines = [(number, item[2])]
            if item[2].rstrip(" *_").endswith(":"):
                leads.append((indent, item[2]))
                lines = []
        elif row:
            following = shown[n + 1] if n + 1 < len(shown) else ""
            is_head = _RULE_OF_TABLE.fullmatch(line) or _RULE_OF_TABLE.fullmatch(following)
            if not is_head and (said := _cells(row[1])):
                yield _Block(((number, said),), section)
        elif line.strip():
            is_code = line.startswith(("    ", "\t")) and not (lines or leads)
            if not lines and not line.startswith((" ", "\t")):
                leads = []
            if not is_code:
                lines.append((number, line.strip()))
    if lines:
        yield _Block(tuple(lines), section, _lead(leads))


def _heading(line: str, following: str) -> tuple[int, str] | None:
    """Level and text."""
    if found := _HEADING.fullmatch(line):
        return len(found[1]), _bare(found[2])
    if line.strip() and not line.startswith((" ", "\t", "|", "-", ">")):
        under = _UNDERLINE.fullmatch(following)
        if under and len(under[1]) >= 3:
            return (1 if under[1][0] == "=" else 2), _bare(line)
    return None


def _entered(section: str, level: int, heading: tuple[int, str]) -> tuple[str, int]:
    """The section that a heading leads into, and the level at which it began."""
    depth, title = heading
    if section and depth > level:
        kept = section.partition(BELOW)[0]
        return ("", 0) if _NOT_IN_FORCE.search(title) else (f"{kept}{BELOW}{title}", level)
    counts = _SECTION.fullmatch(title) and not _NOT_IN_FORCE.search(title)
    return (title, depth) if counts else ("", 0)


def _lead(leads: list[tuple[int, str]]) -> str:
    return " ".join(lead for _, lead in leads)


def _cells(row: str) -> str:
    """The cells of a row that say something; its number and what will not be done are left out."""
    cells = [_bare(cell) for cell in re.split(r"(?<!\\)\|", row)]
    if any(cell.lower() in _WILL_NOT for cell in cells):
        return ""
    return ": ".join(cell for cell in cells if not _ID_CELL.fullmatch(cell))


def _sentences(block: _Block) -> Iterator[tuple[int, str, str]]:
    """Line, text and section of each sentence."""
    text = "\n".join(line for _, line in block.lines)
    starts = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        said = _bare(text[start:end])
        if said and said.lower().strip(" .;") not in _NOTHING:
            line = block.lines[text.count("\n", 0, start)][0]
            yield line, f"{_bare(block.lead)} {said}".strip(), block.section


def _bare(text: str) -> str:
    """Without marks, links and what is struck out, on one line."""
    shown = _LINK.sub(lambda found: found[3] or found[2] or found[1] or "", _STRUCK.sub(" ", text))
    return " ".join(_MARKS.sub("", _BREAK.sub(" ", shown)).split()).strip(";")
