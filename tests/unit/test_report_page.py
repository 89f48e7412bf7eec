"""The report as a page and as Markdown: whole, inert, and the same numbers in both (V-3)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.values import changed
from helix.verification.attempt_history import AttemptHistory, Spending
from helix.verification.charts import WIDTH, Bar, Share, bars, scale, shares, trend
from helix.verification.coverage import Coverage, RequirementEvidence
from helix.verification.report import FollowOn, ProjectReport, ReportNeed, Trend
from helix.verification.report_numbers import (
    AttemptCounts,
    BeadLine,
    BeadPhase,
    DayNumbers,
    HarnessRate,
    counts,
    lines_of,
)
from helix.verification.report_page import GENERATOR, as_page
from helix.verification.report_text import as_markdown

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></svg></title>]]>",
    "`x` | **y** [z](javascript:alert(1)) # h",
    "\u202egnp.exe \x1b[31m\x00\ud800\uffff",
    "a\nb\tc",
)
AT = "2026-03-27T12:00:00Z"
VOID = {"meta", "br", "img", "link"}


def hostile_report(words: str) -> ProjectReport:
    """Every text that comes from outside is `words`."""
    lines = tuple(
        BeadLine(
            id=words,
            title=words,
            type="task",
            spec=words,
            standing=standing,
            asked_at=words,
            ended_at=words,
            commit=words,
            attempts=2,
            spent=Spending("", calls=1, input=5, cost_usd=0.5),
            kept=words,
            ref=words,
            reason=words,
        )
        for standing in BeadPhase
    )
    rate = HarnessRate(words, 3, 2, spent=Spending("", calls=3, input=5, unknown=1))
    return ProjectReport(
        project=words,
        scope=words,
        described=words,
        at=AT,
        since="",
        counts={"asked": 8, **{str(standing): 1 for standing in BeadPhase}},
        lines=lines,
        needs=(ReportNeed(words, words),),
        coverage=(
            Coverage(
                id=words,
                title=words,
                type="feat",
                path=words,
                designs=(words,),
                tests=(words,),
                evidence=(RequirementEvidence("run", words, True),),
            ),
            Coverage(
                id="FEAT-2",
                title=words,
                type="feat",
                path=words,
                designs=(),
                tests=(),
                evidence=(RequirementEvidence("run", words, False),),
            ),
        ),
        follow_ons=(
            FollowOn(words, "design", f"helix triage {words}"),
            FollowOn(words, "test", "", filed=words),
        ),
        trends=(Trend(words, words, "higher", floor=80.0, points=((AT, 81.0), (AT, 82.5))),),
        days=(
            DayNumbers("2026-03-26", 1, 2, tokens=30, cost_usd=0.5),
            DayNumbers("2026-03-27", 0, 1, tokens=3, cost_usd=None),
        ),
        tries=(AttemptCounts(1, 3), AttemptCounts(2, 1)),
        harnesses=(rate,),
        memory=(rate,),
        spent=Spending("total", calls=4, input=5, output=2, cost_usd=0.5, unknown=1),
        remarks=(words,),
    )


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, its attributes, its open ends."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update((name, found or "") for name, found in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update((name, found or "") for name, found in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_from_outside_is_markup_on_the_page(words: str):
    page = as_page(hostile_report(words))
    plain = read(as_page(hostile_report("plain")))
    found = read(page)
    assert found.tags == plain.tags
    assert {name for name, _ in found.attributes} == {name for name, _ in plain.attributes}
    assert not any(name.startswith("on") for name, _ in found.attributes)
    page.encode("utf-8")  # no lone surrogate is left
    assert not set(page) & {"\x00", "\x1b", "\u202e", "\uffff"}


def test_a_page_needs_no_script_and_nothing_from_elsewhere():
    page = as_page(hostile_report("plain"))
    found = read(page)
    assert not found.tags & {"script", "link", "img", "iframe", "object", "base", "form", "video"}
    assert not {name for name, _ in found.attributes} & {"src", "href", "style", "xlink:href"}
    assert not re.search(r"url\(|@import|https?:", page)
    assert page.index(GENERATOR) < 300  # by this it is known again


def test_a_page_is_for_light_and_dark_for_a_phone_and_for_paper():
    page = as_page(hostile_report("plain"))
    for wanted in ("prefers-color-scheme:dark", "@media print", "max-width:640px", "viewport"):
        assert wanted in page


def test_every_chart_is_on_the_page_and_is_xml():
    page = as_page(hostile_report("<&>"))
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(pictures) == 6  # landed, cost, tries, harnesses, memory, one ratchet
    for picture in pictures:
        assert ET.fromstring(picture).get("role") == "img"


def test_gaps_are_marked_in_words_and_not_by_colour_alone():
    page, text = as_page(hostile_report("x")), as_markdown(hostile_report("x"))
    assert "no design" in page
    assert "no design" in text
    assert "failed: x" in page
    assert "failed: x" in text


def test_a_requirement_whose_proof_fails_is_not_covered():
    proofs = [RequirementEvidence("bead", f"app-{n}", True) for n in range(5)]
    row = Coverage(
        id="FEAT-1",
        title="Sums",
        type="feat",
        path="a.md",
        designs=("TD-1",),
        tests=("TP-1",),
        evidence=tuple(proofs),
    )
    failing = changed(row, evidence=(*proofs, RequirementEvidence("run", "EXEC-1", False)))
    report = changed(hostile_report("x"), coverage=(row, failing))
    assert [it.id for it in report.gaps] == ["FEAT-1"]
    for text in (as_page(report), as_markdown(report)):
        assert "1 of 2" in text
        assert "failed: EXEC-1" in text  # also where only the first few are named
        assert "failing" in text


def test_a_column_in_which_nothing_stands_is_left_out():
    report = hostile_report("x")
    assert "<th>why</th>" in as_page(report)
    quiet = tuple(changed(line, reason="") for line in report.lines)
    assert "<th>why</th>" not in as_page(changed(report, lines=quiet))


def test_the_same_numbers_stand_on_the_page_and_in_markdown():
    report = hostile_report("x")
    for number in ("1 of 8 beads landed", "67%", "$0.50", "at least: 1 of 4 calls did not say"):
        assert number in as_page(report)
        assert number in as_markdown(report)


def test_an_empty_project_has_a_report_too():
    empty = ProjectReport(
        project="shop",
        scope="repo",
        described="the whole repository",
        at=AT,
        since="",
        counts=counts(lines_of([], AttemptHistory())),
        lines=(),
        needs=(),
        coverage=(),
        follow_ons=(),
        trends=(),
        days=(),
        tries=(),
        harnesses=(),
        memory=(),
    )
    assert "Nothing was asked yet" in as_markdown(empty)
    read(as_page(empty))
    since = changed(empty, since=AT, counts={**empty.counts, "landed": 2, "blocked": 1})
    assert "2 beads landed, 0 asked for; 1 blocked" in as_page(since)


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_from_outside_has_a_meaning_in_markdown(words: str):
    text = as_markdown(hostile_report(words))
    plain = as_markdown(hostile_report("plain"))
    assert text.count("\n") == plain.count("\n")
    bare = re.sub(r"(`+).*?\1", "", re.sub(r"\\[\\`*_\[\]<>|#~]", "", text))
    assert "<" not in bare
    assert "](" not in bare
    assert [line.count("|") for line in bare.splitlines() if line.startswith("|")] == [
        line.count("|") for line in plain.splitlines() if line.startswith("|")
    ]


@pytest.mark.parametrize(
    ("command", "shown"),
    [("a b", "`a b`"), ("a `b`", "`` a `b` ``"), ("a ``b`` c", "```a ``b`` c```")],
)
def test_a_command_in_markdown_can_be_copied_as_it_is(command: str, shown: str):
    report = changed(hostile_report("x"), needs=(ReportNeed("y", command),))
    assert f"- y:\n  {shown}\n" in as_markdown(report)


# -- charts ----------------------------------------------------------------------------------


@given(
    st.floats(-1e290, 1e290, allow_subnormal=False), st.floats(-1e290, 1e290, allow_subnormal=False)
)
def test_a_scale_holds_all_values_in_a_few_round_steps(one: float, other: float):
    low, high = sorted((one, other))
    ticks = scale(low, high)
    hair = (ticks[1] - ticks[0]) * 1e-6
    assert ticks[0] <= low + hair
    assert ticks[-1] >= high - hair
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))


def test_counts_have_whole_ticks():
    assert scale(0, 2, whole=True) == [0, 1, 2]
    assert scale(0, 0, whole=True) == [0, 1]


@given(st.lists(st.integers(0, 10**9), max_size=80), st.text())
def test_bars_are_xml_and_stay_inside(numbers: list[int], words: str):
    drawn = bars([Bar(words, n, words) for n in numbers], title=words, spoken=lambda n: f"{n:.0f}")
    root = ET.fromstring(drawn)
    for rect in root.iter("rect"):
        x, y, width, height = (float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + width <= WIDTH
        assert 0 <= y <= y + height <= 190
    assert sum(1 for _ in root.iter("rect")) == sum(n > 0 for n in numbers)


@given(st.lists(st.tuples(st.text(), st.integers(0, 50), st.integers(0, 50)), max_size=6))
def test_shares_are_filled_as_far_as_it_went_well(rows: list[tuple[str, int, int]]):
    drawn = [Share(label, min(part, whole), whole) for label, part, whole in rows]
    root = ET.fromstring(shares(drawn, title="success"))
    filled = [float(it.get("width") or 0) for it in root.iter("rect") if it.get("class") == "part"]
    assert len(filled) == sum(bool(row.part) for row in drawn)
    assert all(0 < width <= WIDTH for width in filled)


@given(
    st.lists(st.tuples(st.text(), st.floats(-1e6, 1e6)), max_size=60),
    st.none() | st.floats(-1e6, 1e6),
)
def test_a_trend_shows_every_value_and_its_floor(
    points: list[tuple[str, float]], floor: float | None
):
    root = ET.fromstring(trend(points, title="t", spoken=lambda n: f"{n:.4g}", floor=floor))
    assert sum(1 for _ in root.iter("circle")) == len(points)
    floors = [path for path in root.iter("path") if path.get("class") == "floor"]
    assert len(floors) == (floor is not None)
    for dot in root.iter("circle"):
        assert 0 <= float(dot.get("cx") or -1) <= WIDTH
        assert 0 <= float(dot.get("cy") or -1) <= 190
