"""What proves a bead, as one list: nothing twice, and nothing left out without a word (X-11)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.beads import bead

from ddx.documents.definitions import define
from ddx.project.settings import Settings, default_checks_of
from ddx.proof.governing import Governance
from ddx.proof.plan import (
    CommandCheck,
    FileStateCheck,
    ImpossibleCheck,
    PlannedCheck,
    plan_checks,
    spoken_plan,
)
from ddx.proof.project_checks import BrokenCheck, ProjectCheck
from ddx.tracker.bead import Bead

LINKS = ProjectCheck("links", ".ddx/checks/links.yaml", "check-links", paths=("docs/**",))


def governing(*, ratchets: bool = False, **tables: dict[str, Any]) -> Governance:
    """Execution documents by id, all of them required; `metric` in one makes a metric of it."""
    metrics = {doc_id: it.pop("metric") for doc_id, it in tables.items() if "metric" in it}
    found = define(
        {doc_id: (f"{doc_id}.md", 1, it) for doc_id, it in tables.items()},
        {doc_id: (f"{doc_id}.md", 1, it) for doc_id, it in metrics.items()},
    )
    assert not found.broken
    return Governance(
        definitions=found,
        required=tuple(it for it in found.executions.values() if it.required),
        ratchets=tuple(found.metrics.values()) if ratchets else (),
    )


def plan(
    *rows: dict[str, Any],
    governing: Governance = Governance(),  # noqa: B008
    default_checks: tuple[Any, ...] = (),
    scopes: tuple[Any, ...] = (),
    project_checks: tuple[Any, ...] = (),
    changed_paths: tuple[str, ...] | None = (),
) -> tuple[PlannedCheck, ...]:
    return plan_checks(
        [Bead(row["id"], row) for row in rows],
        governing,
        default_checks=default_checks_of(default_checks, scopes),
        project_checks=project_checks,
        changed_paths=changed_paths,
    ).items


def commands(items: tuple[PlannedCheck, ...]) -> list[Any]:
    return [item.command for item in items if isinstance(item, CommandCheck)]


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
    assert isinstance(run, CommandCheck) and isinstance(look, FileStateCheck)
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
    assert isinstance(item, ImpossibleCheck)
    assert item.reason.startswith("nothing says how to check that it is done; name a command")


def test_in_a_batch_every_bead_must_be_provable_by_itself():
    items = plan(bead("app-1"), bead("app-2", verify=[]))
    assert [type(item) for item in items] == [CommandCheck, ImpossibleCheck]
    assert items[1].name == "app-2"


def test_default_checks_prove_a_bead_that_asks_for_nothing_itself():
    assert commands(plan(bead(verify=[]), default_checks=("make",))) == ["make"]


def test_an_execution_does_not_stand_in_for_a_criterion_of_the_bead():  # T-17
    required = governing(EXEC_1={"command": "make", "required": "true"})
    items = plan(bead(verify=[]), governing=required)
    assert [type(item) for item in items] == [ImpossibleCheck, CommandCheck]


def test_an_error_in_the_documents_is_a_failed_check():
    items = plan(bead(), governing=Governance(errors=("docs/a.md:3: it is broken",)))
    assert [item.reason for item in items if isinstance(item, ImpossibleCheck)] == [
        "docs/a.md:3: it is broken"
    ]


def test_a_check_file_that_cannot_be_read_is_a_failed_check():
    broken = BrokenCheck("links", ".ddx/checks/links.yaml", "command is empty")
    item = plan(bead(), project_checks=(broken,))[-1]
    assert isinstance(item, ImpossibleCheck)
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
    check = ProjectCheck(
        "links", "links.yaml", "check-links", paths=("docs/**",), labels=("area:docs",)
    )
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


# Checks of the settings


SCOPES = ({"paths": ["api/**"], "checks": ["cd api && go test ./..."]},)


def test_a_scoped_check_runs_where_something_below_its_paths_changed():
    asked = bead(verify=["true"])
    assert commands(plan(asked, scopes=SCOPES, changed_paths=("api/cart.go",))) == [
        "true",
        "cd api && go test ./...",
    ]
    assert commands(plan(asked, scopes=SCOPES, changed_paths=("web/cart.js",))) == ["true"]
    assert len(plan(asked, scopes=SCOPES, changed_paths=None)) == 2


def test_a_change_that_no_check_covers_is_not_proven():
    (item,) = plan(bead(verify=[]), scopes=SCOPES, changed_paths=("web/cart.js",))
    assert isinstance(item, ImpossibleCheck)
    assert item.reason == "no check covers the paths that changed"


def test_a_default_check_may_say_its_paths_and_its_time():
    table = {"command": "make test", "paths": ["src/**"], "timeout_s": 90}
    (item,) = plan(bead(verify=[]), default_checks=(table,), changed_paths=("src/a.py",))
    assert isinstance(item, CommandCheck)
    assert (item.command, item.timeout_s, item.origins) == ("make test", 90, ("checks.default",))


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
    settings = Settings({"checks.default": ["true"], "checks.scopes": []}, {})
    assert spoken_plan([Bead("app-1", row)], required, (LINKS,), settings) == [
        "`make` exits 0, and prints 'built'",
        "docs/a.md exists",
        "`true` exits 0",
        "`check-links` exits 0",
        "`run 'the tests'` (in app) exits 0",
        "coverage does not get worse (higher is better)",
    ]
