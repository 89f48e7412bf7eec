"""`helix run`: look, decide, carry out, write down (S-1 to S-38)."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.run.aftermath import (
        AwaitLanding,
        BlockBead,
        Completed,
        Guide,
        Park,
        Retry,
        StopRun,
        follow,
    )
    from helix.run.build_policy import (
        BuildPolicy,
        context_of,
        file_review,
        learn,
        read_landed,
        take_stock,
    )
    from helix.run.driver import RunDriver, work
    from helix.run.dry_run import DryRun, ReadOnlyProject, command_for, rehearse, rehearse_decision
    from helix.run.journal import (
        ControlRequest,
        RunJournal,
        RunState,
        ScreenMode,
        StateFile,
        ask,
        is_asked,
        withdraw,
    )
    from helix.run.model import (
        EXIT_CODES,
        Action,
        BuildCandidate,
        Decision,
        Progress,
        RoutingRules,
        RunView,
        holds_focus,
        meant,
    )
    from helix.run.notifications import Notifier
    from helix.run.routing import next_action
    from helix.run.run import Run, RunOptions
    from helix.run.run_lock import RunActive, RunHolder, find_holder, only_run, require_tracker
    from helix.run.upkeep import RecoveredClaim, recover
    from helix.run.view import ProjectSnapshot, read_view
else:
    __getattr__ = door(
        __name__,
        aftermath="AwaitLanding BlockBead Completed Guide Park Retry StopRun follow",
        build_policy="BuildPolicy context_of file_review learn read_landed take_stock",
        driver="RunDriver work",
        dry_run="DryRun ReadOnlyProject command_for rehearse rehearse_decision",
        journal="ControlRequest RunJournal RunState ScreenMode StateFile ask is_asked withdraw",
        model=(
            "Action BuildCandidate Decision EXIT_CODES Progress RoutingRules RunView holds_focus "
            "meant"
        ),
        notifications="Notifier",
        routing="next_action",
        run="Run RunOptions",
        run_lock="RunActive RunHolder find_holder only_run require_tracker",
        upkeep="RecoveredClaim recover",
        view="ProjectSnapshot read_view",
    )
