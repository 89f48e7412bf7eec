"""What was asked, what came of it, what is proven, and what needs a person (V-3).

Everything is read once; all the rest is computed from that. Nothing is filed here: what a gap
calls for is printed as a `helix triage` command.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ddx.errors import NotFound
from ddx.execution.ratchets import floor_of, read_floors
from ddx.git import common_folder
from ddx.git.landing import kept
from ddx.graph.cache import load_graph
from ddx.graph.proof.catalog import read_definitions
from ddx.graph.proof.records import History, read_history
from ddx.text import cut, shown_on_one_line
from ddx.tracker.model import labels_of, link_of, status_of, text_of, type_of, typed
from ddx.tracker.pending import PENDING, read_pending
from ddx.values import value
from helix.actions.scope import Kind
from helix.policy.drafts import identity
from helix.verification.attempts import Attempts, read_attempts
from helix.verification.coverage import (
    DESIGN,
    TEST,
    DocumentFinder,
    cover,
    proofs_by_document,
)
from helix.verification.spending import Spent
from helix.verification.summaries import (
    Standing,
    counts,
    days_of,
    is_planning,
    is_since,
    lines_of,
    rates_by_harness,
    rates_by_memory,
    total_of,
    tries_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.execution.model import Measured
    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.graph.proof.definitions import Definitions
    from ddx.tracker.model import Row
    from ddx.tracker.pending import Pending
    from helix.actions.scope import Scope
    from helix.verification.coverage import Coverage
    from helix.verification.summaries import Day, Line, Rate, Tries

_ASKING = frozenset({"kind:escalation", "kind:gap"})
"""Beads that nobody but a person can settle."""
_LONGEST_TITLE = 80
_LONGEST_REASON = 400
_MOST_POINTS = 200


@value
class Need:
    """Something that waits for a person: what it is, and what to type next."""

    what: str
    next: str


@value
class FollowOn:
    """What a gap calls for; `filed` is the bead that says the same already."""

    document: str
    missing: str
    command: str
    filed: str = ""


@value
class Trend:
    """A ratchet and its values, oldest first, each with its time."""

    name: str
    unit: str
    direction: str
    floor: float | None
    points: tuple[tuple[str, float], ...]


@value
class Report:
    project: str
    scope: str
    described: str
    at: str
    since: str
    """Empty: from the beginning."""
    counts: Mapping[str, int]
    lines: tuple[Line, ...]
    needs: tuple[Need, ...]
    coverage: tuple[Coverage, ...]
    follow_ons: tuple[FollowOn, ...]
    trends: tuple[Trend, ...]
    days: tuple[Day, ...]
    tries: tuple[Tries, ...]
    harnesses: tuple[Rate, ...]
    memory: tuple[Rate, ...]
    spent: Spent = Spent("total")
    remarks: tuple[str, ...] = ()
    """What could not be read, and so is not in it."""

    def of(self, standing: Standing) -> tuple[Line, ...]:
        """The beads that stand there, newest ending or asking first."""
        found = [line for line in self.lines if line.standing is standing]
        return tuple(sorted(found, key=lambda it: (it.ended_at or it.asked_at, it.id))[::-1])

    @property
    def attempts(self) -> int:
        return sum(rate.attempts for rate in self.harnesses)

    @property
    def completed(self) -> int:
        return sum(rate.completed for rate in self.harnesses)

    @property
    def gaps(self) -> tuple[Coverage, ...]:
        return tuple(row for row in self.coverage if row.gap)


@value
class Seen:
    """All that a report is made of, as it was read."""

    rows: tuple[Row, ...]
    attempts: Attempts
    kept: frozenset[str]
    """Attempts whose work is kept at a ref."""
    pending: tuple[Pending, ...]
    graph: Graph
    definitions: Definitions
    history: History
    floors: tuple[Measured, ...]
    document_root: str


def read_seen(site: Site, *, tell: Callable[[str], None] = lambda sentence: None) -> Seen:
    """The tracker with its archive, every record, the graph and the runs; nothing is changed."""
    project, roots = site.project, site.settings.document_roots
    graph = load_graph(project, roots, clock=site.clock)
    return Seen(
        tuple(read_rows(site)),
        read_attempts(project),
        frozenset(item.attempt for item in kept(project.root))
        if common_folder(project.root)
        else frozenset(),
        tuple(read_pending(project.ddx(*PENDING), tell=tell)),
        graph,
        read_definitions(project.root, roots, graph),
        read_history(project),
        read_floors(project),
        roots[0],
    )


def read_rows(site: Site) -> Iterator[Row]:
    """Every bead, those in the archive too; none where there is no tracker."""
    try:
        snapshot = site.tracker.snapshot()
    except NotFound:
        return
    yield from snapshot.rows()
    archive = snapshot.archive()
    if archive is not None:
        yield from (row for row in archive.rows() if row["id"] not in snapshot)


def summarise(seen: Seen, scope: Scope, *, project: str, at: str, since: str = "") -> Report:
    """The report on a part of the project; with `since`, of what happened from then on."""
    rows = _held(seen, scope)
    ids = {str(row["id"]) for row in rows}
    finder = DocumentFinder(seen.graph, {str(row["id"]): row for row in seen.rows})
    lines = lines_of(rows, seen.attempts, kept=seen.kept, since=since)
    happened = [
        it
        for it in seen.attempts.all
        if is_since(it.at, since) and (scope.kind is Kind.REPO or ids.intersection(it.beads))
    ]
    landed = {line.id: line.ended_at for line in lines if line.standing is Standing.LANDED}
    done = [(row, landed[row["id"]]) for row in rows if row["id"] in landed]
    proofs = proofs_by_document(
        finder,
        ((row, ended) for row, ended in done if not is_planning(row)),
        seen.history.records,
        seen.attempts.tested,
    )
    coverage = cover(seen.graph, _wanted(seen.graph, finder, scope, rows), proofs)
    later = seen.attempts.landed_later
    return Report(
        project,
        scope.text,
        scope.described,
        at,
        since,
        counts(lines, since=since),
        tuple(line for line in lines if _is_told(line, since)),
        tuple(_needs(seen, rows, lines, coverage)),
        coverage,
        tuple(_follow_ons(seen, coverage)),
        tuple(_trends(seen, scope, since)),
        days_of(lines, happened, since=since),
        tries_of(lines),
        rates_by_harness(happened, later),
        rates_by_memory(happened, later),
        total_of(happened),
        (*seen.attempts.unreadable, *seen.history.unreadable),
    )


def _is_told(line: Line, since: str) -> bool:
    """Something happened to it since then, or it waits for somebody."""
    waits = line.standing in (Standing.PRESERVED, Standing.BLOCKED, Standing.CLAIMED)
    return (
        waits
        or line.attempts > 0
        or is_since(line.asked_at, since)
        or is_since(line.ended_at, since)
    )


def _held(seen: Seen, scope: Scope) -> list[Row]:
    """The beads of the scope; an epic is done through its parts, so they belong to it."""
    held = {str(row["id"]) for row in seen.rows if scope.holds(row)}
    parts: dict[str, list[str]] = {}
    for row in seen.rows:
        parts.setdefault(link_of(row, "parent"), []).append(str(row["id"]))
    unseen = list(held)
    while unseen:
        fresh = [part for part in parts.get(unseen.pop(), ()) if part not in held]
        held.update(fresh)
        unseen += fresh
    return [row for row in seen.rows if row["id"] in held]


def _wanted(
    graph: Graph, finder: DocumentFinder, scope: Scope, rows: Sequence[Row]
) -> Callable[[str], bool]:
    """The scope's documents; of a scope of beads those that govern them."""
    if scope.kind is Kind.REPO or scope.documents:
        return scope.holds_document
    found = list(dict.fromkeys(n for row in rows for n in finder.governing(row)))
    for n in found:  # grows as it goes
        found += [up for up in graph.ups[n] if up not in found]
    ids = {graph.ids[n] for n in found}
    return ids.__contains__


