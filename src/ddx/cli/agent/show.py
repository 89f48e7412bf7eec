"""`ddx agent show`"""

from __future__ import annotations

from ddx.cli.place import CLOCK, here
from ddx.console.screen import answer, bold, dim, excerpt, say, when
from ddx.console.spec import JSON, Argument, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ddx.cli.agent.finding import Attempt
    from ddx.project import Project

ATTEMPT = Argument("attempt", "its id, the beginning or end of it, or last")
_TAIL_LINES = 12
_SHORT = 12
_TEXTS = ("left_open", "base", "target", "result", "diffstat")


def run(*, attempt: str, json: bool) -> int:
    from ddx.cli.agent.finding import find_attempt

    project = here()
    found = find_attempt(project, attempt)
    row = full_row(found, project)
    if json:
        answer(row)
    else:
        _print(found, row)
    return 0


def full_row(attempt: Attempt, project: Project) -> dict[str, Any]:
    """Everything that is known of an attempt."""
    from os import listdir

    from ddx.cli.agent.rendering import attempt_row

    result = attempt.result
    titles = attempt.record.intent.get("titles")
    return {
        **attempt_row(attempt, project),
        "titles": titles if isinstance(titles, dict) else {},
        **{name: attempt.of_both(name) for name in _TEXTS},
        "paths": list(result.get("paths", ())),
        "checks": list(result.get("checks", ())),
        "reply": result.get("reply"),
        "files": sorted(listdir(attempt.record.folder)),
        "next": _next(attempt),
    }


def _next(attempt: Attempt) -> dict[str, str]:
    """What to type to look at what is kept, and to decide on it (X-14)."""
    kept = bool(attempt.ref)
    return {
        "log": f"ddx agent log {attempt.id}",
        "look": f"git show {attempt.ref}" if kept else "",
        "land": f"ddx agent land {attempt.id}" if kept else "",
        "drop": f"ddx agent drop {attempt.id}" if kept else "",
    }


def _print(attempt: Attempt, row: Mapping[str, Any]) -> None:
    from ddx.cli.agent.rendering import (
        beads_in_words,
        duration,
        outcome_in_words,
        usage_in_words,
    )

    titles = "; ".join(map(str, row["titles"].values()))
    say(bold(attempt.id), f"  {beads_in_words(attempt)}  {titles}".rstrip())
    say(outcome_in_words(attempt))
    if row["reason"]:
        say(f"because: {row['reason']}")
    if row["left_open"]:
        say(f"left open: {row['left_open']}")
    model = f" with {row['model']}" if row["model"] else ""
    began = when(row["began_at"], now=CLOCK.stamp())
    say(f"{row['action']} by {row['harness']}{model}, {began}, took {duration(row['seconds'])}")
    say(usage_in_words(attempt.usage))
    branch = row["target"].removeprefix("refs/heads/")
    if row["base"]:
        say(f"from {row['base'][:_SHORT]}{f' on {branch}' if branch else ''}")
    if row["commit"]:
        say(f"landed as {row['commit'][:_SHORT]}")
    _print_checks(row["checks"], folder=row["folder"])
    if row["diffstat"]:
        say("\n", dim("changes"), "\n", excerpt(row["diffstat"].rstrip("\n")))
    reply = row["reply"]
    if reply and reply.get("text"):
        say("\n", dim("the agent's last words"), "\n", excerpt(reply["text"].rstrip()))
    say("\n", dim("files"), f"  {row['folder']}: {', '.join(row['files'])}")
    if attempt.ref:
        say(dim("kept"), f"  {attempt.ref}")
    for name, line in row["next"].items():
        if line:
            say(dim(f"{name:5}"), f" {line}")


def _print_checks(checks: list[dict[str, Any]], *, folder: str) -> None:
    from ddx.cli.agent.rendering import duration
    from ddx.text import shown_on_one_line

    if checks:
        say("\n", dim("checks"))
    for check in checks:
        name = shown_on_one_line(str(check.get("command") or check.get("name", "")))
        took = duration(check.get("seconds"))
        word = "passed" if check.get("passed") else "FAILED"
        say(f"  {word}  {name}  ({shown_on_one_line(str(check.get('origin', '')))}, {took})")
        if check.get("passed"):
            continue
        if check.get("reason"):
            say(f"      {shown_on_one_line(str(check['reason']))}")
        for line in str(check.get("output_tail", "")).rstrip().splitlines()[-_TAIL_LINES:]:
            say(dim(f"      {line}"))
        if check.get("log"):
            say(f"      all of it: {folder}/{check['log']}")


COMMAND = Command(
    "agent show",
    "Show one attempt whole: outcome, checks, changes, cost, and what to do with what is kept.",
    run,
    "ddx agent show last",
    arguments=(ATTEMPT,),
    flags=(JSON,),
    schema="agent-shown",
)
