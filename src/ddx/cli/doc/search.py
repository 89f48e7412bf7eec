"""`ddx doc search`"""

from __future__ import annotations

from ddx.cli.doc.session import load
from ddx.cli.place import CLOCK, tell
from ddx.console.screen import answer, bold, dim, on_terminal, say, screen_width
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.graph.search import LIMIT, MOST_TERMS, search
from ddx.graph.terms import shortened, terms_of, words_of
from ddx.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.console.screen import Styled
    from ddx.graph.graph import Graph
    from ddx.graph.search import Found, Hit
    from ddx.graph.terms import Excerpt

_MARGIN = "  "
_WORDS_SHOWN = 5


def run(*, text: tuple[str, ...], limit: int | None, json: bool) -> int:
    project, graph = load()
    asked = " ".join(text)
    words = terms_of(asked) or words_of(asked)
    found = search(project, graph, words, clock=CLOCK, limit=LIMIT if limit is None else limit)
    if found.note:
        tell(found.note)
    if len(words) > len(found.terms):
        tell(f"that is much text; looked for its {MOST_TERMS} rarest words: {listed(found.terms)}")
    if json:
        answer([_as_json(graph, hit) for hit in found.hits])
    else:
        _print(graph, found)
    return 0


def _as_json(graph: Graph, hit: Hit) -> dict[str, object]:
    return {
        "id": graph.ids[hit.n],
        "title": graph.titles[hit.n],
        "type": graph.types[hit.n] or None,
        "status": graph.statuses[hit.n] or None,
        "path": graph.paths[hit.n],
        "line": hit.excerpt.line,
        "snippet": hit.excerpt.text,
        "marks": [list(mark) for mark in hit.excerpt.marks],
        "terms": list(hit.terms),
        "score": hit.score,
    }


def _print(graph: Graph, found: Found) -> None:
    if not found.terms:
        say("there is no word to look for in that")
    elif not found.total:
        more = "any of those words" if len(found.terms) > _WORDS_SHOWN else ""
        say(f"no document holds {more or listed(found.terms, joiner='or')}")
    for hit in found.hits:
        superseded = [dim("  (superseded)")] if graph.is_superseded(hit.n) else []
        say(bold(graph.ids[hit.n]), _MARGIN, graph.titles[hit.n], *superseded)
        say(_MARGIN, dim(f"{graph.paths[hit.n]}:{hit.excerpt.line}"))
        say(_MARGIN, *_marked(hit.excerpt))
    if found.total > len(found.hits):
        say(dim(f"{found.total} documents match; {len(found.hits)} are shown, see --limit"))


def _marked(excerpt: Excerpt) -> list[str | Styled]:
    """The line as parts, each match bold where that can be seen."""
    if on_terminal():
        excerpt = shortened(excerpt, screen_width() - len(_MARGIN))
    parts: list[str | Styled] = []
    position = 0
    for start, end in excerpt.marks:
        parts += (excerpt.text[position:start], bold(excerpt.text[start:end]))
        position = end
    return [*parts, excerpt.text[position:]]


COMMAND = Command(
    "doc search",
    "Find documents by their words, the best first, with the line that fits best.",
    run,
    'ddx doc search "login throttling"',
    arguments=(Argument("text", "words; those that fit in any form count", many=True),),
    flags=(
        Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"),
        JSON,
    ),
    schema="doc-search",
)
