"""`ddx doc show`"""

from __future__ import annotations

import os

from ddx.cli.doc.closures import ID
from ddx.cli.doc.rendering import (
    as_json,
    kind,
    linked_as_json,
    pairs,
    standing,
    successors,
    tier_of,
    title,
)
from ddx.cli.doc.session import load
from ddx.cli.place import CLOCK, here
from ddx.console.screen import answer_json, bold, say, table, when
from ddx.console.spec import JSON, Command
from ddx.fastjson import dumps
from ddx.graph.reviews import read_stamps
from ddx.graph.stale import is_reviewable, staleness
from ddx.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.graph.graph import Graph
    from ddx.graph.model import Edge, Finding
    from ddx.project import Project


@value
class Shown:
    """All that is known of a document besides its own row."""

    upstream: list[tuple[int, Edge]]
    downstream: list[tuple[int, Edge]]
    succession: list[str]
    """What took its place, and what took that one's place, to the end."""
    supersedes: list[str]
    review: dict[str, Any]
    beads: list[dict[str, Any]]
    findings: list[Finding]


def run(*, id: str, json: bool) -> int:
    project, graph = load()
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
            findings=dumps([item.__dict__ for item in found.findings]),
        )
        answer_json(as_json(graph, [n], [more])[1:-1])
    else:
        _print(graph, n, found)
    return 0


def look_up(project: Project, graph: Graph, n: int) -> Shown:
    doc_id = graph.ids[n]
    edges = [edge for edge in graph.edges() if doc_id in (edge.up, edge.down)]
    return Shown(
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
        findings=[item for item in graph.findings() if item.path == graph.paths[n]],
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
        state = "reviewed" if is_reviewable(graph, n) else "exempt"
    return {
        "state": state,
        "reasons": list(stale.reasons) if stale else [],
        "cause": (stale.cause if stale else "") or None,
        "at": stamp.at if stamp else None,
        "by": stamp.by if stamp else None,
    }


def _beads(graph: Graph, n: int) -> list[dict[str, Any]]:
    """The tracker is loaded only where there is one."""
    if not os.path.exists(here().ddx("beads.jsonl")):
        return []
    from ddx.cli.doc.beads import beads_about

    return beads_about(graph, n)


def _above(graph: Graph, n: int) -> list[int]:
    """All that the document follows from, directly or not."""
    found = [n]
    for node in found:  # grows as it goes
        found += [up for up in graph.ups[node] if up not in found]
    return found[1:]


def _print(graph: Graph, n: int, found: Shown) -> None:
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
        say(f"{item.path}:{item.line} {item.kind}: {item.what}")


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


def _print_links(graph: Graph, head: str, links: list[tuple[int, Edge]]) -> None:
    if not links:
        return
    say()
    table(
        (head, "type", "status", "title", "says so"),
        [
            (
                graph.ids[n],
                kind(graph, n),
                standing(graph, n),
                title(graph, n),
                f"{edge.path}:{edge.line} ({edge.origin})",
            )
            for n, edge in links
        ],
    )


COMMAND = Command(
    "doc show",
    "Show a document: its place, its links both ways, its review, and the beads that name it.",
    run,
    "ddx doc show TD-001",
    arguments=(ID,),
    flags=(JSON,),
    schema="doc-shown",
)
