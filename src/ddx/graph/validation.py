"""What is wrong with the documents as a whole: what reading found, and what it cannot see. Pure."""

from __future__ import annotations

from ddx.graph.authority import FOLDERS, type_of
from ddx.graph.model import WARNING, Finding
from ddx.graph.stale import is_reviewable
from ddx.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.graph.graph import Graph

_NUMBERING = "0123456789.)( "
_SHARES_FOLDER = {"api": "contract"}


def validate(graph: Graph, sections_for: Callable[[str], tuple[str, ...]]) -> list[Finding]:
    """Every finding, errors first, then by place; `sections_for` names a type's sections."""
    found = [*graph.findings(), *_misplaced(graph), *_incomplete(graph, sections_for)]
    return sorted(found, key=lambda item: (item.severity, item.path, item.line, item.kind))


def _misplaced(graph: Graph) -> Iterator[Finding]:
    """Its id says one type, its folder another; anything may lie in a parking lot."""
    for n, doc_id in enumerate(graph.ids):
        said = type_of("", doc_id, "")
        names = reversed(graph.paths[n].split("/")[:-1])
        folder = next((name for name in names if name in FOLDERS), "")
        fitting = (said, _SHARES_FOLDER.get(said), graph.types[n], "parking-lot")
        if said and folder and FOLDERS[folder] not in fitting:
            what = f"{doc_id} is of type {said}, but {folder} is for type {FOLDERS[folder]}"
            yield Finding("misplaced", WARNING, graph.paths[n], 1, what)


def _incomplete(graph: Graph, sections_for: Callable[[str], tuple[str, ...]]) -> Iterator[Finding]:
    """What is history, and what is no document, needs no sections."""
    for n, doc_id in enumerate(graph.ids):
        wanted = sections_for(graph.types[n]) if is_reviewable(graph, n) else ()
        there = {_plain(section) for section in graph.sections.get(doc_id, ())} if wanted else ()
        missing = [section for section in wanted if _plain(section) not in there]
        if missing:
            what = f"{doc_id} has no section {listed(missing, joiner='or')}"
            yield Finding("missing-section", WARNING, graph.paths[n], 1, what)


def _plain(section: str) -> str:
    """`2. Goals` is the section Goals."""
    return section.lstrip(_NUMBERING).rstrip(": ").casefold()
