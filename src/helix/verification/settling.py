"""What a measure changes in the tracker, given the beads of earlier ones (V-2). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.text import listed
from ddx.tracker.model import FINISHED
from ddx.values import value
from helix.verification.model import State
from helix.verification.traceback import CONFLICT, UNMET

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helix.verification.traceback import Trace

PASSES_AGAIN = "its tests pass again"
MOST_NEW = 50
"""A broken import may fail a thousand tests: the first few lead to it."""


@value
class KnownTrace:
    """A bead of an earlier measure."""

    id: str
    key: str
    tests: tuple[str, ...]
    status: str = "open"
    close_reason: str = ""
    is_superseded: bool = False

    @property
    def kind(self) -> str:
        return self.key.partition(":")[0]

    @property
    def is_flaky(self) -> bool:
        """A measure closed it, and nobody mended anything: it is the same work again."""
        return self.status == "closed" and self.close_reason.startswith(PASSES_AGAIN)

    @property
    def is_alive(self) -> bool:
        return self.status not in FINISHED and not self.is_superseded


@value
class Filing:
    """What a measure changes in the tracker."""

    new: tuple[Trace, ...] = ()
    again: tuple[tuple[str, Trace], ...] = ()
    reopened: tuple[tuple[str, Trace], ...] = ()
    closed: tuple[tuple[str, str], ...] = ()
    """Beads and why."""
    waits: tuple[tuple[str, str], ...] = ()
    """Beads, and the keys of those that must be settled first."""
    remarks: tuple[str, ...] = ()


def plan_filing(
    traces: Sequence[Trace],
    known: Sequence[KnownTrace],
    *,
    states: Mapping[str, State],
    gone: Collection[str],
) -> Filing:
    """`states` are all tests of this measure, `gone` those of earlier ones that are no more."""
    alive = {bead.key: bead for bead in known if bead.is_alive}
    flaky = {bead.key: bead for bead in known if bead.is_flaky}
    rest = [it for it in traces if it.key not in alive]
    new = [it for it in rest if it.key not in flaky]
    told = {it.key for it in traces}
    left = [bead for bead in alive.values() if bead.key not in told]
    settled = [_settled(bead, traces, states=states, gone=gone) for bead in left]
    more = len(new) - MOST_NEW
    enough = f"{more} more beads were not filed: {MOST_NEW} at once are enough"
    return Filing(
        tuple(new[:MOST_NEW]),
        tuple((alive[it.key].id, it) for it in traces if it.key in alive),
        tuple((flaky[it.key].id, it) for it in rest if it.key in flaky),
        tuple(pair for each in settled for pair in each.closed),
        tuple(pair for each in settled for pair in each.waits),
        (*(text for each in settled for text in each.remarks), *([enough] if more > 0 else [])),
    )


def _settled(
    bead: KnownTrace,
    traces: Sequence[Trace],
    *,
    states: Mapping[str, State],
    gone: Collection[str],
) -> Filing:
    """What becomes of a bead whose own failure did not come again."""
    if bead.tests and all(states.get(test) is State.PASSED for test in bead.tests):
        return Filing(closed=((bead.id, PASSES_AGAIN),))
    remarks = [f"{it} is no more; {bead.id} stays as it is" for it in bead.tests if it in gone]
    remarks += [
        f"{it} is skipped now; {bead.id} stays as it is"
        for it in bead.tests
        if states.get(it) is State.SKIPPED
    ]
    now = {test: it for it in traces for test in it.tests if test in bead.tests}
    if len(now) < len(bead.tests):
        return Filing(remarks=tuple(remarks))
    if bead.kind == UNMET:  # nobody should build on what a person has yet to decide
        waits = [(bead.id, it.key) for it in now.values() if it.kind == CONFLICT]
        return Filing(waits=tuple(dict.fromkeys(waits)))
    heirs = listed(dict.fromkeys(it.title for it in now.values()))
    return Filing(closed=((bead.id, f"its tests are traced anew: {heirs}"),))
