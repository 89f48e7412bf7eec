"""`ddx bead validate-ready`"""

from __future__ import annotations

import os

from ddx.cli.context import CLOCK, open_tracker, settings
from ddx.console import JSON, Argument, Command, answer, say
from ddx.proof import Governance
from ddx.tracker import FINISHED, is_eligible, judge, status_of, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.project import Project
    from ddx.proof import BeadWarning
    from ddx.tracker import Row, Snapshot

PROBLEMS_FOUND = 1


@Command.of(
    example="ddx bead validate-ready",
    arguments=(
        Argument("id", "these beads; none: all that agents may get", many=True, required=False),
    ),
    flags=(JSON,),
    schema="bead-validated",
)
def run(*, id: tuple[str, ...], json: bool) -> int:
    """Check that beads name what proves them (exit 1 if one does not) and fit what is required."""
    tracker = open_tracker()
    view = tracker.snapshot()
    checks = settings(tracker.project).default_checks
    rows = [view.row(bead_id) for bead_id in id] if id else _candidates(view)
    verdicts = [(row, judge(row, default_checks=checks)) for row in rows]
    warnings = _warnings(tracker.project, rows)
    if json:
        answer(
            [
                {
                    "id": row["id"],
                    "ready": verdict.ready,
                    "criteria": len(verdict.criteria),
                    "problems": [item.__dict__ for item in verdict.problems],
                    "warnings": [item.__dict__ for item in warnings[row["id"]]],
                }
                for row, verdict in verdicts
            ]
        )
    else:
        for row, verdict in verdicts:
            for item in verdict.problems:
                place = f", acceptance line {item.line}" if item.line else ""
                say(f"{row['id']}{place}: {item.why}")
                say(f"    {item.fix}")
            for warning in warnings[row["id"]]:
                say(f"{row['id']}, a warning: {warning.why}")
                say(f"    {warning.fix}")
        good = sum(verdict.ready for _, verdict in verdicts)
        say(f"{good} of {len(verdicts)} beads say how they are proven")
    return 0 if all(verdict.ready for _, verdict in verdicts) else PROBLEMS_FOUND


def _warnings(project: Project, rows: Sequence[Row]) -> dict[str, tuple[BeadWarning, ...]]:
    """Where a bead and what governs it disagree; the documents are those of the checkout."""
    roots = settings(project).document_roots
    if not any(os.path.isdir(os.path.join(project.root, root)) for root in roots):
        return {row["id"]: () for row in rows}
    from ddx.documents import load_graph, read_definitions
    from ddx.proof import find_disagreements
    from ddx.tracker import Bead

    graph = load_graph(project, roots, clock=CLOCK)
    definitions = read_definitions(project.root, roots, graph)
    beads = [Bead(row["id"], row) for row in rows]
    return {
        bead.id: find_disagreements(bead, Governance.decide(graph, [bead], definitions))
        for bead in beads
    }


def _candidates(view: Snapshot) -> list[Row]:
    """What an agent may one day be handed."""
    return [
        row
        for row in view.rows()
        if status_of(row) not in FINISHED and is_eligible(row) and type_of(row) != "epic"
    ]
