"""What was asked, what came of it, what is proven, and what needs a person (V-3).

Everything is read once; all the rest is computed from that. Nothing is filed here: what a gap
calls for is printed as a `helix triage` command.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ddx.base import NotFound, cut, shown, value
from ddx.documents import ExecutionLog, load_graph
from ddx.git import Repository
from ddx.proof import Floors
from ddx.tracker import typed
from helix.passes import ScopeKind, identity
from helix.verification.attempt_history import AttemptHistory, Spending, read_history
from helix.verification.coverage import DESIGN, TEST, DocumentFinder, cover, proofs_by_document
from helix.verification.report_numbers import (
    BeadPhase,
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

    from ddx.attempts import AttemptContext
    from ddx.documents import Graph
    from ddx.tracker import Bead, PendingLanding
    from helix.passes import Scope
    from helix.verification.coverage import Coverage
    from helix.verification.report_numbers import AttemptCounts, BeadLine, DayNumbers, HarnessRate

_ASKING = frozenset({"kind:escalation", "kind:gap"})
"""Beads that nobody but a person can settle."""
_LONGEST_TITLE = 80
_LONGEST_REASON = 400
_MOST_POINTS = 200


@value
class ReportNeed:
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
class ProjectReport:
    project: str
    scope: str
    described: str
    at: str
    since: str
    """Empty: from the beginning."""
    counts: Mapping[str, int]
    lines: tuple[BeadLine, ...]
    needs: tuple[ReportNeed, ...]
    coverage: tuple[Coverage, ...]
    follow_ons: tuple[FollowOn, ...]
    trends: tuple[Trend, ...]
    days: tuple[DayNumbers, ...]
    tries: tuple[AttemptCounts, ...]
    harnesses: tuple[HarnessRate, ...]
    memory: tuple[HarnessRate, ...]
    spent: Spending = Spending("total")
    remarks: tuple[str, ...] = ()
    """What could not be read, and so is not in it."""

    def of(self, standing: BeadPhase) -> tuple[BeadLine, ...]:
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
class ReportInput:
    """All that a report is made of, as it was read."""

    beads: tuple[Bead, ...]
    attempts: AttemptHistory
    kept: frozenset[str]
    """Attempts whose work is kept at a ref."""
    pending: tuple[PendingLanding, ...]
    graph: Graph
    executions: ExecutionLog
    floors: Floors
    document_root: str


def read_seen(
    site: AttemptContext, *, tell: Callable[[str], None] = lambda sentence: None
) -> ReportInput:
    """The tracker with its archive, every record, the graph and the runs; nothing is changed."""
    project, roots = site.project, site.settings.document_roots
    graph = load_graph(project, roots, clock=site.clock)
    repository = Repository(project.root)
    kept = repository.kept() if repository.exists else ()
    return ReportInput(
        tuple(read_beads(site)),
        read_history(project),
        frozenset(item.attempt for item in kept),
        pending=site.tracker.pending_landings(tell=tell),
        graph=graph,
        executions=ExecutionLog.read(project, roots, graph),
        floors=Floors.read(project),
        document_root=roots[0],
    )


def read_beads(site: AttemptContext) -> Iterator[Bead]:
    """Every bead, those in the archive too; none where there is no tracker."""
    try:
        snapshot = site.tracker.snapshot()
    except NotFound:
        return
    yield from snapshot.beads()
    yield from snapshot.archived_beads()


def summarise(
    seen: ReportInput, scope: Scope, *, project: str, at: str, since: str = ""
) -> ProjectReport:
    """The report on a part of the project; with `since`, of what happened from then on."""
    beads = _held(seen, scope)
    ids = {bead.id for bead in beads}
    finder = DocumentFinder(seen.graph, {bead.id: bead for bead in seen.beads})
    lines = lines_of(beads, seen.attempts, kept=seen.kept, since=since)
    happened = [
        it
        for it in seen.attempts.all
        if is_since(it.at, since) and (scope.kind is ScopeKind.REPO or ids.intersection(it.beads))
    ]
    landed = {line.id: line.ended_at for line in lines if line.standing is BeadPhase.LANDED}
    done = [(bead, landed[bead.id]) for bead in beads if bead.id in landed]
    proofs = proofs_by_document(
        finder,
        ((bead, ended) for bead, ended in done if not is_planning(bead)),
        seen.executions,
        seen.attempts.tested,
    )
    coverage = cover(seen.graph, _wanted(seen.graph, finder, scope, beads), proofs)
    later = seen.attempts.landed_later
    return ProjectReport(
        project=project,
        scope=scope.text,
        described=scope.described,
        at=at,
        since=since,
        counts=counts(lines, since=since),
        lines=tuple(line for line in lines if _is_told(line, since)),
        needs=tuple(_needs(seen, beads, lines, coverage)),
        coverage=coverage,
        follow_ons=tuple(_follow_ons(seen, coverage)),
        trends=tuple(_trends(seen, scope, since)),
        days=days_of(lines, happened, since=since),
        tries=tries_of(lines),
        harnesses=rates_by_harness(happened, later),
        memory=rates_by_memory(happened, later),
        spent=total_of(happened),
        remarks=(*seen.attempts.unreadable, *seen.executions.history.unreadable),
    )


def _is_told(line: BeadLine, since: str) -> bool:
    """Something happened to it since then, or it waits for somebody."""
    waits = line.standing in (BeadPhase.PRESERVED, BeadPhase.BLOCKED, BeadPhase.CLAIMED)
    is_tried = line.attempts > 0
    return waits or is_tried or is_since(line.asked_at, since) or is_since(line.ended_at, since)


def _held(seen: ReportInput, scope: Scope) -> list[Bead]:
    """The beads of the scope; an epic is done through its parts, so they belong to it."""
    held = {bead.id for bead in seen.beads if scope.holds(bead)}
    parts: dict[str, list[str]] = {}
    for bead in seen.beads:
        parts.setdefault(bead.parent, []).append(bead.id)
    unseen = list(held)
    while unseen:
        fresh = [part for part in parts.get(unseen.pop(), ()) if part not in held]
        held.update(fresh)
        unseen += fresh
    return [bead for bead in seen.beads if bead.id in held]


def _wanted(
    graph: Graph, finder: DocumentFinder, scope: Scope, beads: Sequence[Bead]
) -> Callable[[str], bool]:
    """The scope's documents; of a scope of beads those that govern them."""
    if scope.kind is ScopeKind.REPO or scope.documents:
        return scope.holds_document
    found = list(dict.fromkeys(n for bead in beads for n in finder.governing(bead)))
    for n in found:  # grows as it goes
        found += [up for up in graph.ups[n] if up not in found]
    ids = {graph.ids[n] for n in found}
    return ids.__contains__


