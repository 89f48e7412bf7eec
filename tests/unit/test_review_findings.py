"""What a review says (A-1, S-15), and which beads follow from it (S-16, S-13)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.beads import NOW

from ddx.testing import MemoryView
from ddx.tracker.bead import Bead
from ddx.tracker.criteria import judge
from ddx.tracker.edits import create
from ddx.tracker.row import blockers_of
from helix.passes.drafts import NO_CRITERION, KnownBead, identity, known_bead
from helix.passes.follow_ups import ReopenedFinding, ReviewedWork, depth_of, plan_filing
from helix.passes.reply import UnreadableTrailer
from helix.passes.review_pass import (
    MOST_FINDINGS,
    REVIEW_SCHEMA,
    CleanReview,
    ReviewFinding,
    ReviewFindings,
    Severity,
    read_review,
)

ROW = {
    "severity": "high",
    "title": "Negative totals are accepted",
    "file": "src/total.py",
    "line": 12,
    "detail": "The sum is not checked.",
    "area": "billing",
    "acceptance": "`pytest -q tests/test_total.py` passes",
}
FINDING = ReviewFinding(
    severity=Severity.HIGH,
    title="Negative totals are accepted",
    file="src/total.py",
    line=12,
    detail="The sum is not checked.",
    area="billing",
    acceptance="`pytest -q tests/test_total.py` passes",
)
ABOUT = ReviewedWork("hx-1", parent="hx-epic", spec_id="FEAT-1")


def reply(status: str, count: object, rows: Any = None, *, before: str = "") -> str:
    fenced = "" if rows is None else f"\n```json\n{json.dumps(rows, indent=1)}\n```\n"
    return f"{before}\nREVIEW_STATUS: {status}\nISSUES_COUNT: {count}\n{fenced}"


def finding(title: str, severity: Severity = Severity.HIGH, **fields: Any) -> ReviewFinding:
    return ReviewFinding(severity, title, **fields)


# Reading


def test_a_clean_review_is_clean() -> None:
    assert read_review(reply("CLEAN", 0)) == CleanReview()
    assert read_review(reply("CLEAN", 0, [])) == CleanReview()
    assert read_review("", {"status": "CLEAN", "findings": []}) == CleanReview()


def test_findings_are_read_from_text_and_from_a_structured_reply_alike() -> None:  # S-15, A-1
    assert read_review(reply("ISSUES_FOUND", 1, [ROW])) == ReviewFindings((FINDING,))
    structured = {"status": "ISSUES_FOUND", "findings": [ROW]}
    assert read_review("nothing to see", structured) == ReviewFindings((FINDING,))


def test_a_structured_reply_stands_before_its_text() -> None:  # S-15
    structured = {"status": "ISSUES_FOUND", "findings": [ROW]}
    assert read_review(reply("CLEAN", 0), structured) == ReviewFindings((FINDING,))


@pytest.mark.parametrize("structured", [None, [], "CLEAN", {}, {"status": "CLEAN"}, {"title": "x"}])
def test_what_is_no_structured_review_leaves_the_text_to_be_read(structured: Any) -> None:
    assert read_review(reply("CLEAN", 0), structured) == CleanReview()
    assert isinstance(read_review("all is well", structured), UnreadableTrailer)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("It all looks good to me.", id="prose"),
        pytest.param("REVIEW_STATUS: CLEAN", id="no count"),
        pytest.param("ISSUES_COUNT: 0", id="no status"),
        pytest.param(reply("PASS", 0), id="a word outside of the set"),
        pytest.param(reply("CLEAN", 1), id="clean with a count"),
        pytest.param(reply("CLEAN", 1, [ROW]), id="clean with a finding"),
        pytest.param(reply("CLEAN", 0, [ROW]), id="clean that lists one"),
        pytest.param(reply("ISSUES_FOUND", 0), id="found, none counted"),
        pytest.param(reply("ISSUES_FOUND", 0, []), id="found, none listed"),
        pytest.param(reply("ISSUES_FOUND", 1), id="found, no list"),
        pytest.param(reply("ISSUES_FOUND", 2, [ROW]), id="counts more than it lists"),
        pytest.param(reply("ISSUES_FOUND", 1, [ROW, ROW]), id="lists more than it counts"),
        pytest.param(reply("ISSUES_FOUND", 1, ROW), id="an object instead of a list"),
        pytest.param(reply("ISSUES_FOUND", 1, ["it is bad"]), id="a list of texts"),
        pytest.param(reply("ISSUES_FOUND", 1) + "[{}]", id="not in a fence"),
        pytest.param(reply("ISSUES_FOUND", 1) + "```\n[{]\n```", id="no JSON"),
        pytest.param(
            reply("ISSUES_FOUND", 1) + "```\n" + json.dumps([ROW]), id="a fence left open"
        ),
        pytest.param(reply("ISSUES_FOUND", 1, [ROW]) + reply("CLEAN", 0), id="two that differ"),
        pytest.param(reply("ISSUES_FOUND", 1, [ROW]) + "```\n[1]\n```", id="two lists"),
        pytest.param(reply("ISSUES_FOUND", 101, [ROW] * 101), id="too many"),
        pytest.param("```\n" + reply("CLEAN", 0) + "\n```", id="quoted"),
    ],
)
def test_whatever_does_not_agree_with_itself_is_unreadable(text: str) -> None:  # D-10, S-16, A-1
    assert isinstance(read_review(text), UnreadableTrailer)


@pytest.mark.parametrize(
    "structured",
    [
        {"status": "CLEAN", "findings": [ROW]},
        {"status": "ISSUES_FOUND", "findings": []},
        {"status": "clean", "findings": []},
        {"status": "FOUND", "findings": [ROW]},
        {"status": ["CLEAN"], "findings": []},
        {"status": "ISSUES_FOUND", "findings": {"0": ROW}},
        {"status": "ISSUES_FOUND", "findings": [ROW, None]},
    ],
)
def test_a_structured_reply_must_agree_with_itself_as_well(structured: Any) -> None:
    assert isinstance(read_review(reply("CLEAN", 0), structured), UnreadableTrailer)


@pytest.mark.parametrize(
    ("field", "given", "complaint"),
    [
        ("severity", "terrible", "severity"),
        ("severity", None, "severity"),
        ("severity", 1, "severity"),
        ("title", "", "title"),
        ("title", " ... ", "title"),
        ("title", 7, "title"),
        ("title", None, "title"),
        ("file", ["a"], "file"),
        ("line", "twelve", "line"),
        ("line", True, "line"),
        ("line", 1.5, "line"),
        ("detail", {}, "detail"),
        ("acceptance", 0, "acceptance"),
    ],
)
def test_a_finding_that_is_none_makes_the_review_unreadable(  # A-1
    field: str, given: object, complaint: str
) -> None:
    found = read_review(reply("ISSUES_FOUND", 1, [{**ROW, field: given}]))
    assert isinstance(found, UnreadableTrailer)
    assert found.reason.startswith("finding 1:")
    assert complaint in found.reason


@pytest.mark.parametrize("field", ["file", "line", "detail", "area", "acceptance"])
def test_a_finding_needs_only_severity_and_title(field: str) -> None:
    bare = {name: given for name, given in ROW.items() if name != field}
    assert isinstance(read_review(reply("ISSUES_FOUND", 1, [bare])), ReviewFindings)
    assert isinstance(read_review(reply("ISSUES_FOUND", 1, [{**ROW, field: None}])), ReviewFindings)


def test_other_fences_in_a_reply_do_no_harm() -> None:
    code = '```python\nxs = [1, 2]\n```\n```json\n{"a": 1}\n```\n~~~\n[not json\n~~~\n'
    text = reply("ISSUES_FOUND", 1, [ROW], before=code)
    assert read_review(text) == ReviewFindings((FINDING,))


@pytest.mark.parametrize("tick", ["`", "~"])
def test_a_fence_ends_only_where_one_as_long_closes_it(tick: str) -> None:
    quoted = json.dumps([{**ROW, "detail": "x"}], indent=1).replace(" {", f"{tick * 3}\n {{", 1)
    assert tick * 3 in quoted
    text = f"REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n{tick * 4}\n{quoted}\n{tick * 4}\n"
    assert read_review(text) == CleanReview()  # it is no JSON, so it is no list
    within = f"{tick * 3}\n[\n{tick * 3}json\n]\n{tick * 3}\n"
    assert read_review(f"REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n{within}") == CleanReview()
    longer = json.dumps([ROW])
    text = f"REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: 1\n{tick * 3}\n{longer}\n{tick * 5}\n"
    assert read_review(text) == ReviewFindings((FINDING,))


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("a.py", 3, "a.py:3"),
        ("a.py", None, "a.py"),
        ("a.py", -4, "a.py"),
        ("", 3, ""),
        (None, None, ""),
    ],
)
def test_a_finding_names_its_place_as_far_as_it_is_known(
    file: str | None, line: int | None, place: str
) -> None:
    found = read_review(reply("ISSUES_FOUND", 1, [{**ROW, "file": file, "line": line}]))
    assert isinstance(found, ReviewFindings)
    assert found.findings[0].place == place


def test_hostile_text_in_a_finding_is_bounded_and_made_visible() -> None:  # T-12, T-23
    row = {**ROW, "title": "a\x1b[2J\nb \u202e" + "x" * 9999, "detail": "\x00" + "y" * 99_999}
    found = read_review(reply("ISSUES_FOUND", 1, [row]))
    assert isinstance(found, ReviewFindings)
    assert found.findings[0].title.isprintable()
    assert len(found.findings[0].title) <= 160
    assert "\x00" not in found.findings[0].detail
    assert len(found.findings[0].detail) <= 8000


def test_the_schema_asks_for_what_is_read() -> None:  # S-15
    schema = json.loads(REVIEW_SCHEMA)
    item = schema["properties"]["findings"]["items"]
    assert set(schema["required"]) == {"status", "findings"}
    assert set(item["required"]) == set(item["properties"]) == set(ROW)
    assert item["properties"]["severity"]["enum"] == ["critical", "high", "medium", "low"]
    assert not schema["additionalProperties"] and not item["additionalProperties"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
spoilt_rows = st.fixed_dictionaries(
    {}, optional={name: st.just(given) | json_values for name, given in ROW.items()}
)


@given(
    st.sampled_from(["CLEAN", "ISSUES_FOUND", "x"]),
    st.lists(json_values | spoilt_rows, max_size=3),
)
def test_no_structured_reply_breaks_the_reader(status: str, rows: list[Any]) -> None:
    found = read_review("", {"status": status, "findings": rows})
    if isinstance(found, CleanReview):
        assert status == "CLEAN" and not rows
    elif isinstance(found, ReviewFindings):
        assert status == "ISSUES_FOUND" and len(found.findings) == len(rows)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    found = read_review(f"REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n{text}")
    assert isinstance(found, CleanReview | UnreadableTrailer)


# Filing


def test_a_finding_becomes_one_bead_with_its_place_in_the_order() -> None:  # S-16
    filing = plan_filing([FINDING], [], about=ABOUT)
    (draft,) = filing.new
    assert draft.labels == ("review-finding", "severity:high", "area:billing", "review-depth:1")
    assert (draft.parent, draft.spec_id, draft.discovered_from) == ("hx-epic", "FEAT-1", "hx-1")
    assert draft.priority == 1
    assert draft.description == (
        "src/total.py:12\n\nThe sum is not checked.\n\nfound by a review of hx-1"
    )
    (alone,) = plan_filing([finding("x")], [], about=ReviewedWork()).new
    assert (alone.description, alone.key) == ("found by a review", "finding-1")
    assert not filing.question


@pytest.mark.parametrize(
    ("severity", "priority"),
    [(Severity.CRITICAL, 0), (Severity.HIGH, 1), (Severity.MEDIUM, 2), (Severity.LOW, None)],
)
def test_the_worse_comes_first_and_the_slight_is_only_reported(  # S-16
    severity: Severity, priority: int | None
) -> None:
    filing = plan_filing([finding("x", severity)], [], about=ABOUT)
    assert [draft.priority for draft in filing.new] == ([] if priority is None else [priority])
    assert len(filing.reported) == (priority is None)


@pytest.mark.parametrize(
    ("acceptance", "is_executable"),
    [
        ("`pytest -q` passes", True),
        ("docs/plan.md exists", True),
        ("", False),
        ("it works", False),
        ("the total is never negative", False),
    ],
)
def test_only_what_can_be_proven_is_handed_to_an_agent(  # T-17
    acceptance: str, is_executable: bool
) -> None:
    (draft,) = plan_filing([finding("x", acceptance=acceptance)], [], about=ABOUT).new
    row = draft.as_row()
    assert row.get("execution-eligible", True) is is_executable
    assert row.get("execution-skip-reason", "") == ("" if is_executable else NO_CRITERION)
    assert judge(row).ready is is_executable


def test_findings_in_one_file_wait_for_the_worse_of_them() -> None:  # S-16
    filing = plan_filing(
        [
            finding("slow", Severity.MEDIUM, file="a.py"),
            finding("other", Severity.MEDIUM, file="b.py"),
            finding("wrong", Severity.CRITICAL, file="a.py"),
            finding("vague", Severity.MEDIUM),
            finding("bland", Severity.MEDIUM),
        ],
        [],
        about=ABOUT,
    )
    waits = {draft.title: draft.depends_on for draft in filing.new}
    keys = {draft.title: draft.key for draft in filing.new}
    assert next(iter(waits)) == "wrong"
    assert waits == {"wrong": (), "slow": (keys["wrong"],), "other": (), "vague": (), "bland": ()}


def test_one_bead_for_each_distinct_finding() -> None:  # S-16
    filing = plan_filing(
        [
            finding("Totals may be negative!", Severity.MEDIUM, file="a.py"),
            finding("totals  may be *negative*", Severity.CRITICAL, file="./a.py"),
            finding("Totals may be negative", Severity.MEDIUM, file="b.py"),
        ],
        [],
        about=ABOUT,
    )
    assert [(draft.file, draft.priority) for draft in filing.new] == [("./a.py", 0), ("b.py", 2)]


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked", "proposed", "deferred"])
def test_an_identical_unfinished_bead_is_referenced(status: str) -> None:  # S-16
    known = KnownBead("hx-9", "negative totals are accepted.", status, file="src/total.py")
    filing = plan_filing([FINDING], [known], about=ABOUT)
    assert filing.referenced == (("hx-9", FINDING),)
    assert not filing.new and not filing.reopened


def test_an_identical_closed_finding_is_opened_again() -> None:  # S-16
    known = KnownBead(
        "hx-9",
        FINDING.title,
        "closed",
        file=FINDING.file,
        labels=("review-finding", "review-depth:1"),
    )
    filing = plan_filing([FINDING], [known], about=ABOUT)
    assert filing.reopened == (ReopenedFinding("hx-9", FINDING, 2),)
    assert not filing.new


@pytest.mark.parametrize(
    ("known", "is_known"),
    [
        (KnownBead("hx-9", FINDING.title, "open", file="src/other.py"), False),
        (KnownBead("hx-9", FINDING.title, "open", file=""), True),
        (KnownBead("hx-9", "Another thing", "open", file=FINDING.file), False),
        (KnownBead("hx-9", FINDING.title, "closed", file=FINDING.file), False),
    ],
)
def test_identity_is_title_and_file_and_other_closed_work_stays_closed(  # S-16
    known: KnownBead, is_known: bool
) -> None:
    assert bool(plan_filing([FINDING], [known], about=ABOUT).new) is not is_known


def test_an_open_one_is_preferred_to_a_closed_one() -> None:
    labels = ("review-finding",)
    known = [
        KnownBead("hx-1", FINDING.title, "closed", file=FINDING.file, labels=labels),
        KnownBead("hx-2", FINDING.title, "open", file=""),
    ]
    assert plan_filing([FINDING], known, about=ABOUT).referenced == (("hx-2", FINDING),)


def test_what_a_person_cancelled_is_not_filed_again() -> None:
    known = KnownBead(
        "hx-9", FINDING.title, "cancelled", file=FINDING.file, labels=("review-finding",)
    )
    filing = plan_filing([FINDING], [known], about=ABOUT)
    assert filing.reported == (FINDING,)
    assert not filing.new and not filing.reopened


@pytest.mark.parametrize(
    ("labels", "depth"),
    [
        ((), 0),
        (("area:x",), 0),
        (("review-finding",), 1),
        (("review-finding", "review-depth:2"), 2),
        (("review-depth:x", "review-finding"), 1),
        (("review-depth:\u00b2", "review-finding"), 1),
        (("review-depth:1", "review-depth:2"), 2),
    ],
)
def test_a_bead_says_how_many_reviews_it_goes_back_to(labels: tuple[str, ...], depth: int) -> None:
    assert depth_of(labels) == depth


@pytest.mark.parametrize(("depth", "label"), [(0, "review-depth:1"), (1, "review-depth:2")])
def test_findings_about_findings_are_counted(depth: int, label: str) -> None:  # S-13
    filing = plan_filing([FINDING], [], about=ReviewedWork("hx-1", depth=depth))
    assert label in filing.new[0].labels


def test_the_third_in_a_chain_is_for_a_person() -> None:  # S-13
    low = finding("a nit", Severity.LOW)
    filing = plan_filing([FINDING, low], [], about=ReviewedWork("hx-1", depth=2))
    assert filing.too_deep == (FINDING,)
    assert filing.reported == (low,)
    assert not filing.new
    assert FINDING.title in filing.question


def test_a_finding_cannot_be_opened_again_for_ever() -> None:  # S-13
    labels = ("review-finding", "review-depth:1")
    turns = 0
    while True:
        known = KnownBead("hx-9", FINDING.title, "closed", file=FINDING.file, labels=labels)
        filing = plan_filing([FINDING], [known], about=ReviewedWork("hx-9", depth=depth_of(labels)))
        if not filing.reopened:
            break
        labels = ("review-finding", f"review-depth:{filing.reopened[0].depth}")
        turns += 1
    assert turns == 1
    assert filing.question


titles = st.sampled_from(["A bug", "a BUG!", "another", "third thing"])
findings = st.builds(
    ReviewFinding, st.sampled_from([*Severity]), titles, st.sampled_from(["", "a.py", "b.py"])
)
known_beads = st.builds(
    KnownBead,
    st.sampled_from(["hx-1", "hx-2", "hx-3"]),
    titles,
    st.sampled_from(["open", "closed", "cancelled", "in_progress"]),
    file=st.sampled_from(["", "a.py"]),
    labels=st.sampled_from([(), ("review-finding",), ("review-finding", "review-depth:2")]),
)


@given(st.lists(findings, max_size=6), st.lists(known_beads, max_size=4), st.integers(0, 3))
def test_every_finding_goes_to_exactly_one_place(  # S-16, S-13
    found: list[ReviewFinding], existing: list[KnownBead], depth: int
) -> None:
    filing = plan_filing(found, existing, about=ReviewedWork("hx-1", depth=depth))
    placed = [
        *(identity(draft.title, draft.file) for draft in filing.new),
        *(identity(each.finding.title, each.finding.file) for each in filing.reopened),
        *(identity(each.title, each.file) for _, each in filing.referenced),
        *(identity(each.title, each.file) for each in (*filing.reported, *filing.too_deep)),
    ]
    assert sorted(placed) == sorted({identity(each.title, each.file) for each in found})
    assert all(depth_of(draft.labels) <= 2 for draft in filing.new)
    assert all(each.depth <= 2 for each in filing.reopened)


def test_the_tracker_takes_the_drafts_and_knows_them_again() -> None:  # S-16
    slow = finding("Slow sum", Severity.MEDIUM, file=FINDING.file, area="Billing & Tax!")
    filing = plan_filing([FINDING, slow], [], about=ReviewedWork())
    numbers = iter(("new-1", "new-2"))
    drafts = [draft.as_row() for draft in filing.new]
    put = create(MemoryView(()), drafts, now=NOW, by="helix", draw_id=lambda: next(numbers)).put
    assert blockers_of(put["new-2"]) == ("new-1",)
    assert put["new-2"]["labels"][2] == "area:billing-tax"
    assert [put[each]["execution-eligible"] for each in put] == [True, False]
    existing = [known_bead(Bead.of(row)) for row in put.values()]
    again = plan_filing([FINDING, slow], existing, about=ReviewedWork())
    assert [each for each, _ in again.referenced] == ["new-1", "new-2"]
    assert not again.new


def test_the_bound_on_findings_is_what_is_read() -> None:
    rows = [{**ROW, "title": f"bug {n}"} for n in range(MOST_FINDINGS)]
    found = read_review(reply("ISSUES_FOUND", MOST_FINDINGS, rows))
    assert isinstance(found, ReviewFindings)
