"""From a request to beads (I-1 to I-10)."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from helix.intake.assistance import Advice, advise
    from helix.intake.conflicts.comparison import DisagreementKind
    from helix.intake.conflicts.detection import Conflict, Statement, find_conflicts
    from helix.intake.conflicts.statements import read_statements
    from helix.intake.filing import close_settled
    from helix.intake.intake import (
        Asked,
        Filed,
        IntakeOptions,
        IntakeOutcome,
        TakenRequest,
        Unsettled,
        open_intake,
        take_in,
    )
    from helix.intake.parts import RequestPart
    from helix.intake.questions import Question, said, typed_yes
    from helix.intake.request import ParsedRequest, parse_request
else:
    __getattr__ = door(
        __name__,
        assistance="Advice advise",
        conflicts__comparison="DisagreementKind",
        conflicts__detection="Conflict Statement find_conflicts",
        conflicts__statements="read_statements",
        filing="close_settled",
        intake=(
            "Asked Filed IntakeOptions IntakeOutcome TakenRequest Unsettled open_intake take_in"
        ),
        parts="RequestPart",
        questions="Question said typed_yes",
        request="ParsedRequest parse_request",
    )