def _needs(
    seen: Seen, rows: Sequence[Row], lines: Sequence[Line], coverage: Sequence[Coverage]
) -> Iterator[Need]:
    waiting = {bead: item for item in seen.pending for bead in item.beads}
    for row in rows:
        name = typed(str(row["id"]))
        if row.get("merge-conflicts"):
            yield Need(f"{row['id']}: two sides of a merge changed it", f"ddx bead why {name}")
        is_asked = type_of(row) == "decision" or not _ASKING.isdisjoint(labels_of(row))
        if is_asked and status_of(row) == "open":
            what = f"{row['id']} is to be decided: {cut(text_of(row, 'title'), _LONGEST_REASON)}"
            yield Need(what, f"ddx bead show {name}")
    for line in lines:
        reason = cut(line.reason, _LONGEST_REASON)
        if line.standing is Standing.BLOCKED:
            said = reason or "it does not say why"
            yield Need(f"{line.id} is blocked: {said}", f"helix explain {typed(line.id)}")
        elif line.standing is Standing.PRESERVED and line.id in waiting:
            pending = waiting[line.id]
            what = f"{line.id} is proven and waits to land: {cut(pending.reason, _LONGEST_REASON)}"
            yield Need(what, "git status")
        elif line.standing is Standing.PRESERVED:
            what = f"{line.id} did not land, and what was made of it is kept: {reason}"
            yield Need(what, f"ddx agent show {typed(line.kept)}")
    for proof in dict.fromkeys(proof for row in coverage for proof in row.failed):
        if proof.kind == "run":
            yield Need(f"the last run of {proof.id} failed", f"ddx exec show {quote(proof.id)}")
        else:
            yield Need(f"the tests in {proof.id} fail", "helix measure")


