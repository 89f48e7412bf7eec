"""`helix triage`"""

from __future__ import annotations

import os

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import Refused, UsageError
from ddx.project import find_project
from ddx.tracker.model import NEVER_EXECUTED_TYPES, PRIORITIES, TYPES
from helix.cli.control import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.project import Project
    from ddx.settings import Settings
    from ddx.tracker.snapshot import Snapshot
    from ddx.tracker.store import Tracker
    from ddx.tracker.working import Changes


def run(*, title: str, json: bool, **given: Any) -> int:
    from ddx.settings import read_settings
    from ddx.tracker.drafting import create
    from ddx.tracker.model import RUNNER, id_prefix

    project = find_project(os.getcwd())
    settings = read_settings(project, clock=SYSTEM_CLOCK)
    draft = _draft(title, given)
    _require_proof(draft, settings)
    _require_document(project, settings, draft["spec-id"])
    prefix = id_prefix(settings.bead_prefix or project.name)

    def decide(snapshot: Snapshot, now: str) -> Changes:
        _require_new(snapshot, draft["title"])
        return create(
            snapshot,
            [draft],
            now=now,
            by=RUNNER,
            draw_id=lambda: f"{prefix}-{os.urandom(4).hex()}",
        )

    applied = _tracker(project).change(decide)
    for remark in applied.remarks:
        tell(remark)
    ids = list(applied.created)
    if json:
        rows = [{**applied.rows[name], "revision": applied.revisions[name]} for name in ids]
        answer({"ids": ids, "beads": rows})
    else:
        say(ids[0])
    return 0


def _tracker(project: Project) -> Tracker:
    from ddx.environment import refuse_inside_an_attempt
    from ddx.tracker.hooks import approval
    from ddx.tracker.store import Tracker

    return Tracker(
        project,
        clock=SYSTEM_CLOCK,
        command="helix triage",
        tell=tell,
        approve=approval(project, tell=tell),
        permit=lambda: refuse_inside_an_attempt(project, what="filing work"),
    )


def _draft(title: str, given: dict[str, Any]) -> dict[str, Any]:
    if not title.strip():
        raise UsageError("a bead needs a title", hint='helix triage "Throttle logins"')
    return {
        "title": title,
        "issue_type": given["type"] or "task",
        "priority": int(given["priority"] or 2),
        "labels": _split(given["labels"]),
        "parent": given["parent"] or "",
        "depends-on": _split(given["depends_on"]),
        "spec-id": given["spec_id"] or "",
        "description": given["description"] or "",
        "acceptance": given["acceptance"] or "",
        "verify": list(given["verify"]),
    }


def _split(given: tuple[str, ...]) -> list[str]:
    return [word for text in given for part in text.split(",") if (word := part.strip())]


def _require_proof(draft: dict[str, Any], settings: Settings) -> None:
    """Work that an agent shall do must say what proves it (T-17)."""
    from ddx.tracker.criteria import judge

    if draft["issue_type"] in NEVER_EXECUTED_TYPES:
        return
    verdict = judge(draft, default_checks=settings.default_checks)
    if not verdict.ready:
        problem = verdict.problems[0]
        where = f"acceptance line {problem.line}: " if problem.line else ""
        cure = problem.fix.replace("ddx bead update ID", "helix triage TITLE")  # there is no id
        raise Refused(f"nothing was filed: {where}{problem.why}", hint=cure)


def _require_document(project: Project, settings: Settings, spec_id: str) -> None:
    from ddx.graph.cache import load_graph

    if spec_id:
        graph = load_graph(project, settings.document_roots, clock=SYSTEM_CLOCK)
        if not graph.holders(spec_id.partition("#")[0]):
            graph.require(spec_id.partition("#")[0])


def _require_new(snapshot: Snapshot, title: str) -> None:
    from helix.actions.filing import known_beads
    from helix.policy.drafts import identity

    for bead in known_beads(snapshot):
        if not bead.is_finished and identity(bead.title) == identity(title):
            raise Refused(
                f"nothing was filed: {bead.id} says the same", hint=f"ddx bead show {bead.id}"
            )


COMMAND = Command(
    "triage",
    "File one bead that is fit to be built; no agent is asked.",
    run,
    "helix triage \"Throttle logins\" --acceptance '`pytest -q tests/login` passes'",
    arguments=(Argument("title", "what is to be done, in a few words"),),
    flags=(
        Flag("--type", "what kind of work", kind="choice", choices=TYPES),
        Flag(
            "--priority",
            "0 is first, 4 is last",
            kind="choice",
            choices=tuple(map(str, PRIORITIES)),
        ),
        Flag("--labels", "labels, separated by commas", many=True),
        Flag("--parent", "the bead that this one is part of"),
        Flag("--depends-on", "beads that must be closed first, separated by commas", many=True),
        Flag("--spec-id", "the document that governs it, for example FEAT-001"),
        Flag("--description", "what and why"),
        Flag("--acceptance", "how to see that it is done; name a command that passes"),
        Flag("--verify", "a command that must exit 0; may be given several times", many=True),
        JSON,
    ),
    schema="bead-created",
)
