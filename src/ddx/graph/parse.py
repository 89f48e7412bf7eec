"""One Markdown file, read for what the graph needs (G-1, G-3, G-10). Pure.

A file with something wrong in it gives a finding with its line and as much else as can be read.
"""

from __future__ import annotations

from _blake2 import blake2b

from ddx.graph import front_matter
from ddx.graph.markdown import headings, name_in, prose, wiki_links
from ddx.graph.model import ERROR, WARNING, Finding, Link, Parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ddx.graph.model import Table

LARGEST_FILE = 20_000_000
MOST_LINKS = 5_000
"""More links than this are no document but a bomb."""

_BOM = b"\xef\xbb\xbf"
_OURS = ("ddx", "dun")
_TABLES = ("execution", "metric", "review")
_LISTS = ("depends_on", "superseded_by")


def parse(path: str, content: bytes) -> Parsed:
    """What a file says; it never fails."""
    text, findings = _decoded(path, content)
    block, first_line, table, problem = _head(text)
    if problem is not None:
        findings += (Finding("front-matter", ERROR, path, problem.line, problem.what),)
        table = {"": block}
    body = text if first_line == 1 else text.split("\n", first_line - 1)[-1]
    shown = prose(body)
    titles = headings(shown)
    fields: dict[str, Any] = next(
        (table[name] for name in _OURS if isinstance(table.get(name), dict)), {}
    )
    depends_on = _listed(fields, "depends_on", block)
    links = wiki_links(shown, first_line=first_line, most=MOST_LINKS + 1)
    if len(depends_on) + len(links) > MOST_LINKS:
        findings += (_bomb(path, (*depends_on, *links)),)
        depends_on, links = (), []
    declared_id = _text(fields.get("id"))
    return Parsed(
        path,
        declared_id=declared_id,
        id_line=front_matter.line_of(block, "id:") if declared_id else 1,
        declared_type=_text(fields.get("type")),
        title=next((title for level, title in titles if level == 1), _text(table.get("title"))),
        status=_text(fields.get("status")).lower(),
        parked=_text(fields.get("parking_lot")).lower() in ("true", "yes"),
        depends_on=depends_on,
        links=tuple(links),
        superseded_by=_listed(fields, "superseded_by", block),
        sections=tuple(title for level, title in titles if level > 1),
        content_hash=_hash(table, body),
        review=_review(fields.get("review")),
        execution=_table(fields, "execution", block),
        metric=_metric(fields, block),
        findings=(*findings, *_misshapen(path, table, fields, block)),
    )


def too_large(path: str, size: int) -> Parsed:
    what = f"{size / 1e6:.0f} MB are no document; the limit is {LARGEST_FILE / 1e6:.0f} MB"
    return Parsed(path, findings=(Finding("too-large", ERROR, path, 1, what),))


def unreadable(path: str, why: str) -> Parsed:
    return Parsed(path, findings=(Finding("unreadable", ERROR, path, 1, why),))


def _decoded(path: str, content: bytes) -> tuple[str, tuple[Finding, ...]]:
    """The text with plain line ends; what had to be mended is said, not hidden."""
    findings: tuple[Finding, ...] = ()
    if content.startswith(_BOM):
        content = content[len(_BOM) :]
        findings += (Finding("bom", WARNING, path, 1, "begins with a byte order mark"),)
    is_text = b"\0" not in content
    if b"\r" in content:
        line = content.count(b"\n", 0, content.index(b"\r")) + 1
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if is_text:
            findings += (Finding("crlf", WARNING, path, line, "has line ends of another system"),)
    if not is_text:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        finding = Finding("binary", ERROR, path, line, "holds NUL bytes: this is no text in UTF-8")
        return content.replace(b"\0", b" ").decode("utf-8", "replace"), (*findings, finding)
    try:
        return content.decode("utf-8"), findings
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        finding = Finding("not-utf-8", ERROR, path, line, "holds bytes that are not UTF-8")
        return content.decode("utf-8", "replace"), (*findings, finding)


def _head(
    text: str,
) -> tuple[str, int, dict[str, Any], front_matter.BrokenFrontMatter | None]:
    """The front matter as text, the line after it, what it says, and what is wrong with it."""
    block, first_line = "", 1
    try:
        block, first_line = front_matter.split(text)
        return block, first_line, front_matter.read(block) if block else {}, None
    except front_matter.BrokenFrontMatter as problem:
        return block, first_line, {}, problem


def _misshapen(
    path: str, table: dict[str, Any], fields: dict[str, Any], block: str
) -> Iterator[Finding]:
    """What stands in our keys but has the wrong shape would be lost without a word."""
    wrong = [(name, "a table") for name in _OURS if not isinstance(table.get(name) or {}, dict)]
    wrong += [(name, "a table") for name in _TABLES if not isinstance(fields.get(name) or {}, dict)]
    wrong += [
        (name, "a list of ids")
        for name in _LISTS
        if name in fields and any(isinstance(leaf, dict) for leaf in _leaves(fields[name]))
    ]
    if fields.get("ratchet") and not isinstance(fields.get("metric"), dict):
        wrong.append(("ratchet", "beside the metric that it holds"))
    for name, wanted in wrong:
        line = front_matter.line_of(block, f"{name}:")
        yield Finding("front-matter", ERROR, path, line, f"{name} must be {wanted}")


def _bomb(path: str, links: tuple[Link, ...]) -> Finding:
    what = f"has more than {MOST_LINKS} links; none of them is followed"
    return Finding("link-bomb", ERROR, path, links[MOST_LINKS].line, what)


def _review(given: Any) -> dict[str, str] | None:
    deps = given.get("deps") if isinstance(given, dict) else None
    if not isinstance(deps, dict):
        return None
    return {name: _text(found) for name, found in deps.items()}


def _hash(table: dict[str, Any], body: str) -> str:
    """Of what a reader would call the content: a stamp in it does not change it (G-8)."""
    bare = dict(table)
    for name in _OURS:
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
    return tuple(map(Link, names, front_matter.lines_of(block, f"{key}:", names)))


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
    return front_matter.line_of(block, f"{name}:"), dict(given)


def _metric(fields: dict[str, Any], block: str) -> Table | None:
    """A ratchet may stand beside its metric as well as in it."""
    found = _table(fields, "metric", block)
    if found is None or "ratchet" not in fields:
        return found
    line, table = found
    return line, {"ratchet": fields["ratchet"], **table}
