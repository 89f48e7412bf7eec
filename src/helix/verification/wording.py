"""A report in words and figures, the same for Markdown and for the page. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.graph.proof.measuring import shown
from ddx.instants import parse
from ddx.text import listed
from ddx.values import value
from helix.verification.coverage import DESIGN, EVIDENCE, TEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.verification.coverage import Coverage
    from helix.verification.report import Report, Trend
    from helix.verification.summaries import Rate

MOST_ROWS = 50
"""Of one table; the rest is in --json."""
_MOST_NAMED = 3


@value
class Figure:
    """One number of the head, with what it counts and how to take it."""

    label: str
    number: str
    note: str
    tone: str = ""
    """good, bad or nothing."""


def headline(report: Report) -> str:
    """What one would say in the lift."""
    number = report.counts
    landed, asked = number["landed"], number["asked"]
    if not any(number.values()):
        return "Nothing was asked yet"
    if report.since:
        first = f"{_beads(landed)} landed, {asked:,} asked for"
    else:
        first = f"{landed:,} of {_beads(asked)} landed"
    rest = [
        f"{number[key]:,} {word}"
        for key, word in (
            ("preserved", "preserved"),
            ("blocked", "blocked"),
            ("in_progress", "in progress"),
            ("open", "open"),
            ("proposed", "proposed"),
            ("closed", "closed without a commit"),
            ("cancelled", "cancelled"),
        )
        if number[key]
    ]
    return f"{first}; {listed(rest)}" if rest else first


def period(report: Report) -> str:
    if report.since:
        return f"since {minute(report.since)}"
    return "from the beginning"


def about(report: Report) -> str:
    """Which part of the project, and of which time."""
    return f"{report.described[:1].upper()}{report.described[1:]}, {period(report)}"


def figures(report: Report) -> tuple[Figure, ...]:
    """The numbers that come first."""
    number = report.counts
    tried = sum(each.beads for each in report.tries)
    attempts = sum(line.attempts for line in report.lines)
    share = f"{100 * report.completed / report.attempts:.0f}%" if report.attempts else "-"
    covered = len(report.coverage) - len(report.gaps)
    then = period(report) if report.since else ""
    return (
        Figure("asked", f"{number['asked']:,}", then or "beads in all"),
        Figure("landed", f"{number['landed']:,}", then or "proven and on the branch", "good"),
        Figure("preserved", f"{number['preserved']:,}", "kept at a ref, not landed"),
        Figure(
            "blocked",
            f"{number['blocked']:,}",
            "wait for a person",
            "bad" if number["blocked"] else "",
        ),
        Figure("open", f"{number['open'] + number['in_progress']:,}", "still to do"),
        Figure(
            "covered",
            f"{covered} of {len(report.coverage)}",
            "requirements with design, test and evidence",
            "bad" if report.gaps else "good",
        ),
        Figure("success", share, f"{report.completed:,} of {report.attempts:,} attempts"),
        Figure(
            "attempts per bead",
            f"{attempts / tried:.1f}" if tried else "-",
            f"{tried:,} {'bead' if tried == 1 else 'beads'} tried",
        ),
        _cost(report),
        Figure("tokens", brief(report.spent.tokens), f"{brief(report.spent.output)} as output"),
    )


def _cost(report: Report) -> Figure:
    """What is known of it; what is not known is said."""
    spent = report.spent
    if not spent.unknown or spent.cost_usd is None:
        return Figure("cost", spent.spoken_cost, f"{spent.calls:,} calls of agents")
    note = f"at least: {spent.unknown:,} of {spent.calls:,} calls did not say"
    return Figure("cost", f"${spent.cost_usd:,.2f}", note)


def brief(number: int) -> str:
    """12.3 k, 4.5 M: three digits that count."""
    for size, unit in ((1_000_000_000, " G"), (1_000_000, " M"), (10_000, " k")):
        if number >= size:
            return f"{number / (1000 if unit == ' k' else size):.1f}{unit}"
    return f"{number:,}"


def spoken_rate(rate: Rate) -> str:
    return f"{rate.completed:,} of {rate.attempts:,}, {100 * rate.share:.0f}%"


def spoken_trend(trend: Trend) -> str:
    """The last value and what it must hold."""
    parts = [f"{trend.direction} is better"]
    if trend.points:
        parts.insert(0, f"now {shown(trend.points[-1][1], trend.unit)}")
    if trend.floor is not None:
        parts.append(f"floor {shown(trend.floor, trend.unit)}")
    return ", ".join(parts)


def steps(row: Coverage) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """Design, test, evidence: the name of the step, what there is, and whether it is a gap."""
    evidence = [*(f"failed: {it.id}" for it in row.failed), *(it.id for it in row.passed)]
    found = ((DESIGN, row.designs), (TEST, row.tests), (EVIDENCE, evidence))
    return tuple(
        (name, _some(ids) or ("none",), not ids or (name == EVIDENCE and bool(row.failed)))
        for name, ids in found
    )


def _some(ids: Sequence[str]) -> tuple[str, ...]:
    """The first few; how many more there are."""
    more = len(ids) - _MOST_NAMED
    return (*ids[:_MOST_NAMED], *([f"{more} more"] if more > 0 else []))


def minute(at: str) -> str:
    """Local time for a person (C-4); what is no time stays as it is."""
    moment = parse(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else at


def _beads(count: int) -> str:
    return f"{count:,} {'bead' if count == 1 else 'beads'}"
