"""A report in words and figures, for Markdown and for the page; and the Markdown (V-3). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from ddx.base import Instant, cut, listed, quantity, shown, value
from helix.verification.coverage import DESIGN, EVIDENCE, TEST
from helix.verification.report_numbers import BeadPhase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from helix.verification.coverage import Coverage
    from helix.verification.report import ProjectReport, Trend
    from helix.verification.report_numbers import HarnessRate

    Table: TypeAlias = tuple[str, Sequence[str], Sequence[Sequence[str]]]

MOST_ROWS = 50
"""Of one table; the rest is in --json."""
RATE_HEADS = ("success", "tokens", "cost")
_MOST_NAMED = 3
_WAITING = {
    BeadPhase.PRESERVED: "Preserved",
    BeadPhase.BLOCKED: "Blocked",
    BeadPhase.CLAIMED: "In progress",
    BeadPhase.OPEN: "Open",
}
_MOST_NEEDS = 20
_LONGEST_CELL = 160
_MARKS = re.compile(r"([\\`*_\[\]<>|#~])")


@value
class Figure:
    """One number of the head, with what it counts and how to take it."""

    label: str
    number: str
    note: str
    tone: str = ""
    """good, bad or nothing."""


def headline(report: ProjectReport) -> str:
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


def period(report: ProjectReport) -> str:
    if report.since:
        return f"since {minute(report.since)}"
    return "from the beginning"


def about(report: ProjectReport) -> str:
    """Which part of the project, and of which time."""
    return f"{report.described[:1].upper()}{report.described[1:]}, {period(report)}"


def figures(report: ProjectReport) -> tuple[Figure, ...]:
    """The numbers that come first."""
    number = report.counts
    tried = sum(each.beads for each in report.tries)
    attempts = sum(line.attempts for line in report.lines)
    share = f"{100 * report.completed / report.attempts:.0f}%" if report.attempts else "-"
    covered = len(report.coverage) - len(report.gaps)
    then = period(report) if report.since else ""
    return (
        Figure("asked", f"{number['asked']:,}", then or "beads in all"),
        Figure("landed", f"{number['landed']:,}", then or "proven and on the branch", tone="good"),
        Figure("preserved", f"{number['preserved']:,}", "kept at a ref, not landed"),
        Figure(
            "blocked",
            f"{number['blocked']:,}",
            "wait for a person",
            tone="bad" if number["blocked"] else "",
        ),
        Figure("open", f"{number['open'] + number['in_progress']:,}", "still to do"),
        Figure(
            "covered",
            f"{covered} of {len(report.coverage)}",
            "requirements with design, test and evidence",
            tone="bad" if report.gaps else "good",
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


def _cost(report: ProjectReport) -> Figure:
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


def bead_tables(report: ProjectReport) -> Iterator[Table]:
    """The beads in each state that is told of, as title, heads and rows; none is empty."""
    landed = [
        (
            line.id,
            line.title,
            minute(line.ended_at),
            line.commit[:12],
            str(line.attempts),
            line.spent.spoken_cost,
        )
        for line in report.of(BeadPhase.LANDED)
    ]
    if landed:
        yield "Landed", ("bead", "what", "when", "commit", "attempts", "cost"), landed
    for standing, title in _WAITING.items():
        lines = report.of(standing)
        rows = [(line.id, line.title, str(line.attempts), line.reason) for line in lines]
        if rows:
            yield title, ("bead", "what", "attempts", "why"), rows


def rate_rows(rates: Iterable[HarnessRate]) -> list[tuple[str, ...]]:
    """How often it went well for each, what it used, and what it cost."""
    return [
        (
            rate.key,
            f"{rate.completed:,} of {rate.attempts:,}, {100 * rate.share:.0f}%",
            f"{rate.spent.tokens:,}",
            rate.spent.spoken_cost,
        )
        for rate in rates
    ]


def spoken_trend(trend: Trend) -> str:
    """The last value and what it must hold."""
    parts = [f"{trend.direction} is better"]
    if trend.points:
        parts.insert(0, f"now {quantity(trend.points[-1][1], trend.unit)}")
    if trend.floor is not None:
        parts.append(f"floor {quantity(trend.floor, trend.unit)}")
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
    moment = Instant(at).moment
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else at


def _beads(count: int) -> str:
    return f"{count:,} {'bead' if count == 1 else 'beads'}"


# -- Markdown: numbers first, then what needs a person -----------------------------------------


def as_markdown(report: ProjectReport) -> str:
    """The whole text, with a newline at its end."""
    parts = [*_head(report), *_needs(report), *_coverage(report), *_beads_and_agents(report)]
    parts += [*_trends(report), *_follow_ons(report), *_remarks(report)]
    return "\n".join(parts) + "\n"


def inert(words: str) -> str:
    """Text from outside on one line, without any meaning for Markdown."""
    return _MARKS.sub(r"\\\1", shown(cut(words, _LONGEST_CELL), one_line=True))


def _head(report: ProjectReport) -> Iterator[str]:
    yield f"# {inert(report.project)}: {headline(report)}"
    yield ""
    yield f"{inert(about(report))}; as of {minute(report.at)}."
    yield ""
    yield from _table(
        ("", "", ""), [(it.label, f"**{it.number}**", it.note) for it in figures(report)]
    )


def _needs(report: ProjectReport) -> Iterator[str]:
    yield from _heading("Needs a person")
    if not report.needs:
        yield "Nothing."
    for need in report.needs[:_MOST_NEEDS]:
        yield f"- {inert(need.what)}:"
        yield f"  {_code(need.next)}"
    if len(report.needs) > _MOST_NEEDS:
        yield f"- and {len(report.needs) - _MOST_NEEDS} more: `helix report --json`"


def _coverage(report: ProjectReport) -> Iterator[str]:
    if not report.coverage:
        return
    yield from _heading("Coverage")
    rows = []
    for row in report.coverage[:MOST_ROWS]:
        cells = [_step(names, is_gap=is_gap) for _, names, is_gap in steps(row)]
        rows.append((inert(_titled(row.id, row.title)), *cells, row.gap))
    yield from _table(("requirement", "design", "test", "evidence", "gap"), rows)
    yield from _more(len(report.coverage))


def _step(names: Sequence[str], *, is_gap: bool) -> str:
    said = ", ".join(map(inert, names))
    return f"**{said}**" if is_gap else said


def _beads_and_agents(report: ProjectReport) -> Iterator[str]:
    tables = [*bead_tables(report)]
    if report.harnesses:
        tables.append(("Agents", ("harness", *RATE_HEADS), rate_rows(report.harnesses)))
    if report.memory:
        tables.append(("Memory", ("attempts", *RATE_HEADS), rate_rows(report.memory)))
    for title, heads, rows in tables:
        yield from _heading(title)
        most = MOST_ROWS if heads[0] == "bead" else len(rows)
        yield from _table(heads, [[*map(inert, row)] for row in rows[:most]])
        yield from _more(len(rows), most)
    if report.days:
        yield from _heading("Days")
        yield from _table(
            ("day", "landed", "attempts", "tokens", "cost"),
            [
                (
                    day.day,
                    str(day.landed),
                    str(day.attempts),
                    f"{day.tokens:,}",
                    "-" if day.cost_usd is None else f"${day.cost_usd:,.2f}",
                )
                for day in reversed(report.days[-MOST_ROWS:])
            ],
        )


def _trends(report: ProjectReport) -> Iterator[str]:
    if report.trends:
        yield from _heading("Ratchets")
        for trend in report.trends:
            yield f"- {inert(trend.name)}: {inert(spoken_trend(trend))}, {len(trend.points)} values"


def _follow_ons(report: ProjectReport) -> Iterator[str]:
    if not report.follow_ons:
        return
    yield from _heading("To close the gaps")
    for item in report.follow_ons[:MOST_ROWS]:
        gap = f"{inert(item.document)} has no {item.missing}"
        yield f"- {gap}, filed as {inert(item.filed)}" if item.filed else f"- {gap}:"
        if not item.filed:
            yield f"  {_code(item.command)}"
    yield from _more(len(report.follow_ons))


def _remarks(report: ProjectReport) -> Iterator[str]:
    if report.remarks:
        yield from _heading("Left out")
        yield from (f"- {inert(remark)}" for remark in report.remarks)


def _heading(title: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(cells)} |" for cells in rows),
    ]


def _more(count: int, most: int = MOST_ROWS) -> Iterator[str]:
    if count > most:
        yield ""
        yield f"and {count - most:,} more: `helix report --json`"


def _titled(doc_id: str, title: str) -> str:
    return title if title.startswith(doc_id) else f"{doc_id} {title}".strip()


def _code(command: str) -> str:
    """In as many back-quotes as the command itself cannot hold."""
    longest = max((len(found) for found in re.findall(r"`+", command)), default=0)
    fence = "`" * (longest + 1)
    space = " " if command.startswith("`") or command.endswith("`") else ""
    return f"{fence}{space}{shown(command, one_line=True)}{space}{fence}"
