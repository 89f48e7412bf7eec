"""Findings and follow-ups become beads: one write, nothing twice (S-16, A-7).

What is to be filed is decided by helix.policy; here it is carried out on the tracker as it is at
that instant. A wish that the tracker refuses is dropped and said, and never stops the others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.text import listed
from ddx.tracker.drafting import create
from ddx.tracker.lifecycle import reopen
from ddx.tracker.model import (
    FINISHED,
    RUNNER,
    id_prefix,
    labels_of,
    link_of,
    status_of,
    text_of,
    typed,
)
from ddx.tracker.updating import Patch, add_dependency, update
from ddx.values import changed, value
from helix.actions.series import Series
from helix.policy.drafts import known_bead
from helix.policy.follow_ups import LABEL, Origin, plan_follow_ups, read_follow_ups
from helix.policy.review import FINDING_LABEL, Reviewed, depth_of, finding_labels, plan_filing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.execution.work import Site
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes, View
    from helix.desk import Desk
    from helix.policy.drafts import Draft, KnownBead
    from helix.policy.review import Finding, Reopened

FILED_KEY = "drafts-filed"
"""On the bead of an attempt: the last one whose work for later was filed."""

_DEPTH = "review-depth:"
_BROUGHT_UP = frozenset({LABEL, FINDING_LABEL})


@value
class Filed:
    """What came of proposals: beads that are new, that changed, and that said it already."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Beads that cannot go on before what was filed now."""
    referenced: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    """Findings that are for a person to read only."""
    remarks: tuple[str, ...] = ()
    question: str = ""
    """What a person must decide before it goes on; empty: nothing."""

    @property
    def has_changed(self) -> bool:
        return bool(self.created or self.updated or self.waiting)


def file_findings(desk: Desk, findings: Sequence[Finding], *, bead: str = "") -> Filed:
    """One bead for each distinct finding about the work of `bead`, before anything else (S-16)."""
    done = Filed()

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        series = Series(snapshot, now=now)
        plan = plan_filing(findings, known_beads(snapshot), about=_about(snapshot, bead))
        created = file_drafts(series, plan.new, draw_id=id_maker(desk.site))
        reopened = [each.id for each in plan.reopened if _reopened(series, each)]
        done = Filed(
            tuple(created.values()),
            tuple(reopened),
            referenced=tuple(bead_id for bead_id, _ in plan.referenced),
            reported=tuple(finding.title for finding in plan.reported),
            remarks=tuple(series.remarks),
            question=plan.question,
        )
        return series.changes()

    desk.site.tracker.change(decide)
    return done


def file_follow_ups(
    desk: Desk,
    text: str,
    *,
    origin: str,
    parent: str | None = None,
    spec_id: str | None = None,
    once: str = "",
) -> Filed:
    """Beads for what a reply left for later; beside its bead unless a parent is given (A-7).

    With `once`, an attempt, its bead says so in the same write, and a second time nothing is filed.
    """
    proposed = read_follow_ups(text)
    rejected = tuple(f"not filed, {it.reason}: {it.text}" for it in proposed.rejected)
    if not proposed.found:
        return Filed(remarks=rejected)
    done = Filed()

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal done
        series = Series(snapshot, now=now)
        if once and text_of(snapshot.row(origin), FILED_KEY) == once:
            return series.changes()
        source = _origin(snapshot, origin, parent=parent, spec_id=spec_id)
        plan = plan_follow_ups(proposed.found, known_beads(snapshot), origin=source)
        created = file_drafts(series, plan.new, draw_id=id_maker(desk.site))
        before = [created.get(name, name) for name in plan.waits_for]
        waits = [wanted for wanted in before if _wait(series, origin, wanted)]
        if once and origin in snapshot:
            patch = Patch({FILED_KEY: once})
            series.add(update(series, origin, patch, now=now, by=RUNNER))
        done = Filed(
            tuple(created.values()),
            waiting=(origin,) if waits else (),
            referenced=tuple(bead_id for bead_id, _ in plan.referenced),
            remarks=(*rejected, *plan.remarks, *series.remarks),
        )
        return series.changes()

    desk.site.tracker.change(decide)
    return done


def known_beads(snapshot: Snapshot) -> tuple[KnownBead, ...]:
    """Every bead that is there, the archive included, as far as doubles are concerned."""
    archive = snapshot.archive()
    archived = [row for row in archive.rows() if row["id"] not in snapshot] if archive else []
    return tuple(known_bead(row) for row in (*snapshot.rows(), *archived))


def id_maker(site: Site) -> Callable[[], str]:
    prefix = id_prefix(site.settings.bead_prefix or site.project.name)
    return lambda: f"{prefix}-{os.urandom(4).hex()}"


