"""`ddx doc search`"""

from __future__ import annotations

from ddx.base import listed
from ddx.cli.context import CLOCK, load_documents, tell
from ddx.console import JSON, Argument, Command, Flag, answer, bold, dim, say, terminal_width
from ddx.documents import LIMIT, MOST_TERMS, hit_row, search, shortened, terms_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.console import StyledText
    from ddx.documents import Excerpt, Graph, SearchResult

_MARGIN = "  "
_WORDS_SHOWN = 5


@Command.of(
    example='ddx doc search "login throttling"',
    arguments=(Argument("text", "words; those that fit in any form count", many=True),),
    flags=(Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"), JSON),
    schema="doc-search",
)
def run(*, text: tuple[str, ...], limit: int | None, json: bool) -> int:
    """Find documents by their words, the best first, with the line that fits best."""
    project, graph = load_documents()
    asked = " ".join(text)
    words = terms_of(asked) or words_of(asked)
    found = search(project, graph, words, clock=CLOCK, limit=LIMIT if limit is None else limit)
    if found.note:
        tell(found.note)
    if len(words) > len(found.terms):
        tell(f"that is much text; looked for its {MOST_TERMS} rarest words: {listed(found.terms)}")
    if json:
        answer([hit_row(graph, hit) for hit in found.hits])
    else:
        _print(graph, found)
    return 0


def _print(graph: Graph, found: SearchResult) -> None:
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


def _marked(excerpt: Excerpt) -> list[str | StyledText]:
    """The line as parts, each match bold where that can be seen."""
    if width := terminal_width():
        excerpt = shortened(excerpt, width - len(_MARGIN))
    parts: list[str | StyledText] = []
    position = 0
    for start, end in excerpt.marks:
        parts += (excerpt.text[position:start], bold(excerpt.text[start:end]))
        position = end
    return [*parts, excerpt.text[position:]]
