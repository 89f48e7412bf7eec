"""Which bead is built next, and which may go along with it (S-5, S-8). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.instants import sort_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.policy.model import Candidate, Cooling, Progress, View


def best_first(beads: Sequence[Candidate]) -> list[Candidate]:
    """In the queue's order, ties to the better specified (S-5)."""
    return sorted(beads, key=_order)


def selectable(view: View, progress: Progress) -> list[Candidate]:
    """Of the focused epic while that has work at all, else of the whole queue; best first."""
    free = _free(view, progress)
    if holds_focus(view, progress):
        free = [bead for bead in free if bead.parent == progress.focus]
    return best_first(free)


def holds_focus(view: View, progress: Progress) -> bool:
    """While its children run or cool, outside work waits, whatever its priority (S-5)."""
    if not progress.focus:
        return False
    parents = {bead.parent for bead in _free(view, progress)}
    return progress.focus in parents | {bead.parent for bead in resting(view)}


def resting(view: View) -> list[Cooling]:
    """The beads that wait after a failed attempt; a rest that is over holds nothing back."""
    now = sort_key(view.now) if view.now else ""
    return [bead for bead in view.cooling if sort_key(bead.until) > now]


def is_skipped(progress: Progress, bead_id: str, revision: str) -> bool:
    """Left alone in this run, until it is another one than it was then (S-6)."""
    return bead_id in progress.skipped and progress.skipped[bead_id] == revision


def batch_for(
    primary: Candidate, candidates: Sequence[Candidate], *, size: int, alone: frozenset[str]
) -> tuple[str, ...]:
    """The primary and up to `size` - 1 others of its parent or document, else of its area (S-8)."""
    if size < 2 or primary.is_epic or primary.id in alone:
        return (primary.id,)
    others = [
        bead
        for bead in candidates
        if bead.id != primary.id and not bead.is_epic and bead.id not in alone
    ]
    siblings = [bead for bead in others if primary.parent and bead.parent == primary.parent]
    known = {bead.id for bead in siblings}
    kin = siblings + [
        bead
        for bead in others
        if primary.spec_id and bead.spec_id == primary.spec_id and bead.id not in known
    ]
    if not kin:
        kin = [bead for bead in others if primary.areas & bead.areas]
    return (primary.id, *(bead.id for bead in kin[: size - 1]))


def _free(view: View, progress: Progress) -> list[Candidate]:
    return [bead for bead in view.ready if not is_skipped(progress, bead.id, bead.revision)]


def _order(bead: Candidate) -> tuple[bool, int, bool, int, str, bool, str]:
    """D-12; between beads that it does not tell apart but by id, the better specified first."""
    specified = bool(bead.spec_id) and bead.has_acceptance
    return (
        bead.is_epic,
        bead.priority,
        bead.rank is None,
        bead.rank or 0,
        sort_key(bead.created_at),
        not specified,
        bead.id,
    )
