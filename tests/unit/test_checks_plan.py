"""What proves a bead, as one list: nothing twice, and nothing left out without a word (X-11)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.beads import bead

from ddx.execution.governing import Governing
from ddx.execution.model import Bead
from ddx.execution.planning import Impossible, Look, Planned, Run, plan_checks, spoken_plan
from ddx.execution.project_checks import BrokenCheck, ProjectCheck
from ddx.graph.proof.definitions import define
from ddx.settings import Settings

LINKS = ProjectCheck("links", ".ddx/checks/links.yaml", "check-links", paths=("docs/**",))


def governing(*, ratchets: bool = False, **tables: dict[str, Any]) -> Governing:
    """Execution documents by id, all of them required; `metric` in one makes a metric of it."""
    metrics = {doc_id: it.pop("metric") for doc_id, it in tables.items() if "metric" in it}
    found = define(
        {doc_id: (f"{doc_id}.md", 1, it) for doc_id, it in tables.items()},
        {doc_id: (f"{doc_id}.md", 1, it) for doc_id, it in metrics.items()},
    )
    assert not found.broken
    return Governing(
        definitions=found,
        required=tuple(it for it in found.executions.values() if it.required),
        ratchets=tuple(found.metrics.values()) if ratchets else (),
    )


def plan(
    *rows: dict[str, Any],
    governing: Governing = Governing(),  # noqa: B008
    default_checks: tuple[str, ...] = (),
    project_checks: tuple[Any, ...] = (),
    changed_paths: tuple[str, ...] | None = (),
) -> tuple[Planned, ...]:
    return plan_checks(
        [Bead(row["id"], row) for row in rows],
        governing,
        default_checks=default_checks,
        project_checks=project_checks,
        changed_paths=changed_paths,
    ).items


def commands(items: tuple[Planned, ...]) -> list[Any]:
    return [item.command for item in items if isinstance(item, Run)]


def test_commands_and_states_come_in_the_order_in_which_they_are_asked():
    row = bead(
        verify=["make", "make lint"],
        acceptance="- `pytest -q` passes\n- docs/a.md exists\n- src/old.py is removed\n"
        "- docs/a.md names `ddx`\n- Everything is nice.",
    )
    items = plan(row, default_checks=("true",))
    assert [item.name for item in items] == [
        "make",
        "make lint",
        "pytest -q",
        "docs/a.md exists",
        "src/old.py is absent",
        "docs/a.md contains 'ddx'",
        "true",
    ]
    assert [item.origins for item in items[:4]] == [
        ("verify",),
        ("verify",),
        ("acceptance line 1",),
        ("acceptance line 2",),
    ]


def test_what_is_asked_twice_is_run_once_and_both_are_named():
    row = bead(
        verify=["make"],
        acceptance="- `make` passes\n- `make` prints `built`\n- a/b exists\n- a/b exists",
    )
    check = ProjectCheck("build", ".ddx/checks/build.yaml", "make", timeout_s=900)
    [run, look] = plan(row, default_checks=("make",), project_checks=(check,))
    assert isinstance(run, Run) and isinstance(look, Look)
    assert run.origins == (
        "verify",
        "acceptance line 1",
        "acceptance line 2",
        "checks.default",
        ".ddx/checks/build.yaml",
    )
    assert (run.prints, run.timeout_s) == (("built",), 900)
    assert look.origins == ("acceptance line 3", "acceptance line 4")


def test_in_a_batch_each_origin_says_whose_it_is():
    [run, other] = plan(bead("app-1"), bead("app-2", verify=["true", "make"]))
    assert run.origins == ("app-1 verify", "app-2 verify")
    assert other.origins == ("app-2 verify",)


# Never a skip


def test_a_bead_that_asks_for_nothing_has_failed():  # T-17
    [item] = plan(bead(verify=[], acceptance="It works."))
    assert isinstance(item, Impossible)
    assert item.reason.startswith("nothing says how to check that it is done; name a command")


def test_in_a_batch_every_bead_must_be_provable_by_itself():
    items = plan(bead("app-1"), bead("app-2", verify=[]))
    assert [type(item) for item in items] == [Run, Impossible]
    assert items[1].name == "app-2"


def test_default_checks_prove_a_bead_that_asks_for_nothing_itself():
    assert commands(plan(bead(verify=[]), default_checks=("make",))) == ["make"]


def test_an_execution_does_not_stand_in_for_a_criterion_of_the_bead():  # T-17
    required = governing(EXEC_1={"command": "make", "required": "true"})
    items = plan(bead(verify=[]), governing=required)
    assert [type(item) for item in items] == [Impossible, Run]


def test_an_error_in_the_documents_is_a_failed_check():
    items = plan(bead(), governing=Governing(errors=("docs/a.md:3: it is broken",)))
    assert [item.reason for item in items if isinstance(item, Impossible)] == [
        "docs/a.md:3: it is broken"
    ]


def test_a_check_file_that_cannot_be_read_is_a_failed_check():
    broken = BrokenCheck("links", ".ddx/checks/links.yaml", "command is empty")
    item = plan(bead(), project_checks=(broken,))[-1]
    assert isinstance(item, Impossible)
    assert item.reason == ".ddx/checks/links.yaml: command is empty"


# Project checks


@pytest.mark.parametrize(
    ("paths", "labels", "applies"),
    [
        (("docs/a.md",), [], True),
        (("src/a.py",), [], False),
        (("src/a.py",), ["area:docs"], True),
        ((), [], False),
        (None, [], True),
    ],
)
def test_a_project_check_is_for_the_paths_or_the_labels_that_it_names(paths, labels, applies):
    check = ProjectCheck("links", "links.yaml", "check-links", ("docs/**",), ("area:docs",))
    items = plan(bead(labels=labels), project_checks=(check,), changed_paths=paths)
    assert ("check-links" in commands(items)) is applies


def test_one_that_names_neither_is_for_all():
    check = ProjectCheck("all", "all.yaml", ("make", "all"), timeout_s=5)
    run = plan(bead(), project_checks=(check,))[-1]
    assert (run.name, run.command, run.timeout_s) == ("all", ("make", "all"), 5)


# Executions and ratchets


def test_a_required_execution_is_run_with_its_own_limit():
    required = governing(
        EXEC_1={"command": "make", "required": "true", "timeout_ms": "1500"},
        EXEC_2={"command": "other"},
    )
    [_, run] = plan(bead(), governing=required)
    assert (run.name, run.origins, run.timeout_s) == ("EXEC_1", ("EXEC_1.md",), 1.5)
    assert run.execution.id == "EXEC_1"


def test_a_command_that_an_execution_runs_too_is_one_run_that_is_recorded():
    required = governing(EXEC_1={"command": "make", "required": "true", "timeout_ms": "1500"})
    row = bead(verify=["make"], acceptance="- `make` prints `built`")
    [run] = plan(row, governing=required)
    assert run.origins == ("verify", "acceptance line 1", "EXEC_1.md")
    assert (run.execution.id, run.prints, run.timeout_s) == ("EXEC_1", ("built",), 600)


@pytest.mark.parametrize("more", [{"cwd": "app"}, {"env": {"CI": "1"}}])
def test_in_another_folder_or_with_other_variables_it_is_another_run(more):
    required = governing(EXEC_1={"command": "make", "required": "true", **more})
    assert commands(plan(bead(verify=["make"]), governing=required)) == ["make", "make"]


def test_two_executions_of_the_same_words_are_two_runs():
    table = {"command": "make", "required": "true"}
    required = governing(EXEC_1=dict(table), EXEC_2=dict(table))
    items = plan(bead(verify=["make"]), governing=required)
    assert [item.execution.id for item in items] == ["EXEC_1", "EXEC_2"]


def test_a_ratchet_is_read_from_the_run_that_measures_it():
    measured = {"direction": "higher", "ratchet": "true"}
    required = governing(
        ratchets=True,
        EXEC_1={"command": "make", "required": "true", "metric": {**measured, "name": "coverage"}},
        EXEC_2={"command": "count", "metric": {**measured, "name": "size"}},
    )
    items = plan(bead(), governing=required)
    assert [(item.name, [it.name for it in item.ratchets]) for item in items[1:]] == [
        ("EXEC_1", ["coverage"]),
        ("EXEC_2", ["size"]),
    ]


# For the prompt


def test_an_agent_is_told_what_will_be_checked():
    required = governing(
        ratchets=True,
        EXEC_1={
            "command": ["run", "the tests"],
            "cwd": "app",
            "required": "true",
            "metric": {"direction": "higher", "name": "coverage", "ratchet": "true"},
        },
    )
    row = bead(verify=["make"], acceptance="- `make` prints `built`\n- docs/a.md exists")
    settings = Settings({"checks.default": ["true"]}, {})
    assert spoken_plan([Bead("app-1", row)], required, (LINKS,), settings) == [
        "`make` exits 0, and prints 'built'",
        "docs/a.md exists",
        "`true` exits 0",
        "`check-links` exits 0",
        "`run 'the tests'` (in app) exits 0",
        "coverage does not get worse (higher is better)",
    ]
