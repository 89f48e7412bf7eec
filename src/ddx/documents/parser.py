"""One Markdown file, read for what the graph needs (G-1, G-3, G-10). Pure.

A file with something wrong in it gives a finding with its line and as much else as can be read.
What stands in code or comments is neither a link nor a heading.
"""

from __future__ import annotations

import re

from ddx.base import ERROR, Finding
from ddx.documents.model import KNOWN_NAMES, Link, ParsedDocument, numbered_id
from ddx.documents.page import (
    LARGEST_FILE,
    OURS,
    Page,
    decoded,
    line_of,
    lines_of,
    prose,
    without_code_spans,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ddx.documents.model import Table

MOST_LINKS = 5_000
"""More links than this are no document but a bomb."""

_TABLES = ("execution", "metric", "review")
_LISTS = ("depends_on", "superseded_by")
_SPEC_REFERENCE = "**Spec Reference"
_LINK = re.compile(r"\[\[([^\[\]\n]++)\]\]")
_LINK_OR_REFERENCE = re.compile(
    rf"{_LINK.pattern}|\*\*Spec References?(?:\*\*:|:\*\*)[ \t]*(?=([^\n]{{1,300}}))"
)
# Where a line begins a block of its own: a code span does not reach over it.
_BLOCK = re.compile(r"\n(?=[ \t>]*+(?:\n|#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]")


def parse(path: str, content: bytes) -> ParsedDocument:
    """What a file says; it never fails."""
    text, findings = decoded(path, content)
    page = Page.of_text(text)
    block, table, shown = page.front_matter, page.fields, page.prose
    if problem := page.problem:
        findings += (Finding("front-matter", ERROR, path, line=problem.line, what=problem.what),)
    titles = headings(shown)
    fields: dict[str, Any] = next(
        (table[name] for name in OURS if isinstance(table.get(name), dict)), {}
    )
    depends_on = _listed(fields, "depends_on", block)
    links = wiki_links(shown, first_line=page.first_line, most=MOST_LINKS + 1)
    if len(depends_on) + len(links) > MOST_LINKS:
        findings += (_bomb(path, (*depends_on, *links)),)
        depends_on, links = (), []
    declared_id = _text(fields.get("id"))
    return ParsedDocument(
        path,
        declared_id=declared_id,
        id_line=line_of(block, "id:") if declared_id else 1,
        declared_type=_text(fields.get("type")),
        title=next((title for level, title in titles if level == 1), _text(table.get("title"))),
        status=_text(fields.get("status")).lower(),
        parked=_text(fields.get("parking_lot")).lower() in ("true", "yes"),
        depends_on=depends_on,
        links=tuple(links),
        superseded_by=_listed(fields, "superseded_by", block),
        sections=tuple(title for level, title in titles if level > 1),
        content_hash=page.content_hash,
        review=_review(fields.get("review")),
        execution=_table(fields, "execution", block),
        metric=_metric(fields, block),
        findings=(*findings, *_misshapen(path, table, fields, block)),
    )


def too_large(path: str, size: int) -> ParsedDocument:
    what = f"{size / 1e6:.0f} MB are no document; the limit is {LARGEST_FILE / 1e6:.0f} MB"
    return ParsedDocument(path, findings=(Finding("too-large", ERROR, path, line=1, what=what),))


def unreadable(path: str, why: str) -> ParsedDocument:
    return ParsedDocument(path, findings=(Finding("unreadable", ERROR, path, line=1, what=why),))


def _misshapen(
    path: str, table: Mapping[str, Any], fields: dict[str, Any], block: str
) -> Iterator[Finding]:
    """What stands in our keys but has the wrong shape would be lost without a word."""
    wrong = [(name, "a table") for name in OURS if not isinstance(table.get(name) or {}, dict)]
    wrong += [(name, "a table") for name in _TABLES if not isinstance(fields.get(name) or {}, dict)]
    wrong += [
        (name, "a list of ids")
        for name in _LISTS
        if name in fields and any(isinstance(leaf, dict) for leaf in _leaves(fields[name]))
    ]
    if fields.get("ratchet") and not isinstance(fields.get("metric"), dict):
        wrong.append(("ratchet", "beside the metric that it holds"))
    for name, wanted in wrong:
        line = line_of(block, f"{name}:")
        yield Finding("front-matter", ERROR, path, line=line, what=f"{name} must be {wanted}")


def _bomb(path: str, links: tuple[Link, ...]) -> Finding:
    what = f"has more than {MOST_LINKS} links; none of them is followed"
    return Finding("link-bomb", ERROR, path, line=links[MOST_LINKS].line, what=what)


def _review(given: Any) -> dict[str, str] | None:
    deps = given.get("deps") if isinstance(given, dict) else None
    if not isinstance(deps, dict):
        return None
    return {name: _text(found) for name, found in deps.items()}


def _text(given: Any) -> str:
    return given.strip() if isinstance(given, str) else ""


def _listed(fields: dict[str, Any], key: str, block: str) -> tuple[Link, ...]:
    """The names under a key: a list, or a text with one or several; `[[ID|label]]` is one too."""
    given = fields.get(key)
    if not given:
        return ()
    if isinstance(given, str) and "[[" not in given:
        given = given.replace(",", " ").split()
    texts = [leaf.strip() for leaf in _leaves(given) if isinstance(leaf, str)]
    names = [
        name_in(text[2:-2]) if text.startswith("[[") and text.endswith("]]") else text
        for text in texts
        if text
    ]
    return tuple(map(Link, names, lines_of(block, f"{key}:", names)))


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        for item in given:
            yield from _leaves(item)
    else:
        yield given


def _table(fields: dict[str, Any], name: str, block: str) -> Table | None:
    given = fields.get(name)
    if not isinstance(given, dict):
        return None
    return line_of(block, f"{name}:"), dict(given)


def _metric(fields: dict[str, Any], block: str) -> Table | None:
    """A ratchet may stand beside its metric as well as in it."""
    found = _table(fields, "metric", block)
    if found is None or "ratchet" not in fields:
        return found
    line, table = found
    return line, {"ratchet": fields["ratchet"], **table}


# -- links and headings of a text --------------------------------------------------------------


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


def name_in(part: str) -> str:
    """The document that `ID|label` and `ID#heading` mean."""
    return part.partition("|")[0].rstrip("\\").partition("#")[0].strip()


def _names(inside: str) -> list[str]:
    return [name for part in inside.partition("|")[0].split(",") if (name := name_in(part))]


def _referred(line: str) -> list[str]:
    """`TD-036 §3.2 Answers, TD-037`: the first word of each part, if it is an id."""
    words = [part.split(None, 1)[0].rstrip(":.;") for part in line.split(",") if part.strip()]
    return [word for word in words if numbered_id(word) or word.lower() in KNOWN_NAMES]


def _without_closing(title: str) -> str:
    """`## Title ##` has the title Title."""
    bare = title.rstrip("#")
    return bare.rstrip() if bare[-1:] in ("", " ", "\t") else title


def _without_code(text: str) -> str:
    """Inline code blanked out, where it could hide a link."""
    if "`" not in text:
        return text
    parts = text.split("\n\n")
    for n, part in enumerate(parts):
        if "`" in part and ("[[" in part or _SPEC_REFERENCE in part):
            parts[n] = "\n".join(without_code_spans(block) for block in _blocks(part))
    return "\n\n".join(parts)


def _blocks(part: str) -> Iterator[str]:
    """A heading is a block of one line."""
    for block in _BLOCK.split(part):
        yield from block.split("\n", 1) if _HEADING.match(block) else (block,)