def file_drafts(
    series: Series, drafts: Sequence[Draft], *, draw_id: Callable[[], str]
) -> dict[str, str]:
    """The new beads by the keys of their drafts; links between them come when all are there."""
    created: dict[str, str] = {}
    for draft in drafts:
        row = changed(draft, depends_on=(), parent=open_parent(series, draft.parent)).as_row()
        bead_id = _free_id(series, draw_id)
        try:
            made = create(
                series, [{**row, "id": bead_id}], now=series.now, by=RUNNER, draw_id=draw_id
            )
        except DdxError as problem:
            series.remarks.append(f"{draft.title!r} was not filed: {problem.message}")
            continue
        series.add(made)
        created[draft.key] = bead_id
    for draft in drafts:
        for wanted in draft.depends_on if draft.key in created else ():
            _wait(series, created[draft.key], created.get(wanted, wanted))
    return created


def _free_id(view: View, draw_id: Callable[[], str]) -> str:
    while view.find(bead_id := draw_id()) is not None:
        continue
    return bead_id


def open_parent(view: View, parent: str) -> str:
    """The bead, or the nearest one above it that something can be added to; empty: none."""
    seen: set[str] = set()
    while parent and parent not in seen and (row := view.find(parent)) is not None:
        if parent in view and status_of(row) not in FINISHED:
            return parent
        seen.add(parent)
        parent = link_of(row, "parent")
    return ""


def _wait(series: Series, bead_id: str, wanted: str) -> bool:
    """Whether the bead waits for the other one now, because of us."""
    if wanted in series.waits_for(bead_id):
        return False
    try:
        series.add(add_dependency(series, bead_id, wanted, now=series.now, by=RUNNER))
    except DdxError as problem:
        series.remarks.append(f"{bead_id} does not wait for {wanted}: {problem.message}")
        return False
    return True


def _reopened(series: Series, found: Reopened) -> bool:
    reason = f"a review found it again: {found.finding.place or found.finding.title}"
    try:
        series.add(reopen(series, found.id, reason=reason, actor=RUNNER, now=series.now))
        labels = finding_labels(found.finding, found.depth)
        old = tuple(
            label
            for label in labels_of(series.row(found.id))
            if label.startswith((_DEPTH, "severity:")) and label not in labels
        )
        patch = Patch({}, add_labels=labels, remove_labels=old)
        series.add(update(series, found.id, patch, now=series.now, by=RUNNER))
    except DdxError as problem:
        series.remarks.append(f"{typed(found.id)} was not opened again: {problem.message}")
        return False
    return True


def _about(snapshot: Snapshot, bead: str) -> Reviewed:
    row = snapshot.find(bead) if bead else None
    if row is None:
        return Reviewed()
    parent = open_parent(snapshot, link_of(row, "parent"))
    return Reviewed(bead, parent, link_of(row, "spec-id"), depth_of(labels_of(row)))


def _origin(snapshot: Snapshot, bead: str, *, parent: str | None, spec_id: str | None) -> Origin:
    row = snapshot.row(bead)
    below = open_parent(snapshot, link_of(row, "parent") if parent is None else parent)
    return Origin(
        bead,
        below,
        _ancestors(snapshot, below),
        link_of(row, "spec-id") if spec_id is None else spec_id,
        is_open=bead in snapshot and status_of(row) not in FINISHED,
        depth=_chain(snapshot, row),
    )


def _chain(snapshot: Snapshot, row: Row) -> int:
    """How many beads that agents brought up led to this one, each from the one before (S-13)."""
    seen: dict[str, bool] = {}
    found: Row | None = row
    while found is not None and (bead_id := text_of(found, "id")) not in seen:
        seen[bead_id] = not _BROUGHT_UP.isdisjoint(labels_of(found))
        found = snapshot.find(link_of(found, "discovered-from"))
    return sum(seen.values())


def _ancestors(view: View, bead_id: str) -> tuple[str, ...]:
    found: list[str] = []
    while (bead_id := view.parent(bead_id) if bead_id else "") and bead_id not in found:
        found.append(bead_id)
    return tuple(found)


def spoken(filed: Filed) -> str:
    """What was filed, in a sentence for a person."""
    parts = [
        f"filed {listed(filed.created)}" if filed.created else "",
        f"opened again {listed(filed.updated)}" if filed.updated else "",
        f"{listed(filed.waiting)} waits for that" if filed.waiting else "",
        f"known already as {listed(filed.referenced)}" if filed.referenced else "",
        f"only worth a word: {listed(filed.reported)}" if filed.reported else "",
    ]
    return "; ".join(filter(None, parts))
