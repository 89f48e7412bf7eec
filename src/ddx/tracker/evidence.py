"""Adding to a bead's record, also after it was closed (T-6)."""

from __future__ import annotations

from ddx.tracker.events import with_event
from ddx.tracker.model import Row, status_of
from ddx.tracker.working import Changes, Working
from ddx.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.tracker.working import View


def add_event(view: View, bead_id: str, happened: Row, *, now: str) -> Changes:
    """In the row while the bead is open, beside the tracker once it is closed."""
    working = Working(view, now=now)
    row = working.row(bead_id)
    if status_of(row) == "closed":
        working.put(row)
        return changed(working.changes(), attached={bead_id: (happened,)})
    working.put(with_event(row, happened))
    return working.changes()
