"""JSON lines of our own: what stands in them is already a row."""

from __future__ import annotations

from ddx.tracker.interchange.lens import Dialect, everything, same, wrap_beside
from ddx.tracker.interchange.mapping import fit_priority

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.interchange.report import Say
    from ddx.tracker.model import Row


def _into(found: Row, say: Say) -> Row:
    said = found.get("priority")
    if said is None or same(fitting := fit_priority(said), said):
        return found
    say("changed", "priority", f"{said!r} to {fitting}")
    return {**found, "priority": fitting}


def _unwrap(found: Row) -> tuple[Row, Row]:
    return found, {}


JSONL = Dialect(
    name="jsonl",
    into=_into,
    out=everything,
    wrap=wrap_beside,
    unwrap=_unwrap,
    keeps_theirs=False,
)
