"""`ddx doc show`"""

from __future__ import annotations

import os

from ddx.base import NotFound, dumps, to_bytes, value
from ddx.cli.context import CLOCK, here, load_documents, open_tracker
from ddx.cli.doc.output import ID, finding_row, kind, print_links, tier_of, title
from ddx.console import JSON, Command, answer_json, bold, say, table, when
from ddx.documents import as_json, linked_as_json, pairs, read_stamps, staleness, successors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ddx.base import Finding
    from ddx.documents import DocumentEdge, Graph
    from ddx.project import Project
    from ddx.tracker import Snapshot


@value
class DocumentDetails:
    """All that is known of a document besides its own row."""

    upstream: list[tuple[int, DocumentEdge]]
    downstream: list[tuple[int, DocumentEdge]]
    succession: list[str]
    """What took its place, and what took that one's place, to the end."""
    supersedes: list[str]
    review: dict[str, Any]
    beads: list[dict[str, Any]]
    findings: list[Finding]


@Command.of(example="ddx doc show TD-001", arguments=(ID,), flags=(JSON,), schema="doc-shown")
def run(*, id: str, json: bool) -> int:
    """Show a document: its place, its links both ways, its review, and the beads that name it."""
    project, graph = load_documents()
    n = graph.require(id)
    found = look_up(project, graph, n)
    if json:
        more = pairs(
            upstream=linked_as_json(graph, found.upstream),
            downstream=linked_as_json(graph, found.downstream),
            succession=dumps(found.succession),
            supersedes=dumps(found.supersedes),
            review=dumps(found.review),
            beads=dumps(found.beads),
            findings=dumps([finding_row(item) for item in found.findings]),
        )
        answer_json(as_json(graph, [n], [more])[1:-1])
    else:
        _print(graph, n, found)
    return 0


def look_up(project: Project, graph: Graph, n: int) -> DocumentDetails:
    doc_id = graph.ids[n]
    edges = [edge for edge in graph.edges() if doc_id in (edge.up, edge.down)]
    return DocumentDetails(
        upstream=[(graph.place[edge.up], edge) for edge in edges if edge.down == doc_id],
        downstream=[(graph.place[edge.down], edge) for edge in edges if edge.up == doc_id],
        succession=_succession(graph, n),
        supersedes=[
            graph.ids[old]
            for old, names in enumerate(graph.successors)
            if names and n in graph.heirs(old)
        ],
        review=_review(project, graph, n),
        beads=_beads(graph, n),
        findings=[item for item in graph.findings() if item.where == graph.paths[n]],
    )


def _succession(graph: Graph, n: int) -> list[str]:
    chain: dict[str, None] = {}
    unseen = [n]
    while unseen:
        here = unseen.pop(0)
        for name in successors(graph, here) if graph.is_superseded(here) else ():
            if name not in chain and name != graph.ids[n]:
                chain[name] = None
                unseen += [place] if (place := graph.find(name)) is not None else []
    return list(chain)


def _review(project: Project, graph: Graph, n: int) -> dict[str, Any]:
    """Its state in the words of G-8, and the last review."""
    among = [n, *_above(graph, n)]
    stamps = read_stamps(project, only=[graph.ids[node] for node in among])
    found = staleness(graph, stamps, among=among)
    stale = next((item for item in found.stale if item.n == n), None)
    stamp = stamps.get(graph.ids[n])
    if stale is not None:
        state = "stale"
    elif n in found.unreviewed:
        state = "unreviewed"
    else:
        state = "reviewed" if graph.is_reviewable(n) else "exempt"
    return {
        "state": state,
        "reasons": list(stale.reasons) if stale else [],
        "cause": (stale.cause if stale else "") or None,
        "at": stamp.at if stamp else None,
        "by": stamp.by if stamp else None,
    }


