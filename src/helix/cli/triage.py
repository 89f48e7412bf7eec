"""`helix triage`"""

from __future__ import annotations

import os

from ddx.base import Clock, Refused, UsageError
from ddx.console import JSON, Argument, Command, answer, field_flags, say
from ddx.project import find_project
from helix.cli.context import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.project import Project, Settings
    from ddx.tracker import Snapshot, TrackerEdit


@Command.of(
    example="helix triage \"Throttle logins\" --acceptance '`pytest -q tests/login` passes'",
    arguments=(Argument("title", "what is to be done, in a few words"),),
    flags=(
        *field_flags(
            *("--type", "--priority", "--labels", "--parent", "--depends-on", "--spec-id"),
            *("--description", "--acceptance", "--verify"),
        ),
        JSON,
    ),
    schema="bead-created",
)
def run(*, title: str, json: bool, **given: Any) -> int:
    """File one bead that is fit to be built; no agent is asked."""
    from ddx.project import read_settings
    from ddx.tracker import Tracker, approval, id_prefix

    project = find_project(os.getcwd())
    settings = read_settings(project, clock=Clock())
    draft = _draft(title, given)
    _require_proof(draft, settings)
    _require_document(project, settings, draft["spec-id"])
    prefix = id_prefix(settings.bead_prefix or project.name)

    def decide(edit: TrackerEdit) -> tuple[str, tuple[str, ...]]:
        _require_new(edit.before, draft["title"])
        (bead_id,) = edit.create([draft], draw_id=lambda: f"{prefix}-{os.urandom(4).hex()}")
        return bead_id, edit.remarks

    tracker = Tracker(
        project,
        clock=Clock(),
        command="helix triage",
        tell=tell,
        approve=approval(project, tell=tell),
        permit=lambda: project.refuse_inside_an_attempt(what="filing work"),
    )
    bead_id, remarks = tracker.edit(decide)
    for remark in remarks:
        tell(remark)
    if json:
        bead = tracker.snapshot().bead(bead_id)
        answer({"ids": [bead_id], "beads": [{**bead.row, "revision": bead.revision}]})
    else:
        say(bead_id)
    return 0


def _draft(title: str, given: dict[str, Any]) -> dict[str, Any]:
    if not title.strip():
        raise UsageError("a bead needs a title", hint='helix triage "Throttle logins"')
    return {
        "title": title,
        "issue_type": given["type"] or "task",
        "priority": int(given["priority"] or 2),
        "labels": list(given["labels"]),
        "parent": given["parent"] or "",
        "depends-on": list(given["depends_on"]),
        "spec-id": given["spec_id"] or "",
        "description": given["description"] or "",
        "acceptance": given["acceptance"] or "",
        "verify": list(given["verify"]),
    }


def _require_proof(draft: dict[str, Any], settings: Settings) -> None:
    """Work that an agent shall do must say what proves it (T-17)."""
    from ddx.tracker import Bead

    if not Bead.of({"issue_type": draft["issue_type"]}).is_eligible_by_kind:
        return
    verdict = Bead.of(draft).judged(default_checks=settings.default_checks)
    if not verdict.ready:
        problem = verdict.problems[0]
        where = f"acceptance line {problem.line}: " if problem.line else ""
        cure = problem.fix.replace("ddx bead update ID", "helix triage TITLE")  # there is no id
        raise Refused(f"nothing was filed: {where}{problem.why}", hint=cure)


def _require_document(project: Project, settings: Settings, spec_id: str) -> None:
    from ddx.documents import load_graph

    if spec_id:
        graph = load_graph(project, settings.document_roots, clock=Clock())
        if not graph.holders(spec_id.partition("#")[0]):
            graph.require(spec_id.partition("#")[0])


def _require_new(snapshot: Snapshot, title: str) -> None:
    from helix.passes import identity, known_beads

    for bead in known_beads(snapshot):
        if not bead.is_finished and identity(bead.title) == identity(title):
            raise Refused(
                f"nothing was filed: {bead.id} says the same", hint=f"ddx bead show {bead.id}"
            )
