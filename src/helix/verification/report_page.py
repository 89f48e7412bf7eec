"""A report as one page that needs nothing else, in light, in dark and on paper (V-3).

report.html says how it looks; here stands what is put into it. It has no script and no asset, and
all that came from outside is made harmless in it: everything is escaped but `Markup`, a name that
is not given is an error, and a template can look values up but never call anything.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ddx.base import cut, quantity, shown
from ddx.documents import inert
from helix.verification.charts import Bar, Share, bars, shares, trend
from helix.verification.report_numbers import spans_of
from helix.verification.report_text import (
    MOST_ROWS,
    RATE_HEADS,
    about,
    bead_tables,
    figures,
    headline,
    minute,
    rate_rows,
    spoken_trend,
    steps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from helix.verification.coverage import Coverage
    from helix.verification.report import FollowOn, ProjectReport, Trend
    from helix.verification.report_numbers import DayNumbers, HarnessRate

    Writer: TypeAlias = Callable[[Mapping[str, Any], Callable[[str], str]], str]
    Part: TypeAlias = str | Writer

GENERATOR = '<meta name="generator" content="helix report">'
"""By this we know a page of ours again."""
_TEMPLATE = os.path.join(os.path.dirname(__file__), "report.html")
_LONGEST, _LONGEST_ID = 300, 24
_WORDS = ("what", "why")
# A tag that steers takes the rest of its line with it, so that it leaves no empty line.
_TAG = re.compile(r"\{\{((?:for|if) [^{}]*|else|end)\}\}\n?|\{\{([\w.]+)\}\}")
_LOOP = re.compile(r"for (\w+) in ([\w.]+)")


def as_page(report: ProjectReport) -> str:
    """The whole page."""
    scope = "" if report.scope == "repo" else f" {report.scope}"
    given = {
        "title": f"{report.project}: {headline(report)}",
        "project": report.project,
        "headline": headline(report),
        "about": about(report),
        "at": minute(report.at),
        "figures": figures(report),
        "needs": _first([_to_type(need.what, need.next) for need in report.needs]),
        "coverage": _first([_covered(row) for row in report.coverage]),
        "cards": [*_cards(report)],
        "tables": [*_tables(report)],
        "follow_ons": _first([*map(_follow_on, report.follow_ons)]),
        "remarks": report.remarks,
        "command": _command(f"helix report{scope}"),
    }
    return _template().render(given, escape=_line)


@cache
def _template() -> ReportTemplate:
    with open(_TEMPLATE, encoding="utf-8") as file:
        return ReportTemplate(file.read())


def _first(rows: Sequence[Any]) -> dict[str, Any]:
    """As many as a page shows, and how many more there are."""
    more = len(rows) - MOST_ROWS
    return {"rows": rows[:MOST_ROWS], "more": f"{more:,}" if more > 0 else ""}


def _to_type(what: str, command: str) -> dict[str, str]:
    return {"what": what, "command": _command(command)}


def _follow_on(item: FollowOn) -> dict[str, str]:
    command = f"ddx bead show {item.filed}" if item.filed else item.command
    return _to_type(f"{item.document} has no {item.missing}", command)


def _covered(row: Coverage) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title.removeprefix(row.id).lstrip(":- "),
        "gap": row.gap,
        "steps": [
            {"name": name, "lacks": is_gap, "found": [_named(n, it) for n, it in enumerate(found)]}
            for name, found, is_gap in steps(row)
        ],
    }


def _named(number: int, words: str) -> dict[str, Any]:
    """An id stays in one piece; a path may be broken anywhere."""
    is_whole = "/" not in words and len(words) <= _LONGEST_ID
    return {"name": words, "is_whole": is_whole, "follows": number > 0}


def _cards(report: ProjectReport) -> Iterator[dict[str, str]]:
    unit, spans = spans_of(report.days)
    yield _card(f"Landed per {unit}", _landed(spans))
    yield _card(f"Cost per {unit}", _cost(spans), _cost_note(report))
    yield _card("Attempts per bead", _tries(report), "how many beads took so many attempts")
    yield _card("Success per harness", _rates(report.harnesses), "attempts that landed, of all")
    if report.memory:
        note = "by whether the prompt held memories"
        yield _card("Success and memory", _rates(report.memory), note)
    for item in report.trends:
        yield _card(f"Ratchet: {item.name}", _trend(item), spoken_trend(item))


def _card(title: str, drawn: str, note: str = "") -> dict[str, str]:
    return {"title": title, "note": note, "drawn": Markup(drawn)}


def _landed(spans: Sequence[DayNumbers]) -> str:
    drawn = [Bar(it.day[5:], it.landed, f"{it.day}: {it.landed} landed") for it in spans]
    return bars(drawn, title="beads that landed", spoken=lambda number: f"{number:,.0f}")


def _cost(spans: Sequence[DayNumbers]) -> str:
    said = ("cost unknown" if it.cost_usd is None else f"${it.cost_usd:,.2f}" for it in spans)
    pairs = zip(spans, said, strict=True)
    drawn = [Bar(it.day[5:], it.cost_usd or 0.0, f"{it.day}: {cost}") for it, cost in pairs]
    return bars(drawn, title="what agents cost", spoken=_brief_dollars)


def _cost_note(report: ProjectReport) -> str:
    unknown = report.spent.unknown
    return f"{unknown:,} of {report.spent.calls:,} calls did not say" if unknown else ""


def _tries(report: ProjectReport) -> str:
    drawn = [
        Bar(each.label, each.beads, f"{each.beads} beads took {each.label} attempts")
        for each in report.tries
    ]
    return bars(drawn, title="attempts per bead", spoken=lambda number: f"{number:,.0f}")


def _rates(rates: Sequence[HarnessRate]) -> str:
    if not rates:
        return '<p class="quiet">No attempt has come to its end yet.</p>'
    drawn = [Share(rate.key, rate.completed, rate.attempts) for rate in rates]
    return shares(drawn, title="how often it went well")


def _trend(item: Trend) -> str:
    points = [(minute(at)[:10], number) for at, number in item.points]
    return trend(
        points,
        title=f"values of {item.name}",
        spoken=lambda number: quantity(number, item.unit if item.unit == "%" else ""),
        floor=item.floor,
    )


def _tables(report: ProjectReport) -> Iterator[dict[str, Any]]:
    """A table for each state that beads are in, and one for the agents; none is empty."""
    for title, heads, rows in bead_tables(report):
        yield _table(title, heads, rows)
    if report.harnesses:
        rows = rate_rows((*report.harnesses, *report.memory))
        yield _table("Agents", ("harness", *RATE_HEADS), rows, most=len(rows))


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = MOST_ROWS
) -> dict[str, Any]:
    """A column in which nothing stands is left out."""
    columns = zip(heads, *rows[:most], strict=True)
    heads, *kept = zip(*(column for column in columns if any(column[1:])), strict=True)
    return {
        "title": title,
        "heads": heads,
        "rows": [{"first": row[0], "cells": [*map(_cell, heads[1:], row[1:])]} for row in kept],
        "more": f"{len(rows) - most:,}" if len(rows) > most else "",
    }


def _cell(head: str, words: str) -> dict[str, str]:
    """Words get all the room that is left; on a phone, facts stand side by side."""
    kind = "" if head in _WORDS else "fact"
    return {"head": head, "words": words, "kind": kind if words else "empty"}


def _line(words: str) -> str:
    """Text from outside on one line, bounded and without markup."""
    return inert(shown(cut(words, _LONGEST), one_line=True))


def _command(words: str) -> Markup:
    """Whole: half a command is worse than none."""
    return Markup(inert(shown(words, one_line=True)))


def _brief_dollars(cost: float) -> str:
    return f"${cost:,.0f}" if cost >= 100 or cost == int(cost) else f"${cost:,.2f}"


# -- the template: `{{name}}`, `{{for row in rows}}`, `{{if name}}`, `{{else}}`, `{{end}}` -------


class Markup(str):
    """Text that is markup already, made by us and inserted as it is."""


class BrokenTemplate(Exception):
    """A tag that is unknown, not ended, or ended twice; or a name that nobody gave."""


class ReportTemplate:
    """A text with tags, read once."""

    def __init__(self, source: str) -> None:
        tokens = _tokens(source)
        self._parts, end = _parts(tokens)
        if end or tokens:
            raise BrokenTemplate(f"{end or 'a tag'} without a beginning")

    def render(self, given: Mapping[str, Any], *, escape: Callable[[str], str]) -> str:
        """The text with all values in place, escaped unless they are markup."""
        return _written(self._parts, given, escape)


def _tokens(source: str) -> list[tuple[str, str]]:
    """(kind, text) of each piece, the last one first."""
    found, at = [], 0
    for tag in _TAG.finditer(source):
        found.append(("text", source[at : tag.start()]))
        found.append(("tag", tag[1]) if tag[1] else ("name", tag[2]))
        at = tag.end()
    found.append(("text", source[at:]))
    if stray := next((text for kind, text in found if kind == "text" and "{{" in text), ""):
        raise BrokenTemplate(f"no tag of ours: {stray[stray.index('{{') :][:40]}")
    return found[::-1]


def _parts(tokens: list[tuple[str, str]]) -> tuple[list[Part], str]:
    """The pieces up to the next `else` or `end`, and which of the two it was."""
    parts: list[Part] = []
    while tokens:
        kind, text = tokens.pop()
        if kind != "tag":
            parts.append(text if kind == "text" else _name(text))
        elif text in ("else", "end"):
            return parts, text
        else:
            parts.append(_block(text, tokens))
    return parts, ""


def _name(path: str) -> Writer:
    """Where a value is inserted."""

    def write(given: Mapping[str, Any], escape: Callable[[str], str]) -> str:
        said = _looked_up(path, given)
        return said if isinstance(said, Markup) else escape(str(said))

    return write


def _block(tag: str, tokens: list[tuple[str, str]]) -> Writer:
    """What is written once for each of many, or if a value is there, and what if not."""
    body, end = _parts(tokens)
    loop = _LOOP.fullmatch(tag)
    other, end = _parts(tokens) if end == "else" and not loop else ([], end)
    if end != "end":
        raise BrokenTemplate(f"{tag!r} is not ended")
    if tag.startswith("for ") and not loop:
        raise BrokenTemplate(f"{tag!r} is no loop")

    def write(given: Mapping[str, Any], escape: Callable[[str], str]) -> str:
        if loop:
            rows = ({**given, loop[1]: each} for each in _looked_up(loop[2], given))
            return "".join(_written(body, row, escape) for row in rows)
        chosen = body if _looked_up(tag.removeprefix("if "), given) else other
        return _written(chosen, given, escape)

    return write


def _written(parts: Sequence[Part], given: Mapping[str, Any], escape: Callable[[str], str]) -> str:
    return "".join(part if isinstance(part, str) else part(given, escape) for part in parts)


def _looked_up(path: str, given: Mapping[str, Any]) -> Any:
    """`row.title`: of a table its key, of anything else its attribute."""
    found: Any = given
    for name in path.split("."):
        try:
            found = found[name] if isinstance(found, dict) else getattr(found, name)
        except (KeyError, AttributeError):
            raise BrokenTemplate(f"nobody gave {path}") from None
    return found
