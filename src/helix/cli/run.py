"""`helix run`"""

from __future__ import annotations

import os
from typing import Any

from ddx.base import Clock, CorruptFile, NeedsPerson, UsageError
from ddx.console import JSON, Argument, Command, Flag
from ddx.project import find_project
from helix.cli.context import ON_LIMIT

MOST_WORKERS = 32
_AT_LEAST_1 = ("max_cycles", "max_attempts", "batch", "workers", "max_tokens")


@Command.of(
    example="helix run --max-cycles 3 --summary",
    arguments=(
        Argument(
            "scope", "a bead, a document, a label, a path, or repo (the default)", required=False
        ),
    ),
    flags=(
        Flag(
            "--autonomy",
            "how often a person is asked (medium)",
            "choice",
            choices=("low", "medium", "high"),
        ),
        Flag("--agent", "which agent program builds; without it the configured or only one"),
        Flag("--review-agent", "which agent program reviews; without it the one that builds"),
        Flag("--model", "the builder's model, or smart or cheap as configured"),
        Flag("--effort", "how hard the builder's model thinks, in the harness's own words"),
        Flag("--max-cycles", "stop after so many completed cycles", "number"),
        Flag("--review-every", "align after so many completed cycles; 0: never", "number"),
        Flag("--review-threshold", "review from so many changed lines on", "number"),
        Flag("--no-auto-review", "land without review", "switch"),
        Flag("--no-auto-align", "stop where an alignment is due", "switch"),
        Flag(
            "--check",
            "ask an agent what is missing even where the state tells",
            "choice",
            choices=("auto", "always-agent"),
        ),
        Flag("--max-attempts", "failed attempts after which a bead is blocked", "number"),
        Flag("--max-cost", "US dollars for the whole run"),
        Flag("--max-tokens", "tokens for the whole run", "number"),
        ON_LIMIT,
        Flag("--batch", "beads that one attempt may take on together", "number"),
        Flag("--workers", "so many attempts at once (1); they land one at a time", "number"),
        Flag("--watch", "go on waiting when there is nothing to do", "switch"),
        Flag("--summary", "three lines a cycle; the rest is in the log", "switch", also="-s"),
        Flag("--quiet", "no lines of the agent's own", "switch", also="-q"),
        Flag("--dry-run", "show what would be done next, and do nothing", "switch"),
        JSON,
    ),
    schema="helix-run",
)
def run(**given: Any) -> int:
    """Work through the queue: pick, build, prove, land, review, until a person is needed."""
    project = find_project(os.getcwd())
    for name in _AT_LEAST_1:
        if given[name] is not None and given[name] < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {given[name]}")
    if (given["workers"] or 1) > MOST_WORKERS:
        raise UsageError(f"--workers must be at most {MOST_WORKERS}, not {given['workers']}")
    project.refuse_inside_an_attempt(what="running a supervisor")
    project.require_trust(to_run="its work")
    if given["dry_run"]:
        from helix.cli.run_setup import rehearse

        return rehearse(project, given)
    from helix.run import only_run

    with only_run(project, Clock()) as us:
        from helix.cli.run_setup import supervise

        try:
            return supervise(project, given, name=us.name)
        except CorruptFile as problem:  # never improvise (S-37)
            raise NeedsPerson(problem.message, hint=problem.hint) from None
