"""What a report counts: beads by where they stand, days, tries, rates, coverage (V-3)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import pytest
from tests.support.documents import AT, DESIGN, FRAME, SEED, TEST, graph_of_files

from ddx.base.errors import UsageError
from ddx.documents.catalog import ExecutionLog
from ddx.documents.definitions import define
from ddx.documents.run_records import RunHistory, RunRecord
from ddx.tracker.bead import Bead
from helix.cli.read_context import read_since
from helix.verification.attempt_history import (
    AttemptHistory,
    PastAttempt,
    Spending,
    files_measured,
    memories_in,
)
from helix.verification.coverage import (
    DocumentFinder,
    RequirementEvidence,
    cover,
    proofs_by_document,
)
from helix.verification.report_numbers import (
    MOST_BARS,
    BeadLine,
    BeadPhase,
    DayNumbers,
    counts,
    days_of,
    is_planning,
    lines_of,
    rates_by_harness,
    rates_by_memory,
    spans_of,
    total_of,
    tries_of,
)

MARCH = "2026-03-{:02d}T12:00:00Z"


def row(bead_id: str, status: str = "open", **fields: Any) -> dict[str, Any]:
    return {"id": bead_id, "title": bead_id, "status": status, "created_at": MARCH.format(1)} | {
        key.replace("_", "-") if key not in ("closed_at", "issue_type") else key: text
        for key, text in fields.items()
    }


def attempt(number: int, *beads: str, **fields: Any) -> PastAttempt:
    return PastAttempt(
        **{
            "id": f"a{number}",
            "beads": beads or ("app-1",),
            "action": "build",
            "harness": "claude",
            "model": "",
            "at": MARCH.format(number),
            "outcome": "landed",
            "completed": True,
            "usage": {"input": 10, "output": 2, "cost_usd": 0.5},
            **fields,
        }
    )


def failed(number: int, *beads: str, **fields: Any) -> PastAttempt:
    return attempt(
        number, *beads, **{"outcome": "failed", "completed": False, "reason": "no", **fields}
    )


def lines_in(rows: Iterable[dict[str, Any]], *given: Any, **options: Any) -> tuple[BeadLine, ...]:
    return lines_of(map(Bead.of, rows), *given, **options)


def standing(one: dict[str, Any], *tried: PastAttempt, kept: tuple[str, ...] = ()) -> BeadPhase:
    (line,) = lines_in([one], AttemptHistory(tried), kept=kept)
    return line.standing


def closed(bead_id: str = "app-1", **fields: Any) -> dict[str, Any]:
    return {**row(bead_id, "closed", closed_at=MARCH.format(5)), **fields}


def test_a_bead_stands_in_exactly_one_place():
    sha = {"closing_commit_sha": "c0ffee"}
    assert standing(closed(**sha)) is BeadPhase.LANDED
    assert standing(closed()) is BeadPhase.CLOSED
    assert standing(row("app-1", "blocked")) is BeadPhase.BLOCKED
    assert standing(row("app-1", "in_progress")) is BeadPhase.CLAIMED
    assert standing(row("app-1", "cancelled")) is BeadPhase.CANCELLED
    assert standing(row("app-1", "some day")) is BeadPhase.OPEN
    every = [closed("a", **sha), closed("b"), row("c"), row("d", "blocked"), row("e", "proposed")]
    numbers = counts(lines_in(every, AttemptHistory()))
    assert numbers.pop("asked") == sum(numbers.values()) == 5


def test_work_is_preserved_only_while_its_ref_is_there():
    kept = failed(2, outcome="preserved", ref="refs/helix/attempts/app-1/a2")
    assert standing(row("app-1"), kept, kept=("a2",)) is BeadPhase.PRESERVED
    assert standing(row("app-1"), kept) is BeadPhase.OPEN  # dropped, or landed since
    assert standing(closed(closing_commit_sha="c"), kept, kept=("a2",)) is BeadPhase.LANDED


def test_a_bead_that_names_no_commit_landed_if_the_record_of_its_closing_says_so():
    assert standing(closed(session_id="a2"), attempt(2, commit="c0ffee")) is BeadPhase.LANDED
    assert standing(closed(session_id="other"), attempt(2, commit="c0ffee")) is BeadPhase.CLOSED


def test_an_epic_that_is_only_a_roof_is_not_counted():
    rows = [row("epic", issue_type="epic"), row("part", parent="epic")]
    assert [line.id for line in lines_in(rows, AttemptHistory())] == ["part"]
    assert [line.id for line in lines_in(rows[:1], AttemptHistory())] == ["epic"]


def test_what_happened_counts_since_then_and_what_stands_counts_now():
    rows = [
        closed("old", closing_commit_sha="c"),
        {**closed("new", closing_commit_sha="c"), "closed_at": MARCH.format(20)},
        row("blocked", "blocked"),
        {**row("asked"), "created_at": MARCH.format(11)},
    ]
    numbers = counts(lines_in(rows, AttemptHistory()), since=MARCH.format(10))
    assert (numbers["landed"], numbers["asked"], numbers["blocked"]) == (1, 1, 1)
    (line,) = lines_in(
        [row("app-1")], AttemptHistory((failed(2), failed(12))), since=MARCH.format(10)
    )
    assert (line.attempts, line.spent.cost_usd) == (1, 0.5)


def test_a_time_that_nobody_can_read_is_not_since_anything():
    undated = {**closed(closing_commit_sha="c"), "closed_at": "soon"}
    assert counts(lines_in([undated], AttemptHistory()), since=MARCH.format(1))["landed"] == 0
    assert counts(lines_in([undated], AttemptHistory()))["landed"] == 1


def test_a_batch_is_paid_by_its_beads_alike():
    lines = lines_in([row("app-1"), row("app-2")], AttemptHistory((attempt(2, "app-1", "app-2"),)))
    assert [(line.spent.cost_usd, line.spent.tokens) for line in lines] == [(0.25, 6), (0.25, 6)]


def test_days_hold_what_landed_and_what_it_cost():
    lines = lines_in([closed(closing_commit_sha="c")], AttemptHistory())
    days = days_of(lines, [failed(5), attempt(7, usage={"input": 3}), attempt(8, at="")])
    assert days == (
        DayNumbers("2026-03-05", landed=1, attempts=1, tokens=12, cost_usd=0.5),
        DayNumbers("2026-03-07", attempts=1, tokens=3, cost_usd=None),  # unknown is not 0
    )


@pytest.mark.parametrize(("length", "unit"), [(62, "day"), (63, "week"), (600, "month")])
def test_too_many_days_for_a_picture_become_weeks_and_months(length: int, unit: str):
    first = date(2026, 1, 1)
    days = [DayNumbers((first + timedelta(days=n)).isoformat(), landed=1) for n in (0, length - 1)]
    spoken, spans = spans_of(days)
    assert spoken == unit
    assert len(spans) <= MOST_BARS
    assert sum(span.landed for span in spans) == 2
    assert spans_of([]) == ("day", ())


def test_tries_have_no_holes_and_end_with_many():
    rows = [row("once"), row("often"), row("never")]
    tried = [attempt(1, "once"), *(failed(number, "often") for number in range(1, 8))]
    found = tries_of(lines_in(rows, AttemptHistory(tuple(tried))))
    assert [(each.label, each.beads) for each in found] == [
        *(("1", 1), ("2", 0), ("3", 0), ("4", 0), ("5+", 1)),
    ]


def test_a_rate_counts_attempts_on_beads_that_came_to_an_end():
    asked = [
        attempt(1),
        failed(2),
        failed(3, harness="codex"),
        attempt(4, harness="codex", outcome="", completed=False),  # it still runs
        PastAttempt(
            id="a5",
            beads=(),
            action="review",
            harness="claude",
            model="",
            at=MARCH.format(5),
            outcome="answered",
            completed=True,
        ),
        attempt(6, action="land", lands="a2"),
    ]
    found = rates_by_harness(asked, later=AttemptHistory(tuple(asked)).landed_later)
    assert [(it.key, it.completed, it.attempts) for it in found] == [
        ("claude", 2, 2),  # what was kept landed later, so it was good work
        ("codex", 0, 1),
    ]


def test_memory_is_compared_once_there_is_any():
    without = [attempt(1, memories=()), failed(2, memories=None)]
    assert rates_by_memory(without) == ()
    found = rates_by_memory([*without, attempt(3, memories=("be kind",))])
    assert [(it.key, it.completed, it.attempts) for it in found] == [
        ("with memories", 1, 1),
        ("without", 1, 2),
    ]


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ({}, None),
        ({"policy": {}}, None),
        ({"policy": {"memories": []}}, ()),
        ({"policy": {"memories": ["a", "b"]}}, ("a", "b")),
        ({"policy": ["memories"]}, None),
    ],
)
def test_the_manifest_names_the_memories_that_the_policy_passed_in(manifest: Any, names: Any):
    assert memories_in(manifest) == names


def test_an_unknown_cost_makes_the_sum_a_lower_bound():
    total = total_of([attempt(1), attempt(2, usage={"input": 5, "cost_usd": float("inf")})])
    assert (total.cost_usd, total.unknown, total.spoken_cost) == (0.5, 1, "at least $0.50")
    assert Spending("").plus({"cost_usd": True, "input": "7"}).spoken_cost == "-"


# -- coverage --------------------------------------------------------------------------------

SHOP = SEED | {f"{FRAME}/features/FEAT-002-pay.md": "# Pay\n"}


def run_of(definition: str, *artifacts: str, status: str = "success", at: int = 1) -> RunRecord:
    time = MARCH.format(at)
    return RunRecord(
        run_id=f"run-{at}",
        definition_id=definition,
        artifact_ids=artifacts,
        started_at=time,
        finished_at=time,
        status=status,
        exit_code=0,
        metrics={},
    )


def log_of(*runs: RunRecord) -> ExecutionLog:
    return ExecutionLog(define({}, {}), RunHistory(runs))


def test_each_requirement_is_followed_to_design_test_and_evidence():
    graph = graph_of_files(SHOP)
    done = Bead.of(row("app-1", spec_id="TD-001"))
    proofs = proofs_by_document(DocumentFinder(graph), [(done, MARCH.format(5))], log_of())
    first, pay, story, second = cover(graph, lambda doc_id: True, proofs)
    assert (first.id, first.designs, first.missing) == ("FEAT-001", ("SD-001", "TD-001"), "")
    assert first.tests == ("TP-001", "tests/list.test.js")
    assert first.evidence == (RequirementEvidence("bead", "app-1", True, at=MARCH.format(5)),)
    assert (pay.id, pay.missing) == ("FEAT-002", "design")
    assert (story.id, story.missing) == ("US-001", "")
    assert (second.id, second.missing) == ("US-002", "design")


def test_the_first_step_that_is_missing_is_the_gap():
    graph = graph_of_files(SHOP)
    found = {it.id: it.missing for it in cover(graph, lambda doc_id: True, {})}
    assert found["US-001"] == "evidence"
    untested = {path: text for path, text in SHOP.items() if not path.startswith((TEST, "tests/"))}
    found = {it.id: it.missing for it in cover(graph_of_files(untested), lambda doc_id: True, {})}
    assert found["US-001"] == "test"


def test_only_the_last_run_of_a_proof_counts_and_a_failed_one_proves_nothing():
    graph = graph_of_files(SHOP)
    good, bad = run_of("EXEC-001", "US-001"), run_of("EXEC-001", "US-001", status="failed", at=2)

    def story(*runs: RunRecord) -> Any:
        proofs = proofs_by_document(DocumentFinder(graph), [], log_of(*runs))
        return next(it for it in cover(graph, lambda doc_id: True, proofs) if it.id == "US-001")

    assert story(good).missing == ""
    assert story(good, bad).missing == "evidence"
    assert [proof.passed for proof in story(good, bad).failed] == [False]


def test_measured_tests_are_evidence_for_what_they_name():  # V-1
    rows = [
        {"id": "a", "file": "tests/a.py", "state": "passed", "spec": "US-001"},
        {"id": "b", "file": "tests/b.py", "state": "passed", "spec": "US-002"},
        {"id": "b2", "file": "tests/b.py", "state": "error", "spec": ""},
        {"id": "c", "file": "tests/c.py", "state": "skipped", "spec": "FEAT-002"},
        "no row",
    ]
    tested = list(files_measured({"ended_at": MARCH.format(3), "tests": rows}))
    assert [(it.file, it.passed) for it in tested] == [("tests/a.py", True), ("tests/b.py", False)]
    assert list(files_measured({"tests": "broken"})) == []
    graph = graph_of_files(SHOP)
    proofs = proofs_by_document(DocumentFinder(graph), [], log_of(), tested)
    found = {it.id: it for it in cover(graph, lambda doc_id: True, proofs)}
    assert found["US-001"].passed == (
        RequirementEvidence("test", "tests/a.py", True, at=MARCH.format(3)),
    )
    assert [proof.id for proof in found["US-002"].failed] == ["tests/b.py"]
    assert found["FEAT-002"].evidence == ()


def test_what_is_superseded_covers_nothing_and_need_not_be_covered():
    old = "---\nddx:\n  status: superseded\n  superseded_by: TD-002\n---\n# Old\n[[US-002]]\n"
    graph = graph_of_files(SHOP | {f"{DESIGN}/technical-designs/TD-009-old.md": old})
    found = {it.id: it for it in cover(graph, lambda doc_id: True, {})}
    assert found["US-002"].designs == ()
    assert "TD-009" not in found


def test_without_a_requirement_what_heads_the_scope_stands_for_it():
    graph = graph_of_files(SEED)
    within = {"TD-001", "TP-001", "tests/list.test.js"}
    (only,) = cover(graph, within.__contains__, {})
    assert (only.id, only.missing) == ("TD-001", "evidence")
    (plan,) = cover(graph, {"TP-001"}.__contains__, {})
    assert (plan.id, plan.missing) == ("TP-001", "evidence")  # a plan needs no design of its own
    (product,) = cover(graph_of_files({f"{FRAME}/prd.md": "# Shop\n"}), lambda doc_id: True, {})
    assert (product.id, product.missing) == ("prd", "design")


def test_a_bead_without_a_document_has_those_of_the_bead_above_it():
    graph = graph_of_files(SEED)
    rows = [row("epic", spec_id="FEAT-001"), row("part", parent="epic"), row("lost", parent="no")]
    rows += [row("own", parent="epic", spec_id="TD-001"), row("ring", parent="ring")]
    finder = DocumentFinder(graph, {each["id"]: Bead.of(each) for each in rows})
    found = {each["id"]: [graph.ids[n] for n in finder.governing(Bead.of(each))] for each in rows}
    assert (found["part"], found["own"]) == (["FEAT-001"], ["TD-001"])
    assert found["lost"] == found["ring"] == []


def test_a_pass_over_documents_is_no_evidence():
    assert is_planning(Bead.of(row("app-1", labels=["kind:planning"])))
    assert is_planning(Bead.of(row("app-1", labels=["action:design"])))
    assert is_planning(Bead.of(row("app-1", labels=["helix", "kind:document"])))
    assert not is_planning(Bead.of(row("app-1", labels=["area:cart", AT])))


# -- since -----------------------------------------------------------------------------------

NOON_NS = 1_774_612_800 * 10**9
"""2026-03-27T12:00:00Z"""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("7d", "2026-03-20T12:00:00.000000Z"),
        ("24h", "2026-03-26T12:00:00.000000Z"),
        ("90m", "2026-03-27T10:30:00.000000Z"),
        ("2w", "2026-03-13T12:00:00.000000Z"),
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000000Z"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000000Z"),
        ("", ""),
    ],
)
def test_since_is_a_time_or_how_long_ago(text: str, at: str):
    assert read_since(text, now_ns=NOON_NS) == at


@pytest.mark.parametrize("text", ["soon", "7", "d", "-7d", "7x", "2026-13-01", "9" * 400 + "d"])
def test_a_since_that_means_nothing_is_a_mistake(text: str):
    with pytest.raises(UsageError, match="--since"):
        read_since(text, now_ns=NOON_NS)
