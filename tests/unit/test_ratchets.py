"""A number that may not get worse: its floor, and what a new value comes to (X-12)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.errors import CorruptFile
from ddx.documents.metrics import HIGHER, LOWER, Metric, Tolerance
from ddx.project.project import Project
from ddx.proof.evidence import Floors, MetricReading, judge_ratchet, path_of, record_floors

AT = "2026-01-02T03:04:05Z"


def metric(direction: str = HIGHER, **fields: Any) -> Metric:
    usual = {"tolerance": Tolerance(), "is_ratchet": True, "floor": None, "unit": "%"}
    given = {**usual, **fields}
    return Metric("coverage", "MET-1", "MET-1.md", direction=direction, pattern="", **given)


def reached(number: float, **fields: Any) -> MetricReading:
    usual = {"direction": HIGHER, "unit": "%", "defined": None}
    return MetricReading("coverage", number, "run-1", **{**usual, **fields})


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(str(tmp_path))


# Judging


@pytest.mark.parametrize(
    ("direction", "number", "passed", "is_new"),
    [
        (HIGHER, 89.9, False, False),
        (HIGHER, 90, True, False),
        (HIGHER, 90.1, True, True),
        (LOWER, 90.1, False, False),
        (LOWER, 90, True, False),
        (LOWER, 89.9, True, True),
    ],
)
def test_worse_is_a_miss_and_better_is_the_next_floor(direction, number, passed, is_new):
    held = judge_ratchet(metric(direction), number, Floors([reached(90, direction=direction)]))
    assert (held.passed, held.is_new_floor) == (passed, is_new)


@pytest.mark.parametrize(
    ("number", "passed", "is_new"),
    [(85.4, False, False), (85.5, True, False), (94.5, True, False), (94.6, True, True)],
)
def test_within_the_tolerance_it_holds_and_the_floor_stays(number, passed, is_new):
    held = judge_ratchet(
        metric(tolerance=Tolerance(5, is_percent=True)), number, Floors([reached(90)])
    )
    assert (held.passed, held.is_new_floor) == (passed, is_new)


def test_the_first_value_becomes_the_floor():
    held = judge_ratchet(metric(), 40, Floors([]))
    assert (held.passed, held.is_new_floor) == (True, True)


def test_a_floor_in_the_definition_holds_from_the_start():
    assert judge_ratchet(metric(floor=90.0), 89, Floors([])).passed is False
    assert judge_ratchet(metric(floor=90.0), 91, Floors([])).is_new_floor is True


def test_the_reason_is_one_that_a_person_can_check():
    held = judge_ratchet(metric(tolerance=Tolerance(1)), 80, Floors([reached(90)]))
    assert held.reason == "80% is worse than the floor 90%, beyond the tolerance of 1"


# Which floor


def test_the_best_value_counts_in_whatever_order_a_merge_left_the_lines():
    assert Floors([reached(90), reached(93), reached(91)]).of(metric()) == 93
    down = [reached(5, direction=LOWER), reached(3, direction=LOWER)]
    assert Floors(down).of(metric(LOWER)) == 3


@pytest.mark.parametrize(
    "other",
    [
        MetricReading(
            metric="other", number=99, run_id="run-1", direction=HIGHER, unit="%", defined=None
        ),
        reached(99, direction=LOWER),
        reached(99, unit="ms"),
        reached(99, defined=80.0),
    ],
)
def test_values_of_another_metric_or_under_another_definition_do_not_count(other):
    assert Floors([other, reached(90)]).of(metric()) == 90


def test_a_person_lowers_a_floor_by_setting_it_in_the_definition():
    assert Floors([reached(93)]).of(metric(floor=80.0)) == 80
    assert Floors([reached(93), reached(85, defined=80.0)]).of(metric(floor=80.0)) == 85


# Keeping


def test_nothing_is_kept_until_something_lands(project):
    assert Floors.read(project).readings == ()


def test_what_lands_is_kept_and_to_keep_it_again_changes_nothing(project):
    values = [
        reached(90),
        MetricReading(
            metric="size", number=7, run_id="run-2", direction=LOWER, unit="", defined=9.5
        ),
    ]
    record_floors(project, values, at=AT, commit="abc")
    record_floors(project, values, at=AT, commit="abc")
    assert Floors.read(project).readings == tuple(values)


def test_a_value_that_is_no_better_by_then_is_not_kept(project):
    for number in (90, 92, 91, 92):
        record_floors(project, [reached(number)], at=AT)
    assert [item.number for item in Floors.read(project).readings] == [90, 92]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_a_floor_never_falls(tmp_path_factory, numbers):
    project = Project(str(tmp_path_factory.mktemp("floors")))
    seen = []
    for number in numbers:
        record_floors(project, [reached(number)], at=AT)
        seen.append(Floors.read(project).of(metric()))
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(max(numbers))


def test_a_line_that_cannot_be_read_is_named(project):
    record_floors(project, [reached(90)], at=AT)
    with open(path_of(project), "a", encoding="utf-8") as file:
        file.write('{"metric":"coverage"}\n')
    with pytest.raises(CorruptFile, match=r"floors\.jsonl:2: not a floor"):
        Floors.read(project)


def test_a_line_that_a_crash_cut_short_spoils_no_other(project):
    record_floors(project, [reached(90)], at=AT)
    with open(path_of(project), "rb+") as file:
        file.truncate(file.seek(0, 2) - 1)
    record_floors(project, [reached(91)], at=AT)
    assert [item.number for item in Floors.read(project).readings] == [90, 91]


def test_a_landing_without_numbers_does_not_look_at_the_floors(project):
    record_floors(project, [reached(90)], at=AT)
    with open(path_of(project), "w", encoding="utf-8") as file:
        file.write("damaged\n")
    record_floors(project, [], at=AT)
