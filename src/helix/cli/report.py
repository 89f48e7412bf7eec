"""`helix report`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.base import Clock, Refused, UsageError
from ddx.console import JSON, Command, Flag, answer, say, write
from ddx.project import find_project
from helix.cli.context import SCOPE, tell
from helix.cli.read_context import open_to_look, read_since

if TYPE_CHECKING:
    from helix.verification import BeadLine, Coverage, HarnessRate, ProjectReport

_MARK_WITHIN = 4096


@Command.of(
    example="helix report --since 7d --html report.html",
    arguments=(SCOPE,),
    flags=(
        Flag("--since", "only what happened since then: 7d, 24h, 2026-03-27, or a full time"),
        Flag("--html", "write one self-contained page with charts into this file"),
        JSON,
    ),
    schema="helix-report",
)
def run(*, scope: str | None, since: str | None, html: str | None, json: bool) -> int:
    """Say what was asked, what landed, what is proven and what needs a person; file nothing."""
    from helix.passes import REPO, resolve_scope
    from helix.verification import read_seen, summarise

    now_ns = Clock().now_ns()
    begin = read_since(since, now_ns=now_ns)
    page = _place(html) if html is not None else ""
    project = find_project(os.getcwd())
    site = open_to_look(project, "helix report")
    meant = resolve_scope(site, scope or REPO)
    report = summarise(
        read_seen(site, tell=tell), meant, project=project.name, at=Clock().stamp(), since=begin
    )
    if page:
        _write_page(page, report)
    if json:
        answer(_row(report))
    elif page:
        say(page)
    else:
        from helix.verification import as_markdown

        write(as_markdown(report).encode("utf-8", "replace"))
    return 0


def _place(given: str) -> str:
    """Where the page goes; only an older report of ours may be in its place."""
    from helix.verification import GENERATOR

    path = os.path.realpath(given)
    if not os.path.lexists(path) and given.strip() not in ("", "-"):
        return path
    if not os.path.isfile(path):
        raise UsageError(f"--html wants a file, not {given!r}", hint="--html report.html")
    with open(path, "rb") as file:
        begin = file.read(_MARK_WITHIN)
    if begin and GENERATOR.encode() not in begin:
        raise Refused(
            f"{given} is there already and is no report; nothing was written",
            hint="name another file: --html report.html",
        )
    return path


def _write_page(path: str, report: ProjectReport) -> None:
    from ddx.base import replace
    from helix.verification import as_page

    replace(path, (as_page(report).encode("utf-8", "replace"),))


def _row(report: ProjectReport) -> dict[str, Any]:
    return {
        "project": report.project,
        "scope": report.scope,
        "at": report.at,
        "since": report.since or None,
        "counts": dict(report.counts),
        "spent": report.spent.row,
        "beads": [_line(line) for line in report.lines],
        "needs": [need.__dict__ for need in report.needs],
        "coverage": [_coverage(row) for row in report.coverage],
        "follow_ons": [{**it.__dict__, "filed": it.filed or None} for it in report.follow_ons],
        "ratchets": [
            {**it.__dict__, "points": [{"at": at, "value": number} for at, number in it.points]}
            for it in report.trends
        ],
        "days": [day.__dict__ for day in report.days],
        "attempts_per_bead": [each.__dict__ for each in report.tries],
        "harnesses": [_rate(rate) for rate in report.harnesses],
        "memory": [_rate(rate) for rate in report.memory],
        "left_out": list(report.remarks),
    }


def _line(line: BeadLine) -> dict[str, Any]:
    return {
        **{name: getattr(line, name) for name in ("id", "title", "type")},
        "spec": line.spec or None,
        "standing": str(line.standing),
        **{name: getattr(line, name) or None for name in ("asked_at", "ended_at", "commit")},
        "attempts": line.attempts,
        "tokens": line.spent.tokens,
        "cost_usd": line.spent.cost_usd,
        "kept": line.kept or None,
        "ref": line.ref or None,
        "reason": line.reason,
    }


def _coverage(row: Coverage) -> dict[str, Any]:
    return {
        **row.__dict__,
        "evidence": [proof.__dict__ for proof in row.evidence],
        "missing": row.missing or None,
    }


def _rate(rate: HarnessRate) -> dict[str, Any]:
    return {
        "key": rate.key,
        "attempts": rate.attempts,
        "completed": rate.completed,
        "tokens": rate.spent.tokens,
        "cost_usd": rate.spent.cost_usd,
    }
