"""A report as one page that needs nothing else, in light, in dark and on paper (V-3).

It has no script and no asset, and all that came from outside is made harmless in it. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.graph.drawing.markup import inert
from ddx.graph.proof.measuring import shown
from ddx.text import cut, shown_on_one_line
from helix.verification.charts import Bar, Share, bars, shares, trend
from helix.verification.page_style import STYLE
from helix.verification.summaries import Standing, spans_of
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
    from collections.abc import Iterable, Iterator, Sequence

    from helix.verification.report import Report, Trend
    from helix.verification.summaries import Day, Line, Rate

GENERATOR = '<meta name="generator" content="helix report">'
"""By this we know a page of ours again."""
_LONGEST, _LONGEST_ID = 300, 24
_WORDS = ("what", "why")


def as_page(report: Report) -> str:
    title = f"{report.project}: {headline(report)}"
    body = [*_head(report), *_needs(report), *_coverage(report), *_charts(report)]
    body += [*_beads(report), *_agents(report), *_follow_ons(report), *_foot(report)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            GENERATOR,
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{_line(title)}</title>",
            f"<style>\n{STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _head(report: Report) -> Iterator[str]:
    yield "<header>"
    yield f'<p class="project">{_line(report.project)}</p>'
    yield f"<h1>{_line(headline(report))}</h1>"
    at = f'<span class="at">as of {_line(minute(report.at))}</span>'
    yield f'<p class="about">{_line(about(report))}{at}</p>'
    yield "</header>"
    yield '<ul class="figures">'
    for it in figures(report):
        tone = f' class="{it.tone}"' if it.tone else ""
        yield f"<li{tone}><b>{_line(it.label)}</b><strong>{_line(it.number)}</strong>"
        yield f"<span>{_line(it.note)}</span></li>"
    yield "</ul>"


def _needs(report: Report) -> Iterator[str]:
    yield from _section("Needs a person")
    if report.needs:
        yield '<ol class="needs">'
        for need in report.needs[:MOST_ROWS]:
            yield f"<li>{_line(need.what)}<code>{_command(need.next)}</code></li>"
        yield "</ol>"
        yield from _more(len(report.needs))
    else:
        yield '<p class="quiet">Nothing waits for anybody.</p>'
    yield "</section>"


def _coverage(report: Report) -> Iterator[str]:
    yield from _section("Coverage", "from each requirement to design, test and evidence")
    if report.coverage:
        yield '<table class="stacked coverage"><thead><tr><th>requirement</th><th>design</th>'
        yield "<th>test</th><th>evidence</th><th>state</th></tr></thead><tbody>"
        for row in report.coverage[:MOST_ROWS]:
            yield f'<tr><th scope="row"><b>{_line(row.id)}</b> '
            yield f"<span>{_line(row.title.removeprefix(row.id).lstrip(':- '))}</span></th>"
            for name, found, is_gap in steps(row):
                lack = ' class="lack"' if is_gap else ""
                said = ", ".join(map(_name, found))
                yield f'<td data-label="{name}"{lack}><div>{said}</div></td>'
            mark = f'<mark class="bad">{row.gap}</mark>' if row.gap else "covered"
            yield f'<td data-label="state">{mark}</td></tr>'
        yield "</tbody></table>"
        yield from _more(len(report.coverage))
    else:
        yield '<p class="quiet">There are no requirement documents here.</p>'
    yield "</section>"


def _charts(report: Report) -> Iterator[str]:
    unit, spans = spans_of(report.days)
    yield from _section("In pictures")
    yield '<div class="charts">'
    yield _card(f"Landed per {unit}", _landed(spans))
    yield _card(f"Cost per {unit}", _cost(spans), _cost_note(report))
    yield _card("Attempts per bead", _tries(report), "how many beads took so many attempts")
    yield _card("Success per harness", _rates(report.harnesses), "attempts that landed, of all")
    if report.memory:
        yield _card(
            "Success and memory", _rates(report.memory), "by whether the prompt held memories"
        )
    for item in report.trends:
        yield _card(f"Ratchet: {item.name}", _trend(item), spoken_trend(item))
    yield "</div></section>"


def _landed(spans: Sequence[Day]) -> str:
    drawn = [Bar(_short(day.day), day.landed, f"{day.day}: {day.landed} landed") for day in spans]
    return bars(drawn, title="beads that landed", spoken=lambda number: f"{number:,.0f}")


def _cost(spans: Sequence[Day]) -> str:
    drawn = [
        Bar(_short(day.day), day.cost_usd or 0.0, f"{day.day}: {_dollars(day.cost_usd)}")
        for day in spans
    ]
    return bars(drawn, title="what agents cost", spoken=_brief_dollars)


def _cost_note(report: Report) -> str:
    unknown = report.spent.unknown
    return f"{unknown:,} of {report.spent.calls:,} calls did not say" if unknown else ""


def _tries(report: Report) -> str:
    drawn = [
        Bar(each.label, each.beads, f"{each.beads} beads took {each.label} attempts")
        for each in report.tries
    ]
    return bars(drawn, title="attempts per bead", spoken=lambda number: f"{number:,.0f}")


def _rates(rates: Sequence[Rate]) -> str:
    if not rates:
        return '<p class="quiet">No attempt has come to its end yet.</p>'
    drawn = [Share(rate.key, rate.completed, rate.attempts) for rate in rates]
    return shares(drawn, title="how often it went well")


def _trend(item: Trend) -> str:
    points = [(minute(at)[:10], number) for at, number in item.points]
    return trend(
        points,
        title=f"values of {item.name}",
        spoken=lambda number: shown(number, item.unit if item.unit == "%" else ""),
        floor=item.floor,
    )


def _beads(report: Report) -> Iterator[str]:
    landed = report.of(Standing.LANDED)
    if landed:
        yield from _section("Landed")
        rows = (
            (
                line.id,
                line.title,
                minute(line.ended_at),
                line.commit[:12],
                str(line.attempts),
                line.spent.spoken_cost,
            )
            for line in landed[:MOST_ROWS]
        )
        yield from _table(("bead", "what", "when", "commit", "attempts", "cost"), rows)
        yield from _more(len(landed))
        yield "</section>"
    for standing, title in (
        (Standing.PRESERVED, "Preserved"),
        (Standing.BLOCKED, "Blocked"),
        (Standing.CLAIMED, "In progress"),
        (Standing.OPEN, "Open"),
    ):
        if lines := report.of(standing):
            yield from _section(title)
            cells = map(_waiting, lines[:MOST_ROWS])
            yield from _table(("bead", "what", "attempts", "why"), cells)
            yield from _more(len(lines))
            yield "</section>"


def _waiting(line: Line) -> tuple[str, ...]:
    return line.id, line.title, str(line.attempts), line.reason


def _agents(report: Report) -> Iterator[str]:
    if not report.harnesses:
        return
    yield from _section("Agents")
    rows = (
        (rate.key, spoken_rate(rate), f"{rate.spent.tokens:,}", rate.spent.spoken_cost)
        for rate in (*report.harnesses, *report.memory)
    )
    yield from _table(("harness", "success", "tokens", "cost"), rows)
    yield "</section>"


def _follow_ons(report: Report) -> Iterator[str]:
    if not report.follow_ons:
        return
    yield from _section("To close the gaps", "nothing is filed until you type it")
    yield '<ol class="needs">'
    for item in report.follow_ons[:MOST_ROWS]:
        yield f"<li>{_line(f'{item.document} has no {item.missing}')}"
        if item.filed:
            yield f"<code>{_command(f'ddx bead show {item.filed}')}</code></li>"
        else:
            yield f"<code>{_command(item.command)}</code></li>"
    yield "</ol>"
    yield from _more(len(report.follow_ons))
    yield "</section>"


def _foot(report: Report) -> Iterator[str]:
    if report.remarks:
        yield from _section("Left out", "what could not be read")
        yield "<ul>"
        yield from (f"<li>{_line(remark)}</li>" for remark in report.remarks)
        yield "</ul></section>"
    command = "helix report" if report.scope == "repo" else f"helix report {report.scope}"
    yield f"<footer>made by <code>{_command(command)}</code></footer>"


def _section(title: str, note: str = "") -> Iterator[str]:
    yield f"<section><h2>{_line(title)}</h2>"
    if note:
        yield f'<p class="about">{_line(note)}</p>'


def _card(title: str, drawn: str, note: str = "") -> str:
    below = f"<p>{_line(note)}</p>" if note else ""
    return f"<figure><figcaption>{_line(title)}{below}</figcaption>{drawn}</figure>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A column in which nothing stands is left out."""
    columns = zip(heads, *rows, strict=True)
    heads, *rows = zip(*(column for column in columns if any(column[1:])), strict=True)
    yield '<table class="stacked"><thead><tr>'
    yield "".join(f"<th>{head}</th>" for head in heads)
    yield "</tr></thead><tbody>"
    for first, *cells in rows:
        inner = "".join(
            f'<td data-label="{head}"{_kind(head, cell)}>{_line(cell)}</td>'
            for head, cell in zip(heads[1:], cells, strict=True)
        )
        yield f'<tr><th scope="row"><b>{_line(first)}</b></th>{inner}</tr>'
    yield "</tbody></table>"


def _kind(head: str, cell: str) -> str:
    """Words get all the room that is left; on a phone, facts stand side by side."""
    if not cell:
        return ' class="empty"'
    return "" if head in _WORDS else ' class="fact"'


def _more(count: int) -> Iterator[str]:
    if count > MOST_ROWS:
        said = f"and {count - MOST_ROWS:,} more: <code>helix report --json</code>"
        yield f'<p class="quiet">{said}</p>'


def _line(words: str) -> str:
    """Text from outside on one line, bounded and without markup."""
    return inert(shown_on_one_line(cut(words, _LONGEST)))


def _name(words: str) -> str:
    """An id in one piece; a path may be broken anywhere."""
    whole = "" if "/" in words or len(words) > _LONGEST_ID else ' class="id"'
    return f"<span{whole}>{_line(words)}</span>"


def _command(words: str) -> str:
    """Whole: half a command is worse than none."""
    return inert(shown_on_one_line(words))


def _short(day: str) -> str:
    """03-27 of 2026-03-27; of a month that it begins with, that is enough as well."""
    return day[5:]


def _dollars(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:,.2f}"


def _brief_dollars(cost: float) -> str:
    return f"${cost:,.0f}" if cost >= 100 or cost == int(cost) else f"${cost:,.2f}"
