"""What a run's files say, without a run."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.status.model import (
        ListedClaim,
        Need,
        ObjectiveStatus,
        ProjectStatus,
        QueueStatus,
        RecentAttempt,
        RunStatus,
        WaitingBead,
        status_row,
    )
    from helix.status.runs import LOGS, read_run
    from helix.status.snapshot import read_status
else:
    __getattr__ = door(
        __name__,
        model=(
            "ListedClaim Need ObjectiveStatus ProjectStatus QueueStatus RecentAttempt RunStatus "
            "WaitingBead status_row"
        ),
        runs="LOGS read_run",
        snapshot="read_status",
    )
