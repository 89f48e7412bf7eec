"""The one reader of attempts: in the order in which they began, and by what people type (X-2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.attempts.records import OwedReviews, PromisedReviews, read_attempts
from ddx.base.errors import CorruptFile, NotFound, UsageError
from ddx.project.project import Project

NAMES = ["20260102T030405-ffffff", "20260102T030405-aaaaaa", "20260102T030406-cccccc"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for number, name in enumerate(NAMES):
        intent = tmp_path / ".ddx/executions" / name / "intent.json"
        intent.parent.mkdir(parents=True)
        intent.write_text("{}")
        os.utime(intent, ns=(number, number))
    return Project(str(tmp_path))


def test_attempts_of_one_second_are_told_in_the_order_in_which_they_began(project: Project) -> None:
    records = read_attempts(project)
    assert records.names() == NAMES
    assert [record.attempt for record in records] == NAMES
    assert [record.attempt for record in reversed(records)] == NAMES[::-1]


@pytest.mark.parametrize(("typed", "number"), [("last", 2), (NAMES[1], 1), ("ffffff", 0)])
def test_a_person_may_type_a_part_that_means_only_one(
    project: Project, typed: str, number: int
) -> None:
    assert read_attempts(project).find(typed).attempt == NAMES[number]


@pytest.mark.parametrize(("typed", "refusal"), [("2026", UsageError), ("fffx", NotFound)])
def test_what_means_several_or_none_is_refused(
    project: Project, typed: str, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        read_attempts(project).find(typed)


def test_a_damaged_record_is_named_and_the_others_are_read(project: Project) -> None:
    Path(project.ddx("executions", NAMES[1], "result.json")).write_text("[1]")
    records, said = read_attempts(project), list[str]()
    assert [it.attempt for it in records.readable(said.append)] == [NAMES[0], NAMES[2]]
    assert [NAMES[1] in problem for problem in said] == [True]
    with pytest.raises(CorruptFile):
        list(records)


def test_what_waited_is_landed_by_a_second_record_that_names_the_first(project: Project) -> None:
    records = read_attempts(project)
    assert records.landing_of(NAMES[0]) is None
    landed = f'{{"status": "success", "lands": "{NAMES[0]}"}}'
    Path(records.path(NAMES[2], "result.json")).write_text(landed)
    assert (records.landing_of(NAMES[0]) or {}).get("lands") == NAMES[0]
    assert records.landing_of(NAMES[1]) is None


def test_a_review_is_owed_until_its_attempt_has_ended_for_whoever_looks(
    project: Project,
) -> None:  # S-17: two processes may work here, and each knows only its own attempts
    reviews, records = OwedReviews(project), read_attempts(project)
    for name in NAMES:
        reviews.promise(name)
    assert reviews.read() == PromisedReviews()  # all three still run, in another process
    Path(records.path(NAMES[0], "result.json")).write_text(
        '{"status": "success", "outcome": "landed", "completed": true}'
    )
    Path(records.path(NAMES[1], "result.json")).write_text('{"status": "timeout"}')
    records.remove(NAMES[2])
    owed, void, lost = NAMES
    assert reviews.read() == PromisedReviews((owed,), (void,), (lost,))
    assert reviews.read(running=(lost,)) == PromisedReviews((owed,), (void,))
