"""Which documents were reviewed before what they follow from changed (G-8).

Reviews stand in `.ddx/reviews.jsonl`: one line a review, the last one of a document counts.
"""

from __future__ import annotations

from ddx.base import CorruptFile, append, loads, to_bytes, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ddx.documents.graph import Graph
    from ddx.project import Project

_HASH_LENGTH = 32
_ID = b'"id":'


@value
class ReviewStamp:
    """A review: what the document's upstream looked like then."""

    id: str
    at: str
    by: str
    deps: Mapping[str, str]


@value
class StaleDocument:
    """A document to look at again, and why; `cause` is where the change began."""

    n: int
    reasons: tuple[str, ...]
    cause: str = ""
    """Empty: its own upstream changed. Else: stale only because this document is."""


@value
class StalenessReport:
    stale: tuple[StaleDocument, ...]
    unreviewed: tuple[int, ...]


def staleness(
    graph: Graph, stamps: Mapping[str, ReviewStamp], *, among: Iterable[int] | None = None
) -> StalenessReport:
    """Stale documents in the order of authority, consequences included; and those never stamped.

    `among`: only these; they must hold all that is upstream of them, for that decides.
    """
    stale: dict[int, StaleDocument] = {}
    unreviewed = []
    for n in range(len(graph)) if among is None else among:
        if not graph.is_reviewable(n):
            continue
        stamp = stamps.get(graph.ids[n]) or _own_stamp(graph, n)
        if stamp is None:
            unreviewed.append(n)
        elif reasons := _changes_since(graph, n, stamp):
            stale[n] = StaleDocument(n, reasons)
    _spread(graph, stale)
    return StalenessReport(
        tuple(sorted(stale.values(), key=lambda item: graph.rank(item.n))),
        tuple(sorted(unreviewed, key=graph.rank)),
    )


def stamp_for(graph: Graph, n: int, *, at: str, by: str) -> ReviewStamp:
    """A review of the document against its upstream as it is now."""
    deps = {graph.ids[up]: graph.hashes[up] for up in graph.ups[n]}
    return ReviewStamp(graph.ids[n], at, by, deps=deps)


def _own_stamp(graph: Graph, n: int) -> ReviewStamp | None:
    """The `review` block of its front matter, unless its hashes are another tool's."""
    deps = graph.reviews.get(graph.ids[n])
    if deps is None or any(len(found) != _HASH_LENGTH for found in deps.values()):
        return None
    return ReviewStamp(graph.ids[n], "", "", deps=deps)


def _changes_since(graph: Graph, n: int, stamp: ReviewStamp) -> tuple[str, ...]:
    upstream = {graph.ids[up]: graph.hashes[up] for up in graph.ups[n]}
    reasons = [
        f"{name} changed since the review" if name in stamp.deps else f"{name} is new upstream"
        for name, found in upstream.items()
        if stamp.deps.get(name) != found
    ]
    reasons += [f"{name} is no longer upstream" for name in stamp.deps if name not in upstream]
    return tuple(reasons)


def _spread(graph: Graph, stale: dict[int, StaleDocument]) -> None:
    """Everything downstream of a stale document is stale by consequence."""
    causes = {n: graph.ids[n] for n in sorted(stale)}
    border = list(causes)
    for n in border:  # grows as it goes
        for down in graph.downs[n]:
            if down not in causes and graph.is_reviewable(down):
                causes[down] = causes[n]
                border.append(down)
    for n in border[len(stale) :]:
        reasons = tuple(
            f"{graph.ids[up]}, which it follows from, is stale"
            for up in graph.ups[n]
            if up in causes
        )
        stale[n] = StaleDocument(n, reasons, causes[n])


# -- the reviews on record ---------------------------------------------------------------------


def path_of(project: Project) -> str:
    return project.ddx("reviews.jsonl")


def read_staleness(project: Project, graph: Graph) -> StalenessReport:
    """What is stale by the reviews on record, and what was never reviewed (G-8)."""
    return staleness(graph, read_stamps(project))


def read_stamps(project: Project, *, only: Iterable[str] | None = None) -> dict[str, ReviewStamp]:
    """The last review of each document, or of a few: then the other lines are passed over."""
    if only is None:
        return {stamp.id: stamp for stamp in history(project)}
    wanted = set(only)
    ends = {_end(doc_id) for doc_id in wanted}
    stamps = (
        _stamp(project, number, line)
        for number, line in _lines(project)
        if (end := line[line.rfind(_ID) :]) in ends or b"," in end  # another tool's order of keys
    )
    return {stamp.id: stamp for stamp in stamps if stamp.id in wanted}


def history(project: Project) -> list[ReviewStamp]:
    """Every review, in the order of the file."""
    return [_stamp(project, number, line) for number, line in _lines(project)]


def _lines(project: Project) -> list[tuple[int, bytes]]:
    try:
        with open(path_of(project), "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    return [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _end(doc_id: str) -> bytes:
    """How a line of this document ends: `record` writes the id last."""
    return to_bytes({"id": doc_id})[1:]


def record(project: Project, stamps: Iterable[ReviewStamp]) -> None:
    """Append reviews; a line that a crash cut short is named when read and spoils no other."""
    lines = b"".join(
        to_bytes({"at": item.at, "by": item.by, "deps": dict(item.deps), "id": item.id}) + b"\n"
        for item in stamps
    )
    append(path_of(project), lines)


def _stamp(project: Project, number: int, line: bytes) -> ReviewStamp:
    try:
        row = loads(line.decode("utf-8"))
        deps = {str(name): str(found) for name, found in row["deps"].items()}
        return ReviewStamp(
            str(row["id"]), str(row.get("at", "")), str(row.get("by", "")), deps=deps
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptFile(
            f"{path_of(project)}:{number}: not a review", hint="mend or remove that line"
        ) from None
