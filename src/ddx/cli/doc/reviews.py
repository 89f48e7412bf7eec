"""`ddx doc stale`, `ddx doc stamp` and `ddx doc history`: reviews that are due, made and past."""

from __future__ import annotations

from ddx.base import Refused, UsageError, dumps, listed, login, variable
from ddx.cli.context import CLOCK, here, load_documents
from ddx.cli.doc.output import ID, in_authority_order
from ddx.console import JSON, Argument, Command, Flag, answer, answer_json, bold, say, table, when
from ddx.documents import as_json, pairs, read_staleness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.documents import Graph, ReviewStamp, StaleDocument, StalenessReport
    from ddx.git import Commit
    from ddx.project import Project

_UNREVIEWED_SHOWN = 20
_UPSTREAM_SHOWN = 8


@Command.of(example="ddx doc stale", flags=(JSON,), schema="doc-stale")
def stale_documents(*, json: bool) -> int:
    """List documents whose upstream changed since their review, and those never reviewed."""
    project, graph = load_documents()
    found = read_staleness(project, graph)
    counts = _counts(graph, found)
    if json:
        report = pairs(
            stale=_as_json(graph, found.stale),
            unreviewed=as_json(graph, found.unreviewed),
            counts=dumps(counts),
        )
        answer_json(f"{{{report}}}")
    else:
        _print_stale(graph, found, counts)
    return 0


def _as_json(graph: Graph, stale: Sequence[StaleDocument]) -> str:
    more = [
        pairs(
            reasons=dumps(item.reasons),
            by_consequence=dumps(bool(item.cause)),
            cause=dumps(item.cause or None),
        )
        for item in stale
    ]
    return as_json(graph, [item.n for item in stale], more)


def _counts(graph: Graph, found: StalenessReport) -> dict[str, int]:
    """A document that was never stamped may be stale by consequence too: it is counted twice."""
    reviewable = sum(graph.is_reviewable(n) for n in range(len(graph)))
    waiting = {*found.unreviewed, *(item.n for item in found.stale)}
    return {
        "stale": len(found.stale),
        "by_consequence": sum(bool(item.cause) for item in found.stale),
        "unreviewed": len(found.unreviewed),
        "up_to_date": reviewable - len(waiting),
    }


def _print_stale(graph: Graph, found: StalenessReport, counts: dict[str, int]) -> None:
    if found.stale:
        table(
            ("stale", "how", "because", "title"),
            [
                (
                    graph.ids[item.n],
                    "by consequence" if item.cause else "upstream",
                    "; ".join(item.reasons),
                    graph.titles[item.n],
                )
                for item in found.stale
            ],
        )
        say()
    if found.unreviewed:
        names = ", ".join(graph.ids[n] for n in found.unreviewed[:_UNREVIEWED_SHOWN])
        more = len(found.unreviewed) - _UNREVIEWED_SHOWN
        say(f"never reviewed: {names}{f' and {more} more' if more > 0 else ''}")
    say(
        f"{counts['stale']} stale ({counts['by_consequence']} by consequence), "
        f"{counts['unreviewed']} never reviewed, {counts['up_to_date']} up to date"
    )


@Command.of(
    example="ddx doc stamp TD-001 TP-001",
    arguments=(Argument("id", "documents that you reviewed", many=True, required=False),),
    flags=(Flag("--all", "every document that can be reviewed", kind="switch"), JSON),
    schema="doc-stamped",
)
def stamp(*, id: tuple[str, ...], all: bool, json: bool) -> int:
    """Record that you reviewed documents against their upstream as it is now."""
    from ddx.documents import record, stamp_for

    if bool(id) == all:
        raise UsageError(
            "name the documents that you reviewed, or say --all",
            hint="for example: ddx doc stamp TD-001",
        )
    project, graph = load_documents()
    here().refuse_inside_an_attempt(what="recording a review")
    places = _reviewable(graph) if all else _required(graph, id)
    by, at = _reviewer(project), CLOCK.stamp()
    stamps = [stamp_for(graph, n, at=at, by=by) for n in places]
    record(project, stamps)
    if json:
        answer([{"id": item.id, "at": at, "by": by, "against": item.deps} for item in stamps])
        return 0
    for item in stamps:
        upstream = list(item.deps)[:_UPSTREAM_SHOWN]
        upstream += [f"{more} more"] if (more := len(item.deps) - _UPSTREAM_SHOWN) > 0 else []
        say(f"{item.id}: reviewed by {by}, against {listed(upstream) or 'nothing upstream'}")
    return 0


def _reviewable(graph: Graph) -> list[int]:
    return in_authority_order(graph, (n for n in range(len(graph)) if graph.is_reviewable(n)))


def _required(graph: Graph, names: Sequence[str]) -> list[int]:
    """All of them or none."""
    places = list(dict.fromkeys(graph.require(name) for name in names))
    for n in places:
        if not graph.is_reviewable(n):
            what = graph.statuses[n] or f"of type {graph.types[n]}"
            raise Refused(
                f"{graph.ids[n]} is {what}: it is not reviewed, and nothing was stamped",
                hint=f"ddx doc show {graph.ids[n]}",
            )
    return places


def _reviewer(project: Project) -> str:
    """An agent by its own name, a person by git's."""
    from ddx.git import user_name

    agent = variable("DDX_AGENT_NAME")
    return agent or user_name(project.root) or login() or "someone"


@Command.of(example="ddx doc history TD-001", arguments=(ID,), flags=(JSON,), schema="doc-history")
def history(*, id: str, json: bool) -> int:
    """Show a document's reviews, and the commits that touched its file."""
    from ddx.documents import reviews
    from ddx.git import commits_of

    project, graph = load_documents()
    n = graph.require(id)
    stamps = [item for item in reviews.history(project) if item.id == graph.ids[n]]
    commits = commits_of(project.root, graph.paths[n])
    if json:
        seen = [{"at": item.at, "by": item.by, "against": item.deps} for item in stamps]
        done = [item.__dict__ for item in commits]
        answer({"id": graph.ids[n], "path": graph.paths[n], "reviews": seen, "commits": done})
        return 0
    say(bold(graph.ids[n]), f"  {graph.titles[n]}")
    say(graph.paths[n], "\n")
    _print_history(stamps, commits)
    return 0


def _print_history(stamps: Sequence[ReviewStamp], commits: Sequence[Commit]) -> None:
    now = CLOCK.stamp()
    if stamps:
        table(
            ("reviewed", "by", "against"),
            [(when(item.at, now=now), item.by, ", ".join(item.deps)) for item in reversed(stamps)],
        )
    else:
        say("never reviewed")
    say()
    if commits:
        table(
            ("commit", "when", "by", "what"),
            [
                (item.commit[:12], when(item.at, now=now), item.author, item.subject)
                for item in commits
            ],
        )
    else:
        say("never committed")
