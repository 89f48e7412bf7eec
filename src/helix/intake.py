"""What the repository says about a request: documents, conflicts, what is taken, what was answered.

What follows from it is decided by helix.policy.intake and filed by helix.actions.requests (I-2).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.git import commit_id
from ddx.graph.cache import load_graph
from ddx.graph.mentions import related
from ddx.graph.model import ERROR
from ddx.text import listed
from ddx.tracker.codec import decode
from ddx.tracker.model import text_of, texts_of
from helix.actions.requests import (
    ANSWER_KEY,
    CONFLICT,
    PART_KEY,
    REQUEST_KEY,
    answered,
    file_stem,
    known_parts,
    promised_files,
)
from helix.policy.conflicts import Clash, find_conflicts, statement_of_request
from helix.policy.drafts import area_label
from helix.policy.impact import Rules, begin, downstream, reach
from helix.policy.intake import MOST_CONFLICTS, Case, Freedom, Met, changes_documents
from helix.policy.parts import NEW, REQUEST, Ground
from helix.policy.request import Intent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ddx.graph.graph import Graph
    from ddx.graph.search import Found
    from helix.actions.requests import Place
    from helix.policy.impact import Impact, Start
    from helix.policy.request import Wish

MOST_HITS = 5
"""More documents than a person would go through for one sentence are no help."""
_TEST_FOLDERS = ("tests", "test", "spec", "__tests__")
_TOPS = ("prd", "vision")
_FOR_ALL = frozenset({"adr", "architecture"})
"""What these decide holds for every design, linked or not."""
_BASE_LENGTH = 12


def look_into(place: Place, wish: Wish, *, besides: Sequence[str] = ()) -> Case:
    """All that is known about a request; `besides` are documents that somebody proposes as well."""
    slider = place.slider
    graph = load_graph(place.project, place.settings.document_roots, clock=place.clock)
    rules = Rules(slider.max_depth, slider.authority_ordering, slider.cycle_detection)
    start = begin(graph, wish, rules=rules)
    hits = _searched(place, graph, wish, start) | _proposed(graph, start, besides)
    impact = reach(graph, start, hits, rules=rules)
    freedom = Freedom(slider.autonomy, slider.speculative_allowed, slider.speculation_label)
    ground = _ground(place, graph, impact, wish)
    met = _conflicts(place, graph, impact, wish, rules)
    physics = [it for it in met if it.is_physics]
    room = max(MOST_CONFLICTS - len(physics), 0)
    kept = (*physics, *[it for it in met if not it.is_physics][:room])
    more = len(met) - MOST_CONFLICTS
    remarks = [f"there are {more} more conflicts than those that are told"] if more > 0 else []
    remarks += [f"{it} asked for the same and is done" for it in _done_before(place, wish)]
    return Case(wish, impact, ground, kept, freedom, tuple(remarks))


def _searched(place: Place, graph: Graph, wish: Wish, start: Start) -> dict[int, str]:
    """Documents that are about the same, where the links tell too little (I-2)."""
    if not start.search_because or not wish.terms:
        return {}
    from ddx.graph.search import LIMIT, search

    # Of another technology: where the old one stands, however many documents name it.
    terms = wish.replaced or wish.terms
    found: Found = search(place.project, graph, terms, clock=place.clock, telling=not wish.replaced)
    most = LIMIT if wish.replaced else MOST_HITS
    return {
        hit.n: f"it holds {listed(hit.terms)} (line {hit.excerpt.line})"
        for hit in related(found, named=start.named)[:most]
    }


def _proposed(graph: Graph, start: Start, names: Sequence[str]) -> dict[int, str]:
    places = (graph.find(name) for name in names)
    fresh = [n for n in places if n is not None and graph.hashes[n] and n not in start.named]
    return dict.fromkeys(fresh, "the agent proposes it")


def _conflicts(
    place: Place, graph: Graph, impact: Impact, wish: Wish, rules: Rules
) -> tuple[Met, ...]:
    """What the documents on the way say against each other, and against the request (I-5)."""
    from helix.statements import read_statements

    named = {it.id for it in impact.named}
    touched = [it.id for it in (*impact.named, *impact.documents)]
    is_whole = bool(named) or changes_documents(wish, impact)
    if wish.intent in (Intent.DEFECT, Intent.QUESTION) or not touched:
        return ()
    linked = frozenset((*impact.governing, *touched))
    decided = [it for it, kind in zip(graph.ids, graph.types, strict=True) if kind in _FOR_ALL]
    ids = dict.fromkeys((*impact.governing, *touched, *decided))
    asked = statement_of_request(wish.text)
    found: dict[object, Met] = {}
    for conflict in find_conflicts((*read_statements(place.project, graph, ids), asked)):
        sides = (conflict.one, conflict.other)
        by_request = asked in sides
        if conflict.clash is Clash.GAP or not (by_request or is_whole):
            continue
        if linked.isdisjoint(it.document for it in sides):
            continue  # an old quarrel that this request has no part in
        if by_request and named & {it.document for it in sides}:
            continue  # what the request names, it asks to change
        losers = [it.document for it in sides if it.document != conflict.winner]
        met = Met(conflict, downstream(graph, losers, rules=rules))
        # Of several documents that say the same against the request, the highest speaks for all.
        found.setdefault(conflict.reason if by_request else conflict, met)
    return tuple(found.values())


def _ground(place: Place, graph: Graph, impact: Impact, wish: Wish) -> Ground:
    root = place.project.root
    folders = [name for name in _TEST_FOLDERS if os.path.isdir(os.path.join(root, name))]
    tops = (n for kind in _TOPS for n, found in enumerate(graph.types) if found == kind)
    features = [name for name in impact.governing if graph.types[graph.place[name]] == "feat"]
    titles = [graph.titles[graph.place[name]] for name in reversed(features)]
    promised = promised_files(place.tracker.snapshot(), but=wish.key)
    words = [*titles, *(it.title for it in impact.named), " ".join(wish.terms[:2])]
    return Ground(
        base=commit_id(root, "HEAD")[:_BASE_LENGTH],
        root=place.settings.document_roots[0].rstrip("/"),
        names=(*graph.ids, *_files(place), *map(file_stem, promised)),
        own=_own(place, wish),
        default_checks=place.settings.default_checks,
        is_valid=not any(it.severity == ERROR for it in graph.findings()),
        test_folders=tuple(folders) or _TEST_FOLDERS[:1],
        bead_files=place.slider.bead_files,
        top=next((graph.ids[n] for n in tops), ""),
        top_bead=next((it for path, it in promised.items() if file_stem(path) in _TOPS), ""),
        area=next((label for word in words if (label := area_label(word))), ""),
    )


def _files(place: Place) -> Iterator[str]:
    """The names of files among the documents, of those that cannot be read too."""
    for documents in place.settings.document_roots:
        for _, _, names in os.walk(os.path.join(place.project.root, documents)):
            yield from (name.rpartition(".")[0] or name for name in names)


def _own(place: Place, wish: Wish) -> dict[str, tuple[str, ...]]:
    """What the beads of this request are about to write, if it was made before."""
    snapshot = place.tracker.snapshot()
    found = known_parts(snapshot, wish.key).items()
    return {
        part: tuple(texts_of(snapshot.row(bead), "paths"))
        for part, bead in found
        if part.startswith(NEW)
    }


def _done_before(place: Place, wish: Wish) -> Iterator[str]:
    """Closed epics of the same request, unless it is open again."""
    snapshot = place.tracker.snapshot()
    columns = snapshot.columns
    if REQUEST in known_parts(snapshot, wish.key):
        return
    requests = (n for n, labels in enumerate(columns.labels) if f"kind:{REQUEST}" in labels)
    for n in (n for n in requests if columns.statuses[n] == "closed"):
        if text_of(decode(snapshot.line(n)), REQUEST_KEY) == wish.key:
            yield columns.ids[n]


def remembered(place: Place, wish: Wish) -> dict[str, bool]:
    """What a person has answered before: about this request, or about the same conflict."""
    found: dict[str, bool] = {}
    for row in answered(place.tracker.snapshot()):
        key, said = text_of(row, PART_KEY), text_of(row, ANSWER_KEY)
        if said == "yes" and key.startswith(CONFLICT):
            found[key] = True
        elif text_of(row, REQUEST_KEY) == wish.key:
            found[key.removeprefix("question:")] = said == "yes"
    return found
