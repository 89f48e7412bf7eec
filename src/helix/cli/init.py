"""`helix init`"""

from __future__ import annotations

import os

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag


def run(*, docs: str | None, trust: bool, json: bool) -> int:
    from ddx.clock import SYSTEM_CLOCK
    from ddx.errors import UsageError
    from ddx.project import find_project
    from ddx.tracker.store import Tracker
    from ddx.trust import is_trusted
    from helix.cli.control import tell
    from helix.installing.launchers import launcher_of
    from helix.installing.repository import set_up_repository
    from helix.resources import require_resources

    if docs is not None and not docs.strip():
        raise UsageError("--docs needs the product's name", hint='helix init --docs "Bread club"')
    require_resources()
    project = find_project(os.getcwd())
    tracker = Tracker(project, clock=SYSTEM_CLOCK, command="helix init", tell=tell)
    done = list(
        set_up_repository(
            project,
            tracker,
            launcher=launcher_of("ddx"),
            clock=SYSTEM_CLOCK,
            documents=(docs or "").strip(),
            trust=trust,
        )
    )
    trusted = is_trusted(project)
    if json:
        answer({"root": project.root, "done": done, "trusted": trusted})
        return 0
    for sentence in done or [f"{project.root} is set up already"]:
        say(sentence)
    if done:
        say("next: commit what was made; git status shows it")
    if not trusted:
        say("next: look at what its checks would run, then: helix trust")
    say('next: helix input "<what you want>", then: helix run')
    return 0


COMMAND = Command(
    "init",
    "Set this repository up: queue, settings, a section in AGENTS.md; what is there stays.",
    run,
    'helix init --docs "Bread club"',
    flags=(
        Flag("--docs", "begin vision and requirements for the product of this name"),
        Flag(
            "--trust", "also let commands of this repository run: hooks, checks, set-up", "switch"
        ),
        JSON,
    ),
    schema="helix-init",
)
