"""Our hold on the beads of one attempt: taken together, presented at every step (T-21, X-18)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ddx.errors import ChangedFirst, DdxError
from ddx.execution.fingerprint import find_drift, fingerprint
from ddx.execution.model import Drift
from ddx.execution.selecting import held_paths, overlap
from ddx.process import started_at
from ddx.tracker.events import event, with_event
from ddx.tracker.lifecycle import Claimant, claim, close, require_claim, unclaim
from ddx.tracker.model import RUNNER, status_of, text_of, texts_of
from ddx.tracker.working import Changes, Working
from ddx.values import changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.execution.fingerprint import Fingerprint
    from ddx.execution.model import Bead
    from ddx.tracker.lifecycle import Ending
    from ddx.tracker.model import Row
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker


class Drifted(DdxError):
    """The bead is not what was selected; nothing was changed."""

    exit_code = 5

    def __init__(self, drift: Drift) -> None:
        super().__init__(drift.reason)
        self.drift = drift


class Claims:
    """The claim ids and fingerprints of one attempt's beads, as its intent records them."""

    def __init__(
        self, tracker: Tracker, selected: Mapping[str, Fingerprint], tokens: Mapping[str, str]
    ) -> None:
        self._tracker = tracker
        self.selected = selected
        self.tokens = tokens

    @classmethod
    def planned(cls, tracker: Tracker, beads: Sequence[Bead]) -> Claims:
        """Not taken yet: the record must know the ids before the tracker does."""
        return cls(
            tracker,
            {bead.id: fingerprint(bead.row) for bead in beads},
            {bead.id: os.urandom(8).hex() for bead in beads},
        )

    def take(self) -> None:
        """All or none, if every bead is still what was selected and nobody was first (T-10)."""
        claimant = Claimant(RUNNER, os.uname().nodename, os.getpid(), started_at(os.getpid()))

        def decide(snapshot: Snapshot, now: str) -> Changes:
            put: dict[str, Row] = {}
            busy = held_paths(snapshot)
            for bead_id, token in self.tokens.items():
                row = snapshot.row(bead_id)
                self._require_disjoint(bead_id, row, busy)
                claimed = claim(snapshot, bead_id, claimant, claim_id=token, now=now)
                if drift := find_drift(bead_id, self.selected[bead_id], row):
                    raise Drifted(drift)
                put |= claimed.put
            return Changes(put)

        self._tracker.change(decide)

    def find_drift(self) -> Drift | None:
        """What changed since the selection, as the tracker stands now."""
        snapshot = self._tracker.snapshot()
        for bead_id, selected in self.selected.items():
            row = snapshot.find(bead_id)
            token = self.tokens.get(bead_id, "")
            if drift := find_drift(bead_id, selected, row, claim_id=token):
                return drift
        return None

    def close(self, bead_id: str, ending: Ending) -> None:
        """Closed with its evidence, if it is still what was selected and ours, or nobody's.

        What this very session has closed stays as it is: it may have died a moment later (X-19).
        """
        token = self.tokens.get(bead_id, "")

        def decide(snapshot: Snapshot, now: str) -> Changes:
            row = snapshot.find(bead_id)
            if row is not None and _is_closed_by(row, ending.session):
                return Changes({})
            drift = find_drift(bead_id, self.selected[bead_id], row, claim_id=token)
            if drift:
                raise Drifted(drift)
            return close(
                snapshot, bead_id, ending, actor=RUNNER, now=now, claim_id=token, cascade=False
            )

        self._tracker.change(decide)

    def release(self, bead_id: str, *, kind: str, summary: str, body: str, charged: bool) -> None:
        """Free again, with a note of what happened; a bead that is no longer ours is left alone."""
        if bead_id not in self.tokens:
            return

        def decide(snapshot: Snapshot, now: str) -> Changes:
            row = snapshot.find(bead_id)
            if row is None or bead_id not in snapshot:
                return Changes({})
            try:
                require_claim(row, self.tokens[bead_id])
            except ChangedFirst:
                return Changes({})
            freed = unclaim(snapshot, bead_id, claim_id=self.tokens[bead_id], now=now)
            said = event(kind, summary=summary, body=body, actor=RUNNER, at=now)
            working = Working(snapshot, now=now)
            row = with_event(freed.put.get(bead_id, row), said)
            if charged:
                row = {**row, "attempts": _count(row) + 1}
            working.put(row)
            return changed(working.changes(), remarks=freed.remarks)

        self._tracker.change(decide)

    def _require_disjoint(
        self, bead_id: str, row: Row, busy: Mapping[str, tuple[str, ...]]
    ) -> None:
        for other, paths in busy.items():
            if other not in self.tokens and overlap(texts_of(row, "paths"), paths):
                raise ChangedFirst(f"{bead_id} shares paths with {other}, which is being worked on")


def _is_closed_by(row: Row, session: str) -> bool:
    return status_of(row) == "closed" and text_of(row, "session_id") == session != ""


def _count(row: Row) -> int:
    found = text_of(row, "attempts")
    return int(found) if found.isdigit() else 0
