"""`helix report`"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, say, write
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import Refused, UsageError
from ddx.project import find_project
from helix.cli.control import tell
from helix.cli.looking import open_to_look, read_since
from helix.cli.opening import SCOPE

if TYPE_CHECKING:
    from helix.verification.coverage import Coverage
    from helix.verification.report import Report, Trend
    from helix.verification.summaries import Line, Rate

_MARK_WITHIN = 4096


def run(*, scope: str | None, since: str | None, html: str | None, json: bool) -> int:
    from helix.actions.scope import REPO, resolve_scope
    from helix.verification.report import read_seen, summarise

    now_ns = SYSTEM_CLOCK.now_ns()
    begin = read_since(since, now_ns=now_ns)
    page = _place(html) if html is not None else ""
    project = find_project(os.getcwd())
    site = open_to_look(project, "helix report")
    meant = resolve_scope(site, scope or REPO)
    report = summarise(
        read_seen(site, tell=tell),
        meant,
        project=project.name,
        at=SYSTEM_CLOCK.stamp(),
        since=begin,
    )
    if page:
        _write_page(page, report)
    if json:
        answer(_row(report))
    elif page:
        say(page)
    else:
        from helix.verification.markdown import as_markdown

        write(as_markdown(report).encode("utf-8", "replace"))
    return 0


def _place(given: str) -> str:
    """Where the page goes; only an older report of ours may be in its place."""
    from helix.verification.page import GENERATOR

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


def _write_page(path: str, report: Report) -> None:
    from ddx.files import replace
    from helix.verification.page import as_page

    replace(path, (as_page(report).encode("utf-8", "replace"),))


def _row(report: Report) -> dict[str, Any]:
    return {
        "project": report.project,
        "scope": report.scope,
        "at": report.at,
        "since": report.since or None,
        "counts": dict(report.counts),
        "spent": report.spent.row,
        "beads": [_line(line) for line in report.lines],
        "needs": [dict(need.__dict__) for need in report.needs],
        "coverage": [_coverage(row) for row in report.coverage],
        "follow_ons": [{**it.__dict__, "filed": it.filed or None} for it in report.follow_ons],
        "ratchets": [_trend(trend) for trend in report.trends],
        "days": [dict(day.__dict__) for day in report.days],
        "attempts_per_bead": [dict(each.__dict__) for each in report.tries],
        "harnesses": [_rate(rate) for rate in report.harnesses],
        "memory": [_rate(rate) for rate in report.memory],
        "left_out": list(report.remarks),
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "title": line.title,
        "type": line.type,
        "spec": line.spec or None,
        "standing": str(line.standing),
        "asked_at": line.asked_at or None,
        "ended_at": line.ended_at or None,
        "commit": line.commit or None,
        "attempts": line.attempts,
        "tokens": line.spent.tokens,
        "cost_usd": line.spent.cost_usd,
        "kept": line.kept or None,
        "ref": line.ref or None,
        "reason": line.reason,
    }


def _coverage(row: Coverage) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "type": row.type,
        "path": row.path,
        "designs": list(row.designs),
        "tests": list(row.tests),
        "evidence": [dict(proof.__dict__) for proof in row.evidence],
        "missing": row.missing or None,
    }


def _trend(trend: Trend) -> dict[str, Any]:
    points = [{"at": at, "value": number} for at, number in trend.points]
    return {**trend.__dict__, "points": points}


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "key": rate.key,
        "attempts": rate.attempts,
        "completed": rate.completed,
        "tokens": rate.spent.tokens,
        "cost_usd": rate.spent.cost_usd,
    }


COMMAND = Command(
    "report",
    "Say what was asked, what landed, what is proven and what needs a person; file nothing.",
    run,
    "helix report --since 7d --html report.html",
    arguments=(SCOPE,),
    flags=(
        Flag("--since", "only what happened since then: 7d, 24h, 2026-03-27, or a full time"),
        Flag("--html", "write one self-contained page with charts into this file"),
        JSON,
    ),
    schema="helix-report",
)
