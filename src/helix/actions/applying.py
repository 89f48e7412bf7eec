"""Carrying out what a polish proposes, on the tracker as it is at that instant (A-2, T-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.text import listed
from ddx.tracker.drafting import create
from ddx.tracker.lifecycle import supersede
from ddx.tracker.model import FINISHED, RUNNER, labels_of, typed
from ddx.tracker.updating import Patch, add_dependency, update
from ddx.values import changed, value
from helix.actions.filing import id_maker, known_beads, open_parent
from helix.actions.proposals import is_reserved
from helix.actions.series import Series
from helix.actions.upstream import SEEN, Upstream
from helix.policy.drafts import NO_CRITERION, Draft, identity
from helix.policy.speculation import carried_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ddx.execution.model import Bead
    from ddx.execution.work import Site
    from ddx.graph.graph import Graph
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.working import Changes
    from helix.actions.proposals import Change, Merge, New, Proposal
    from helix.desk import Desk


@value
class Applied:
    """What was really done."""

    modified: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """What was proposed and is there already."""

    @property
    def has_changed(self) -> bool:
        return bool(self.modified or self.created or self.merged)


def apply_proposal(
    desk: Desk, proposal: Proposal, chosen: Sequence[Bead], *, seen: Graph | None
) -> Applied:
    """Everything that still fits the tracker as it is now, in one write.

    `seen` is the documents as the agent had them, noted if nothing is left to do; None: more is.
    """
    applied = Applied()

    def decide(snapshot: Snapshot, now: str) -> Changes:
        nonlocal applied
        work = _Application(desk.site, snapshot, chosen, now=now)
        applied = work.carry_out(proposal)
        if seen is not None and not applied.refused:
            work.mark_seen(seen)
        return work.series.changes()

    desk.site.tracker.change(decide)
    return applied


class _Application:
    """The changes of one polish on the tracker as it stands; what no longer fits is left out."""

    def __init__(self, site: Site, snapshot: Snapshot, chosen: Sequence[Bead], *, now: str) -> None:
        self.series = Series(snapshot, now=now)
        self._snapshot = snapshot
        self._seen = {bead.id: bead for bead in chosen}
        self._draw_id = id_maker(site)
        self._keys: dict[str, str] = {}
        beads = known_beads(snapshot)
        self._known = {identity(it.title): it.id for it in beads if not it.is_finished}
        self._done = {identity(it.title): it.id for it in beads if it.is_finished}
        self._refused: list[str] = []
        self._already: list[str] = []

    def carry_out(self, proposal: Proposal) -> Applied:
        self._refused += proposal.rejected
        created = [made for new in proposal.new if (made := self._create(new))]
        for new in proposal.new:
            self._order(new)
        modified = [it.id for it in proposal.changes if self._changed(it)]
        merged = [it.id for it in proposal.merged if self._merged(it)]
        merged += self._split(proposal.new)
        done = (modified, created, merged, self._refused, self._already)
        return Applied(*map(tuple, done))

    def mark_seen(self, graph: Graph) -> None:
        """Which documents this polish has seen, on each bead that it looked at (S-3)."""
        for bead_id in self._seen:
            if self._obstacle(bead_id) or self.series.row(bead_id).get("superseded-by"):
                continue
            row = self.series.row(bead_id)
            hashes = Upstream(graph).hashes(row)
            if hashes or SEEN in row:
                patch = Patch({SEEN: hashes})
                self.series.add(update(self.series, bead_id, patch, now=self.series.now, by=RUNNER))

    def _obstacle(self, bead_id: str) -> str:
        """Why a bead is no longer ours to change: somebody was first (T-10)."""
        if self._snapshot.revision(bead_id) != self._seen[bead_id].revision:
            return "it changed meanwhile"
        return ""

    def _create(self, new: New) -> str:
        same = self._known.get(identity(new.title))
        if not same and not new.replaces:  # else the same work could be filed for ever (S-13)
            same = self._done.get(identity(new.title))
        if same:
            self._keys[new.key] = same
            self._already.append(f"{new.title!r} is said already by {same}")
            return ""
        bead_id = self._draw_id()
        fields = {name: given for name, given in new.fields.items() if name != "depends-on"}
        parent = open_parent(self.series, str(fields.pop("parent", "")))
        labels = self._labels(new.replaces, fields.pop("labels", ()))
        draft = {**fields, "id": bead_id, "title": new.title, "parent": parent, "labels": labels}
        if not _is_executable(draft):
            draft |= {"execution-eligible": False, "execution-skip-reason": NO_CRITERION}
        filed = self._try(
            f"{new.title!r}",
            lambda: create(
                self.series, [draft], now=self.series.now, by=RUNNER, draw_id=self._draw_id
            ),
        )
        if not filed:
            return ""
        self._keys[new.key or bead_id] = bead_id
        self._known[identity(new.title)] = bead_id
        return bead_id

    def _order(self, new: New) -> None:
        """Links of new beads, once all of them are there."""
        bead_id = self._known.get(identity(new.title), "")
        if bead_id in self.series and bead_id not in self._snapshot:
            for wanted in new.fields.get("depends-on", ()):
                self._wait(bead_id, self._keys.get(wanted, wanted))

    def _wait(self, bead_id: str, wanted: str) -> None:
        self._try(
            f"{bead_id} waiting for {wanted}",
            lambda: add_dependency(self.series, bead_id, wanted, now=self.series.now, by=RUNNER),
        )

    def _changed(self, change: Change) -> bool:
        if why := self._obstacle(change.id):
            self._refused.append(f"{change.id}: {why}")
            return False
        fields = dict(change.fields)
        if "labels" in fields:
            fields["labels"] = self._labels(change.id, fields["labels"])
        parent, wanted = fields.pop("parent", None), fields.pop("depends-on", None)
        patch = Patch(
            _made_eligible(self.series.row(change.id), fields),
            parent=None if parent is None else self._keys.get(parent, parent),
            depends_on=None if wanted is None else tuple(self._keys.get(it, it) for it in wanted),
        )
        before = self.series.row(change.id)
        done = self._try(
            change.id,
            lambda: _by_helix(
                before, update(self.series, change.id, patch, now=self.series.now, by=RUNNER)
            ),
        )
        return done and self.series.row(change.id) != before

    def _labels(self, bead_id: str, given: Iterable[str]) -> list[str]:
        """As proposed, but what steers a run stays as it is, and goes over to the parts (S-13)."""
        kept = labels_of(self.series.row(bead_id)) if bead_id else ()
        return [
            *(label for label in kept if is_reserved(label)),
            *(label for label in given if not is_reserved(label)),
        ]

    def _merged(self, merge: Merge) -> bool:
        into = self._keys.get(merge.into, merge.into)
        why = self._obstacle(merge.id)
        if self.series.status(into) in ("", *FINISHED):
            why = why or f"there is no open bead {typed(into)}"
        if why:
            self._refused.append(f"{merge.id}: {why}")
            return False
        return self._replace(merge.id, (into,), merge.reason or f"{into} says the same")

    def _split(self, new: Iterable[New]) -> list[str]:
        """A bead that became several is superseded by all of them."""
        parts: dict[str, list[str]] = {}
        for it in new:
            bead_id = self._known.get(identity(it.title), "")
            if it.replaces and bead_id:
                parts.setdefault(it.replaces, []).append(bead_id)
        done = []
        for old, ids in parts.items():
            if why := self._obstacle(old):
                self._refused.append(f"{old}: {why}")
            elif self._replace(old, tuple(ids), f"split into {listed(ids)}"):
                done.append(old)
        return done

    def _replace(self, old: str, by: tuple[str, ...], reason: str) -> bool:
        return self._try(
            old,
            lambda: supersede(
                self.series, old, by=by, reason=reason, actor=RUNNER, now=self.series.now
            ),
        )

    def _try(self, what: str, change: Callable[[], Changes]) -> bool:
        try:
            self.series.add(change())
        except DdxError as problem:
            self._refused.append(f"{what}: {problem.message}")
            return False
        return True


def _by_helix(before: Row, changes: Changes) -> Changes:
    """That helix changed a bead is nobody's look at what it assumes (I-10)."""
    rows = {
        bead_id: carried_over(before, row) if bead_id == before["id"] else row
        for bead_id, row in changes.put.items()
    }
    return changed(changes, put=rows)


def _is_executable(row: Mapping[str, object]) -> bool:
    return Draft("", "", acceptance=str(row.get("acceptance", ""))).is_executable or bool(
        row.get("verify")
    )


def _made_eligible(row: Row, fields: Mapping[str, object]) -> dict[str, object]:
    """What was held back only for want of a criterion is free once it has one."""
    held = row.get("execution-skip-reason") == NO_CRITERION
    if held and _is_executable({**row, **fields}):
        return {**fields, "execution-eligible": True, "execution-skip-reason": ""}
    return dict(fields)