def _needs(
    seen: ReportInput,
    beads: Sequence[Bead],
    lines: Sequence[BeadLine],
    coverage: Sequence[Coverage],
) -> Iterator[ReportNeed]:
    waiting = {it: item for item in seen.pending for it in item.beads}
    for bead in beads:
        name = typed(bead.id)
        if bead.is_in_conflict:
            yield ReportNeed(f"{bead.id}: two sides of a merge changed it", f"ddx bead why {name}")
        is_asked = bead.type == "decision" or not _ASKING.isdisjoint(bead.labels)
        if is_asked and bead.status == "open":
            what = f"{bead.id} is to be decided: {cut(bead.title, _LONGEST_REASON)}"
            yield ReportNeed(what, f"ddx bead show {name}")
    for line in lines:
        reason = cut(line.reason, _LONGEST_REASON)
        if line.standing is BeadPhase.BLOCKED:
            said = reason or "it does not say why"
            yield ReportNeed(f"{line.id} is blocked: {said}", f"helix explain {typed(line.id)}")
        elif line.standing is BeadPhase.PRESERVED and line.id in waiting:
            pending = waiting[line.id]
            what = f"{line.id} is proven and waits to land: {cut(pending.reason, _LONGEST_REASON)}"
            yield ReportNeed(what, "git status")
        elif line.standing is BeadPhase.PRESERVED:
            what = f"{line.id} did not land, and what was made of it is kept: {reason}"
            yield ReportNeed(what, f"ddx agent show {typed(line.kept)}")
    for proof in dict.fromkeys(proof for row in coverage for proof in row.failed):
        if proof.kind == "run":
            what, command = f"the last run of {proof.id} failed", f"ddx exec show {quote(proof.id)}"
            yield ReportNeed(what, command)
        else:
            yield ReportNeed(f"the tests in {proof.id} fail", "helix measure")


def _follow_ons(seen: ReportInput, coverage: Sequence[Coverage]) -> Iterator[FollowOn]:
    """What to type for each gap; only `helix triage` files anything (V-3)."""
    filed = {identity(bead.title): bead.id for bead in seen.beads if not bead.is_finished}
    for line in coverage:
        title, verify = _draft(line, seen.document_root)
        if title:
            words = ["helix triage", quote(title), "--spec-id", quote(line.id)]
            command = " ".join([*words, "--verify", quote(verify)])
            yield FollowOn(line.id, line.missing, command, filed=filed.get(identity(title), ""))
        elif line.missing:
            yield FollowOn(line.id, line.missing, f"helix measure {quote(line.id)}")


def _draft(line: Coverage, document_root: str) -> tuple[str, str]:
    """The title of a bead that closes the gap, and the command that proves it; empty: none does."""
    title = cut(shown(line.title, one_line=True), _LONGEST_TITLE)
    named = title if title.startswith(line.id) else f"{line.id}: {title}".rstrip(": ")
    gaps = {DESIGN: ("Design", f"{document_root}/02-design"), TEST: ("Test", "tests")}
    if line.missing not in gaps:
        return "", ""
    word, folder = gaps[line.missing]
    return f"{word} {named}", f"grep -rqwF -e {quote(line.id)} {quote(folder)}"


def _trends(seen: ReportInput, scope: Scope, since: str) -> Iterator[Trend]:
    for metric in seen.executions.definitions.metrics.values():
        if metric.is_ratchet and scope.holds_document(metric.id):
            points = [
                (record.started_at, number)
                for record, number in seen.executions.history.measured(metric.name)
                if is_since(record.started_at, since)
            ][-_MOST_POINTS:]
            name, unit, direction = metric.name, metric.unit, metric.direction
            floor = seen.floors.of(metric)
            yield Trend(name, unit, direction, floor=floor, points=tuple(points))
