"""A report as Markdown: numbers first, then what needs a person (V-3). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ddx.text import cut, shown_on_one_line
from helix.verification.summaries import Standing
from helix.verification.wording import (
    MOST_ROWS,
    about,
    figures,
    headline,
    minute,
    spoken_rate,
    spoken_trend,
    steps,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.verification.report import Report
    from helix.verification.summaries import Line, Rate

_MOST_NEEDS = 20
_LONGEST_CELL = 160
_MARKS = re.compile(r"([\\`*_\[\]<>|#~])")


def as_markdown(report: Report) -> str:
    """The whole text, with a newline at its end."""
    parts = [*_head(report), *_needs(report), *_coverage(report), *_beads(report)]
    parts += [*_agents(report), *_trends(report), *_follow_ons(report), *_remarks(report)]
    return "\n".join(parts) + "\n"


def inert(words: str) -> str:
    """Text from outside on one line, without any meaning for Markdown."""
    return _MARKS.sub(r"\\\1", shown_on_one_line(cut(words, _LONGEST_CELL)))


def _head(report: Report) -> Iterator[str]:
    yield f"# {inert(report.project)}: {headline(report)}"
    yield ""
    yield f"{inert(about(report))}; as of {minute(report.at)}."
    yield ""
    yield from _table(
        ("", "", ""), [(it.label, f"**{it.number}**", it.note) for it in figures(report)]
    )


def _needs(report: Report) -> Iterator[str]:
    yield from _heading("Needs a person")
    if not report.needs:
        yield "Nothing."
    for need in report.needs[:_MOST_NEEDS]:
        yield f"- {inert(need.what)}:"
        yield f"  {_code(need.next)}"
    if len(report.needs) > _MOST_NEEDS:
        yield f"- and {len(report.needs) - _MOST_NEEDS} more: `helix report --json`"


def _coverage(report: Report) -> Iterator[str]:
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


def _beads(report: Report) -> Iterator[str]:
    landed = report.of(Standing.LANDED)
    if landed:
        yield from _heading("Landed")
        yield from _table(
            ("bead", "what", "when", "commit", "attempts", "cost"),
            [
                (
                    inert(line.id),
                    inert(line.title),
                    inert(minute(line.ended_at)),
                    inert(line.commit[:12]),
                    str(line.attempts),
                    line.spent.spoken_cost,
                )
                for line in landed[:MOST_ROWS]
            ],
        )
        yield from _more(len(landed))
    for standing, title in (
        (Standing.PRESERVED, "Preserved"),
        (Standing.BLOCKED, "Blocked"),
        (Standing.CLAIMED, "In progress"),
        (Standing.OPEN, "Open"),
    ):
        if lines := report.of(standing):
            yield from _heading(title)
            yield from _table(("bead", "what", "attempts", "why"), map(_waiting, lines[:MOST_ROWS]))
            yield from _more(len(lines))


def _waiting(line: Line) -> tuple[str, ...]:
    return inert(line.id), inert(line.title), str(line.attempts), inert(line.reason)


def _agents(report: Report) -> Iterator[str]:
    if report.harnesses:
        yield from _heading("Agents")
        yield from _rates("harness", report.harnesses)
    if report.memory:
        yield from _heading("Memory")
        yield from _rates("attempts", report.memory)
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


def _rates(head: str, rates: Sequence[Rate]) -> Iterator[str]:
    yield from _table(
        (head, "success", "tokens", "cost"),
        [
            (inert(it.key), spoken_rate(it), f"{it.spent.tokens:,}", it.spent.spoken_cost)
            for it in rates
        ],
    )


def _trends(report: Report) -> Iterator[str]:
    if report.trends:
        yield from _heading("Ratchets")
        for trend in report.trends:
            yield f"- {inert(trend.name)}: {inert(spoken_trend(trend))}, {len(trend.points)} values"


def _follow_ons(report: Report) -> Iterator[str]:
    if not report.follow_ons:
        return
    yield from _heading("To close the gaps")
    for item in report.follow_ons[:MOST_ROWS]:
        gap = f"{inert(item.document)} has no {item.missing}"
        yield f"- {gap}, filed as {inert(item.filed)}" if item.filed else f"- {gap}:"
        if not item.filed:
            yield f"  {_code(item.command)}"
    yield from _more(len(report.follow_ons))


def _remarks(report: Report) -> Iterator[str]:
    if report.remarks:
        yield from _heading("Left out")
        yield from (f"- {inert(remark)}" for remark in report.remarks)


def _heading(title: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]] | map[tuple[str, ...]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(cells)} |" for cells in rows),
    ]


def _more(count: int) -> Iterator[str]:
    if count > MOST_ROWS:
        yield ""
        yield f"and {count - MOST_ROWS:,} more: `helix report --json`"


def _titled(doc_id: str, title: str) -> str:
    return title if title.startswith(doc_id) else f"{doc_id} {title}".strip()


def _code(command: str) -> str:
    """In as many back-quotes as the command itself cannot hold."""
    longest = max((len(found) for found in re.findall(r"`+", command)), default=0)
    fence = "`" * (longest + 1)
    space = " " if command.startswith("`") or command.endswith("`") else ""
    return f"{fence}{space}{shown_on_one_line(command)}{space}{fence}"