def _beads(graph: Graph, n: int) -> list[dict[str, Any]]:
    """Those that name it in spec-id or refs, archived ones last; none where there is no tracker.

    Here alone the graph and the tracker meet (G-7), which is loaded only where there is one.
    """
    if not os.path.exists(here().ddx("beads.jsonl")):
        return []
    tracker = open_tracker()
    try:
        view = tracker.snapshot()
    except NotFound:
        return []
    found = list(_beads_in(view, graph, n))
    archive = tracker.archive()
    if archive is not None:
        kept = _beads_in(archive, graph, n)
        found += [{**bead, "archived": True} for bead in kept if bead["id"] not in view]
    return found


def _beads_in(view: Snapshot, graph: Graph, n: int) -> Iterator[dict[str, Any]]:
    columns = view.columns
    governed = {spec for spec in set(columns.specs) if _means(graph, n, spec.split(","))}
    referring = set(_referring(view, graph, n))
    for place, bead_id in enumerate(columns.ids):
        named = {"spec-id": columns.specs[place] in governed, "refs": place in referring}
        if by := [field for field, is_named in named.items() if is_named]:
            yield {
                "id": bead_id,
                "status": columns.statuses[place],
                "title": columns.titles[place],
                "by": by,
                "archived": False,
            }


def _referring(view: Snapshot, graph: Graph, n: int) -> Iterator[int]:
    """Refs are in no column, so only rows that hold one of the document's names are decoded."""
    from ddx.tracker import decode, links_of, read_all

    content = read_all(view.fd, view.identity.size).lower()
    if b'"refs"' not in content:
        return
    doc_id = graph.ids[n]
    parts = [name for name, holders in graph.aliases.items() if doc_id in holders]
    names = [to_bytes(name)[1:-1].lower() for name in (doc_id, graph.paths[n], *parts)]
    places = zip(view.columns.starts, view.columns.ends, strict=True)
    for place, (start, end) in enumerate(places):
        line = content[start:end]
        if b'"refs"' in line and any(name in line for name in names):
            row = decode(view.line(place))
            if _means(graph, n, links_of(row, "refs")):
                yield place


def _means(graph: Graph, n: int, names: Iterable[str]) -> bool:
    """`FEAT-001#goals` means FEAT-001."""
    return any(graph.find(name.partition("#")[0]) == n for name in names if name.strip())


def _above(graph: Graph, n: int) -> list[int]:
    """All that the document follows from, directly or not."""
    found = [n]
    for node in found:  # grows as it goes
        found += [up for up in graph.ups[node] if up not in found]
    return found[1:]


def _print(graph: Graph, n: int, found: DocumentDetails) -> None:
    say(bold(graph.ids[n]), f"  {title(graph, n)}")
    place = f"tier {tier}" if (tier := tier_of(graph, n)) else "no tier"
    say(f"{kind(graph, n)}, {place}, {graph.statuses[n] or 'no status'}")
    say(graph.paths[n])
    if found.succession:
        say(f"superseded by {' -> '.join(found.succession)}; it carries no authority")
    if found.supersedes:
        say(f"supersedes {', '.join(found.supersedes)}")
    _print_review(found.review)
    _print_links(graph, "upstream", found.upstream)
    _print_links(graph, "downstream", found.downstream)
    if found.beads:
        say()
        table(
            ("bead", "status", "names it in", "title"),
            [
                (
                    bead["id"],
                    "archived" if bead["archived"] else bead["status"],
                    ", ".join(bead["by"]),
                    bead["title"],
                )
                for bead in found.beads
            ],
        )
    if found.findings:
        say()
    for item in found.findings:
        say(f"{item.where}:{item.line} {item.kind}: {item.what}")


def _print_review(review: dict[str, Any]) -> None:
    match review["state"]:
        case "exempt":
            return
        case "unreviewed":
            say("never reviewed")
            return
        case "stale":
            say(f"stale: {'; '.join(review['reasons'])}")
    if review["at"]:
        say(f"reviewed {when(review['at'], now=CLOCK.stamp())} by {review['by']}")


def _print_links(graph: Graph, head: str, links: list[tuple[int, DocumentEdge]]) -> None:
    if links:
        say()
        says_so = ((n, f"{edge.path}:{edge.line} ({edge.origin})") for n, edge in links)
        print_links(graph, (head, "says so"), says_so)