def _follow_ons(seen: Seen, coverage: Sequence[Coverage]) -> Iterator[FollowOn]:
    """What to type for each gap; only `helix triage` files anything (V-3)."""
    filed = {
        identity(text_of(row, "title")): str(row["id"])
        for row in seen.rows
        if status_of(row) not in ("closed", "cancelled")
    }
    for row in coverage:
        title, verify = _draft(row, seen.document_root)
        if title:
            words = ["helix triage", quote(title), "--spec-id", quote(row.id)]
            command = " ".join([*words, "--verify", quote(verify)])
            yield FollowOn(row.id, row.missing, command, filed.get(identity(title), ""))
        elif row.missing:
            yield FollowOn(row.id, row.missing, f"helix measure {quote(row.id)}")


def _draft(row: Coverage, document_root: str) -> tuple[str, str]:
    """The title of a bead that closes the gap, and the command that proves it; empty: none does."""
    title = cut(shown_on_one_line(row.title), _LONGEST_TITLE)
    named = title if title.startswith(row.id) else f"{row.id}: {title}".rstrip(": ")
    folder = {DESIGN: f"{document_root}/02-design", TEST: "tests"}.get(row.missing, "")
    words = {DESIGN: "Design", TEST: "Test"}.get(row.missing, "")
    if not folder:
        return "", ""
    return f"{words} {named}", f"grep -rqwF -e {quote(row.id)} {quote(folder)}"


def _trends(seen: Seen, scope: Scope, since: str) -> Iterator[Trend]:
    for metric in seen.definitions.metrics.values():
        if metric.is_ratchet and scope.holds_document(metric.id):
            measured = seen.history.measured(metric.name)
            points = [
                (record.started_at, number)
                for record, number in measured
                if is_since(record.started_at, since)
            ]
            floor = floor_of(metric, seen.floors)
            yield Trend(
                metric.name, metric.unit, metric.direction, floor, tuple(points[-_MOST_POINTS:])
            )
