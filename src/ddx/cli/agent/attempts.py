"""`ddx agent attempts`, `show`, `land` and `drop`: attempts, and what to do with their work."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from ddx.base import NotFound, UsageError, shown
from ddx.cli.agent import output
from ddx.cli.agent.attempt_lookup import find_attempt, find_landable, list_attempts
from ddx.cli.context import CLOCK, here, open_tracker, respond
from ddx.console import (
    JSON,
    Argument,
    Command,
    Flag,
    answer,
    bold,
    dim,
    excerpt,
    say,
    table,
    terminal_width,
    when,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddx.cli.agent.attempt_lookup import ListedAttempt
    from ddx.project import Project

ATTEMPT = Argument("attempt", "its id, the beginning or end of it, or last")
KEPT = Argument("attempt", "its id, or a part of it that no other begins with")
LIMIT = 20
_COMMANDS = ("show", "land", "drop", "log")
_TAIL_LINES = 12
_SHORT = 12
_TEXTS = ("left_open", "base", "target", "result", "diffstat")


@Command.of(
    example="ddx agent attempts app-1a2b3c4d --limit 5",
    arguments=(Argument("id", "only those on this bead", required=False),),
    flags=(Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"), JSON),
    schema="agent-attempts",
)
def attempts(*, id: str | None, limit: int | None, json: bool) -> int:
    """List attempts, newest first: how each ended, what it took, what is kept of it."""
    if id in _COMMANDS:
        raise UsageError(
            f"{id!r} is no bead but a command", hint=f"for example: ddx agent {id} last"
        )
    project = here()
    wanted = list_attempts(project, bead=id or "")
    found = list(islice(wanted, LIMIT if limit is None else limit))
    if id and not found:
        _require_bead(id)
    if json:
        answer([output.attempt_row(attempt, project) for attempt in found])
    elif found:
        _print_table(found)
    else:
        say(f"no attempt on {id} yet" if id else "no attempt yet: ddx agent execute-loop --once")
    return 0


def _require_bead(bead_id: str) -> None:
    """A name that nobody knows is a mistake, and no answer."""
    open_tracker().snapshot().row(bead_id)


def _print_table(found: list[ListedAttempt]) -> None:
    columns = output.attempt_columns(found, now=CLOCK.stamp())
    chosen = output.fitting(columns, width) if (width := terminal_width()) else columns
    heads = [column.head for column in chosen]
    table(heads, list(zip(*(column.cells for column in chosen), strict=True)))
    if len(chosen) < len(columns):
        say(dim(f"all of one: ddx agent show {found[0].id}"))


@Command.of(
    example="ddx agent show last", arguments=(ATTEMPT,), flags=(JSON,), schema="agent-shown"
)
def show(*, attempt: str, json: bool) -> int:
    """Show one attempt whole: outcome, checks, changes, cost, and what to do with what is kept."""
    project = here()
    found = find_attempt(project, attempt)
    row = full_row(found, project)
    if json:
        answer(row)
    else:
        _print(found, row)
    return 0


def full_row(attempt: ListedAttempt, project: Project) -> dict[str, Any]:
    """Everything that is known of an attempt."""
    result = attempt.record.result
    titles = attempt.record.intent.get("titles")
    return {
        **output.attempt_row(attempt, project),
        "titles": titles if isinstance(titles, dict) else {},
        **{name: attempt.record.of_both(name) for name in _TEXTS},
        "paths": list(result.get("paths", ())),
        "checks": list(result.get("checks", ())),
        "reply": result.get("reply"),
        "files": sorted(os.listdir(attempt.record.folder)),
        "next": _next(attempt),
    }


def _next(attempt: ListedAttempt) -> dict[str, str]:
    """What to type to look at what is kept, and to decide on it (X-14)."""
    kept = bool(attempt.ref)
    return {
        "log": f"ddx agent log {attempt.id}",
        "look": f"git show {attempt.ref}" if kept else "",
        "land": f"ddx agent land {attempt.id}" if kept else "",
        "drop": f"ddx agent drop {attempt.id}" if kept else "",
    }


def _print(attempt: ListedAttempt, row: Mapping[str, Any]) -> None:
    titles = "; ".join(map(str, row["titles"].values()))
    say(bold(attempt.id), f"  {output.beads_in_words(attempt)}  {titles}".rstrip())
    say(output.outcome_in_words(attempt))
    if row["reason"]:
        say(f"because: {row['reason']}")
    if row["left_open"]:
        say(f"left open: {row['left_open']}")
    model = f" with {row['model']}" if row["model"] else ""
    began = when(row["began_at"], now=CLOCK.stamp())
    took = output.duration(row["seconds"])
    say(f"{row['action']} by {row['harness']}{model}, {began}, took {took}")
    say(output.usage_in_words(attempt.record.usage))
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
    if checks:
        say("\n", dim("checks"))
    for check in checks:
        name = shown(str(check.get("command") or check.get("name", "")), one_line=True)
        took = output.duration(check.get("seconds"))
        word = "passed" if check.get("passed") else "FAILED"
        say(f"  {word}  {name}  ({shown(str(check.get('origin', '')), one_line=True)}, {took})")
        if check.get("passed"):
            continue
        if check.get("reason"):
            say(f"      {shown(str(check['reason']), one_line=True)}")
        for line in str(check.get("output_tail", "")).rstrip().splitlines()[-_TAIL_LINES:]:
            say(dim(f"      {line}"))
        if check.get("log"):
            say(f"      all of it: {folder}/{check['log']}")


@Command.of(
    example="ddx agent land 20260102T030405-1a2b3c",
    arguments=(KEPT,),
    flags=(JSON,),
    schema="agent-outcome",
)
def land_attempt(*, attempt: str, json: bool) -> int:
    """Land what an attempt left at its ref, if it passes its checks now, and close its beads."""
    from ddx.cli.agent.execution import land

    project = here()
    return land(project, find_landable(project, attempt), json=json)


@Command.of(
    example="ddx agent drop 20260102T030405-1a2b3c",
    arguments=(KEPT,),
    flags=(JSON,),
    schema="agent-dropped",
)
def drop(*, attempt: str, json: bool) -> int:
    """Let go of what an attempt left at its ref."""
    from ddx.attempts import find_kept, forget_kept

    project = here()
    project.refuse_inside_an_attempt(what="dropping what is kept")
    attempt = find_landable(project, attempt)
    kept = find_kept(project, attempt)
    if kept is None:
        raise NotFound(f"nothing of attempt {attempt} is kept", hint="see: ddx agent attempts")
    forget_kept(project, attempt)
    done = f"dropped {kept.ref}; until git cleans up, its commit is {kept.commit[:12]}"
    return respond({"attempt": attempt, "ref": kept.ref, "commit": kept.commit}, done, json=json)
