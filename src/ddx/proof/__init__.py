"""What must hold before work lands, and whether it does."""

from __future__ import annotations

from ddx.base import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.proof.checks import FOLDER, Checker, run_checks
    from ddx.proof.detection.detect import Detection, detect_checks
    from ddx.proof.detection.proposal import propose_checks
    from ddx.proof.evidence import Check, Floors, MetricReading, Proof, record_floors
    from ddx.proof.executions import Place, run_execution
    from ddx.proof.governing import BeadDocuments, Governance, drifted_documents
    from ddx.proof.plan import (
        BeadWarning,
        CheckPlan,
        CommandCheck,
        find_disagreements,
        plan_checks,
        spoken_plan,
    )
    from ddx.proof.project_checks import (
        ProjectChecks,
        broken_checks,
        pattern_of,
        read_project_checks,
    )
else:
    __getattr__ = door(
        __name__,
        checks="Checker FOLDER run_checks",
        detection__detect="Detection detect_checks",
        detection__proposal="propose_checks",
        evidence="Check Floors MetricReading Proof record_floors",
        executions="Place run_execution",
        governing="BeadDocuments Governance drifted_documents",
        plan="BeadWarning CheckPlan CommandCheck find_disagreements plan_checks spoken_plan",
        project_checks="ProjectChecks broken_checks pattern_of read_project_checks",
    )
