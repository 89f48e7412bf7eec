"""Findings and follow-ups become beads: one write, nothing twice (S-16, A-7).

What is to be filed is decided by helix.passes.follow_ups; here it is carried out on the tracker as
it is at that instant. A wish that the tracker refuses is dropped and said, and never stops the
others.

What an attempt leaves for later is kept with its record before anything lands. Whether the attempt
lands at once, after a crash or when the operator's edits are out of the way: whoever comes next
files it, and on the attempt's own bead stands, in the same write, that it was done. What a pass
over documents drafts counts only if the pass lands; what a build left over is worth a bead however
the build ended.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.attempts import read_attempts
from ddx.base import DdxError, JsonFile, NotFound, Refused, listed, value
from ddx.tracker import BeadPatch, id_prefix, typed
from helix.passes.drafts import file_drafts, known_bead, link_beads, open_parent
from helix.passes.follow_ups import (
    DEPTH_LABEL,
    FINDING_LABEL,
    LABEL,
    FollowUpOrigin,
    ReviewedWork,
    depth_of,
    finding_labels,
    plan_filing,
    plan_follow_ups,
    read_follow_ups,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ddx.attempts import AttemptContext
    from ddx.project import Project
    from ddx.tracker import Bead, Snapshot, TrackerEdit
    from helix.passes.drafts import KnownBead
    from helix.passes.follow_ups import ReopenedFinding
    from helix.passes.review_pass import ReviewFinding
    from helix.project import PassContext

FILED_KEY = "drafts-filed"
"""On the bead of an attempt: the last one whose work for later was filed."""

_BROUGHT_UP = frozenset({LABEL, FINDING_LABEL})


@value
class FilingResult:
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


def file_findings(
    desk: PassContext, findings: Sequence[ReviewFinding], *, bead: str = ""
) -> FilingResult:
    """One bead for each distinct finding about the work of `bead`, before anything else (S-16)."""

    def decide(edit: TrackerEdit) -> FilingResult:
        plan = plan_filing(findings, known_beads(edit.before), about=_about(edit.before, bead))
        created = file_drafts(edit, plan.new, draw_id=id_maker(desk.site)).beads
        reopened = [each.id for each in plan.reopened if _reopened(edit, each)]
        return FilingResult(
            tuple(created.values()),
            tuple(reopened),
            referenced=tuple(bead_id for bead_id, _ in plan.referenced),
            reported=tuple(finding.title for finding in plan.reported),
            remarks=edit.remarks,
            question=plan.question,
        )

    return desk.site.tracker.edit(decide)


def file_follow_ups(
    desk: PassContext,
    text: str,
    *,
    origin: str,
    parent: str | None = None,
    spec_id: str | None = None,
    once: str = "",
) -> FilingResult:
    """Beads for what a reply left for later; beside its bead unless a parent is given (A-7).

    With `once`, an attempt, its bead says so in the same write, and a second time nothing is filed.
    """
    proposed = read_follow_ups(text)
    rejected = tuple(f"not filed, {it.reason}: {it.text}" for it in proposed.rejected)
    if not proposed.found:
        return FilingResult(remarks=rejected)

    def decide(edit: TrackerEdit) -> FilingResult:
        snapshot = edit.before
        if once and snapshot.bead(origin).text(FILED_KEY) == once:
            return FilingResult()
        source = _origin(snapshot, origin, parent=parent, spec_id=spec_id)
        plan = plan_follow_ups(proposed.found, known_beads(snapshot), origin=source)
        created = file_drafts(edit, plan.new, draw_id=id_maker(desk.site)).beads
        before = [created.get(name, name) for name in plan.waits_for]
        known = edit.waits_for(origin)
        waits = [it for it in before if it not in known and link_beads(edit, origin, it) is None]
        if once and origin in snapshot:
            edit.update(origin, BeadPatch({FILED_KEY: once}))
        return FilingResult(
            tuple(created.values()),
            waiting=(origin,) if waits else (),
            referenced=tuple(bead_id for bead_id, _ in plan.referenced),
            remarks=(*rejected, *plan.remarks, *edit.remarks),
        )

    return desk.site.tracker.edit(decide)


def known_beads(snapshot: Snapshot) -> tuple[KnownBead, ...]:
    """Every bead that is there, the archive included, as far as doubles are concerned."""
    return tuple(map(known_bead, (*snapshot.beads(), *snapshot.archived_beads())))


def id_maker(site: AttemptContext) -> Callable[[], str]:
    prefix = id_prefix(site.settings.bead_prefix or site.project.name)
    return lambda: f"{prefix}-{os.urandom(4).hex()}"


def _reopened(edit: TrackerEdit, found: ReopenedFinding) -> bool:
    reason = f"a review found it again: {found.finding.place or found.finding.title}"
    try:
        edit.reopen(found.id, reason=reason)
        labels = finding_labels(found.finding, found.depth)
        old = tuple(
            label
            for label in edit.bead(found.id).labels
            if label.startswith((DEPTH_LABEL, "severity:")) and label not in labels
        )
        edit.update(found.id, BeadPatch({}, add_labels=labels, remove_labels=old))
    except DdxError as problem:
        edit.remark(f"{typed(found.id)} was not opened again: {problem.message}")
        return False
    return True


def _about(snapshot: Snapshot, bead_id: str) -> ReviewedWork:
    bead = snapshot.find_bead(bead_id) if bead_id else None
    if bead is None:
        return ReviewedWork()
    parent = open_parent(snapshot, bead.parent)
    return ReviewedWork(bead_id, parent, bead.spec_id, depth=depth_of(bead.labels))


def _origin(
    snapshot: Snapshot, bead_id: str, *, parent: str | None, spec_id: str | None
) -> FollowUpOrigin:
    bead = snapshot.bead(bead_id)
    below = open_parent(snapshot, bead.parent if parent is None else parent)
    return FollowUpOrigin(
        bead=bead_id,
        parent=below,
        above=_ancestors(snapshot, below),
        spec_id=bead.spec_id if spec_id is None else spec_id,
        is_open=bead_id in snapshot and not bead.is_finished,
        depth=_chain(snapshot, bead),
    )


def _chain(snapshot: Snapshot, bead: Bead) -> int:
    """How many beads that agents brought up led to this one, each from the one before (S-13)."""
    seen: dict[str, bool] = {}
    found: Bead | None = bead
    while found is not None and (bead_id := found.id) not in seen:
        seen[bead_id] = not _BROUGHT_UP.isdisjoint(found.labels)
        found = snapshot.find_bead(found.link("discovered-from"))
    return sum(seen.values())


def _ancestors(view: Snapshot, bead_id: str) -> tuple[str, ...]:
    found: list[str] = []
    while (bead_id := view.parent(bead_id) if bead_id else "") and bead_id not in found:
        found.append(bead_id)
    return tuple(found)


def spoken(filed: FilingResult) -> str:
    """What was filed, in a sentence for a person."""
    parts = [
        f"filed {listed(filed.created)}" if filed.created else "",
        f"opened again {listed(filed.updated)}" if filed.updated else "",
        f"{listed(filed.waiting)} waits for that" if filed.waiting else "",
        f"known already as {listed(filed.referenced)}" if filed.referenced else "",
        f"only worth a word: {listed(filed.reported)}" if filed.reported else "",
    ]
    return "; ".join(filter(None, parts))


DRAFTS = "drafts.json"
REFUSALS = (NotFound, Refused)
"""Somebody removed the attempt's bead, or the project's own say is against it (T-15)."""


def keep_drafts(
    site: AttemptContext, attempt: str, *, bead: str, reply: str, parent: str = "", if_landed: bool
) -> None:
    """In the attempt's own folder, whole and masked."""
    row = {"bead": bead, "parent": parent, "if_landed": if_landed, "text": reply}
    JsonFile(_path(site.project, attempt)).write(site.masker.mask_row(row))


