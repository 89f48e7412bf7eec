"""Links and headings of a Markdown text; what stands in code or comments does not count (G-3).

Every step takes time in proportion to the text, whatever the text holds (G-10).
"""

from __future__ import annotations

import re

from ddx.graph.authority import KNOWN_NAMES, numbered_id
from ddx.graph.model import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SPEC_REFERENCE = "**Spec Reference"
_LINK = re.compile(r"\[\[([^\[\]\n]++)\]\]")
_LINK_OR_REFERENCE = re.compile(
    rf"{_LINK.pattern}|\*\*Spec References?(?:\*\*:|:\*\*)[ \t]*(?=([^\n]{{1,300}}))"
)
# Also inside a quotation or an item of a list.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)(.*)")
# Where a line begins a block of its own: a code span does not reach over it.
_BLOCK = re.compile(r"\n(?=[ \t>]*+(?:\n|#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]")
_TICKS = re.compile(r"`+")
_NOT_NEWLINE = re.compile(r"[^\n]")


def wiki_links(body: str, *, first_line: int, most: int) -> list[Link]:
    """Every name in `[[...]]` or after `**Spec Reference**:` with its line, but not many more
    than `most`; lists, labels and headings are taken apart."""
    if "[[" not in body and _SPEC_REFERENCE not in body:
        return []
    shown = _without_code(prose(body))
    found: list[Link] = []
    line, position = first_line, 0
    pattern = _LINK_OR_REFERENCE if _SPEC_REFERENCE in shown else _LINK
    for match in pattern.finditer(shown):
        line += shown.count("\n", position, match.start())
        position = match.start()
        names = _names(match[1]) if match[1] else _referred(match[2])
        found += [Link(name, line) for name in names]
        if len(found) >= most:
            break
    return found


def headings(body: str) -> list[tuple[int, str]]:
    """Level and text of each heading, in order."""
    found = []
    for after in f"\n{prose(body)}".split("\n#")[1:]:
        line = after.partition("\n")[0]
        text = line.lstrip("#")
        level = 1 + len(line) - len(text)
        if level <= 6 and text[:1] in (" ", "\t") and (title := _without_closing(text.strip())):
            found.append((level, title))
    return found


def prose(body: str) -> str:
    """The text without fenced code and comments, line for line."""
    if "```" not in body and "~~~" not in body and "<!--" not in body:
        return body
    lines = body.split("\n")
    last_closing = body.count("\n", 0, body.rfind("-->")) if "-->" in body else -1
    fence, inside = "", False
    for n, line in enumerate(lines):
        if fence:
            bare = line.strip(" \t>")
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
            lines[n] = ""
        elif not inside and (opened := _opening(line)):
            fence = opened
            lines[n] = ""
        elif inside or ("<!--" in line and n <= last_closing):
            lines[n], inside = _without_comments(line, inside=inside)
            inside = inside and n < last_closing  # a comment that never ends is none
    return "\n".join(lines)


def name_in(part: str) -> str:
    """The document that `ID|label` and `ID#heading` mean."""
    return part.partition("|")[0].rstrip("\\").partition("#")[0].strip()


def _names(inside: str) -> list[str]:
    return [name for part in inside.partition("|")[0].split(",") if (name := name_in(part))]


def _referred(line: str) -> list[str]:
    """`TD-036 §3.2 Answers, TD-037`: the first word of each part, if it is an id."""
    words = [part.split(None, 1)[0].rstrip(":.;") for part in line.split(",") if part.strip()]
    return [word for word in words if numbered_id(word) or word.lower() in KNOWN_NAMES]


def _opening(line: str) -> str:
    """The marks that open a fence, or an empty string."""
    found = _FENCE.match(line) if "```" in line or "~~~" in line else None
    return found[1] if found and not (found[1][0] == "`" and "`" in found[2]) else ""


def _without_closing(title: str) -> str:
    """`## Title ##` has the title Title."""
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:] in ("", " ", "\t") else title


def _without_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """What is shown of a line, and whether it ends inside a comment."""
    bare = _without_spans(line) if "`" in line else line
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


def _without_code(text: str) -> str:
    """Inline code blanked out, where it could hide a link."""
    if "`" not in text:
        return text
    parts = text.split("\n\n")
    for n, part in enumerate(parts):
        if "`" in part and ("[[" in part or _SPEC_REFERENCE in part):
            parts[n] = "\n".join(_without_spans(block) for block in _blocks(part))
    return "\n\n".join(parts)


def _blocks(part: str) -> Iterator[str]:
    """A heading is a block of one line."""
    for block in _BLOCK.split(part):
        yield from block.split("\n", 1) if _HEADING.match(block) else (block,)


def _without_spans(block: str) -> str:
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