def file_drafts_of_attempt(
    desk: PassContext, attempt: str, *, bead: str, reply: str, parent: str = ""
) -> FilingResult:
    """Beads for what the attempt left for others; a second time it does nothing."""
    filed = file_follow_ups(desk, reply, origin=bead, parent=parent or None, once=attempt)
    try:
        os.unlink(_path(desk.site.project, attempt))
    except FileNotFoundError:
        pass  # nothing was kept, or another process was faster
    return filed


def file_unfiled(desk: PassContext) -> Iterator[str]:
    """What attempts have left that have ended since; a sentence for each of them."""
    project = desk.site.project
    for attempt in read_attempts(project).names():
        kept = _due(project, attempt) if os.path.exists(_path(project, attempt)) else None
        if not kept:
            continue
        bead, parent, reply = (str(kept.get(name, "")) for name in ("bead", "parent", "text"))
        try:
            filed = file_drafts_of_attempt(desk, attempt, bead=bead, parent=parent, reply=reply)
        except REFUSALS as problem:
            yield not_filed(attempt, problem)
        else:
            said = (spoken(filed), *filed.remarks)
            yield "; ".join(filter(None, (f"attempt {attempt} left work for later", *said)))


def not_filed(attempt: str, problem: DdxError) -> str:
    """It is kept, and the next run tries again."""
    said = f"what attempt {attempt} left for later is not filed"
    return f"{said}: {problem.message}; it is in {DRAFTS} of its record"


def _due(project: Project, attempt: str) -> Mapping[str, Any] | None:
    """What the attempt keeps, once it is time to file it."""
    records = read_attempts(project)
    record = records.read(attempt)
    kept = record.file(DRAFTS)
    if kept.get("if_landed", True):
        return kept if records.landing_of(attempt) else None
    return kept if record.result else None


def _path(project: Project, attempt: str) -> str:
    return read_attempts(project).path(attempt, DRAFTS)
