"""What agents answer in words, and what they must answer by contract (O-7, O-8)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ddx.base.errors import UsageError
from helix.objective import AgentContract, parse_output
from helix.objective.agents import NAMES, find_object, outside_delta
from helix.objective.task_outcome import NOTHING_SAID, extract_mapping


@pytest.mark.parametrize(
    ("text", "status", "summary"),
    [
        ("DELIVERED: a page", "delivered", "a page"),
        ("PARTIAL: half of it", "partial", "half of it"),
        ("BLOCKED: no key", "blocked", "no key"),
        ("**DELIVERED:** a page", "delivered", "a page"),
        ("**DELIVERED**: a page", "delivered", "a page"),
        ("__DELIVERED: a page__", "delivered", "a page"),
        ("### DELIVERED: a page", "delivered", "a page"),
        ("- `DELIVERED`: a page", "delivered", "a page"),
        ("**DELIVERED: a page**", "delivered", "a page"),
        ("**DELIVERED:** a page in `src/page.py`", "delivered", "a page in `src/page.py`"),
        ("prose\n\nDELIVERED: a page\nmore prose", "delivered", "a page"),
        ("BLOCKED: at first\nDELIVERED: then", "delivered", "then"),
        ("DELIVERED: first\nBLOCKED: in the end", "blocked", "in the end"),
        ("  DELIVERED: a page", "delivered", "a page"),
    ],
)
def test_the_last_word_counts(text: str, status: str, summary: str) -> None:  # O-8
    found = parse_output(text)
    assert (found["status"], found["summary"], found["is_known"]) == (status, summary, True)


@pytest.mark.parametrize(
    "text", ["", "all done", "delivered: x", "I DELIVERED: x", "> DELIVERED: x", "UNDELIVERED: x"]
)
def test_saying_nothing_is_being_blocked(text: str) -> None:  # O-2, O-8
    found = parse_output(text)
    assert (found["status"], found["is_known"]) == ("blocked", False)
    assert found["error"] == NOTHING_SAID


def test_all_parts_are_read() -> None:  # O-8
    text = "**BLOCKED:** no key\n**TRIED:** the usual\nERROR: 401\nUTILIZED:\n- a-b: why\n- c_d\n"
    assert parse_output(text) == {
        "status": "blocked",
        "summary": "no key",
        "tried": "the usual",
        "error": "401",
        "utilized": ["a-b", "c_d"],
        "is_known": True,
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("UTILIZED:\n- a: why\n\n- b\nDELIVERED: x", ["a", "b"]),
        ("UTILIZED: none\n- a", ["a"]),
        ("UTILIZED: none", []),
        ("UTILIZED:\n- none", []),
        ("UTILIZED: a, b-c", ["a", "b-c"]),
        ('UTILIZED: [`a`, "b"]', ["a", "b"]),
        ("**UTILIZED:**\n* **a**: why\n  and more of why\n1. b", ["a", "b"]),
        ("UTILIZED:\n- a\nthe end\n- b", ["a"]),
        ("UTILIZED:\n- a\n- a", ["a"]),
        ("UTILIZED:\n- it was all very good", []),
        ("no mark", []),
    ],
)
def test_memories_that_helped_are_listed(text: str, names: list[str]) -> None:  # O-8
    assert parse_output(text)["utilized"] == names


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        (
            "TASK_MAPPING:\n001 -> app-1\n002 -> app-2\ndone\n003 -> app-3",
            {"001": "app-1", "002": "app-2"},
        ),
        ("**TASK_MAPPING:**\n- `001` → `app-1`", {"001": "app-1"}),
        ("TASK_MAPPING:\n```\n001 -> app-1\n```\n002 and more", {"001": "app-1"}),
        ("TASK_MAPPING:\n\n  001 => app-1\n", {"001": "app-1"}),
        ("TASK_MAPPING:\n001 -> app-1\nTASK_MAPPING:\n001 -> app-2", {"001": "app-2"}),
        ("001 -> app-1", {}),
        ("TASK_MAPPING: none", {}),
    ],
)
def test_the_mapping_of_a_plan_is_read(text: str, mapping: dict[str, str]) -> None:  # O-8
    assert extract_mapping(text) == mapping


@pytest.mark.parametrize(
    "text",
    [
        'FOUND: {"a": 1}',
        'prose\nFOUND:\n```json\n{"a": 1}\n```\nmore',
        '**FOUND:** {"a": 1} and more',
        'FOUND: {"a": 0}\nFOUND: {"a": 1}',
        '```json\n{"a": 0}\n```\n```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        '{"a": 1}',
        'FOUND: {"a": 1}\nFOUND: {broken',
    ],
)
def test_the_last_object_counts(text: str) -> None:
    assert find_object(text, "FOUND") == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", "FOUND:", "FOUND: [1]", "FOUND: {", "FOUND: NaN", '{"a": NaN}', "{" * 100_000]
)
def test_what_is_no_object_is_none(text: str) -> None:
    assert find_object(text, "FOUND") is None


@given(st.text(alphabet="DELIVERED:BLOCKED* _`-\n{}\"'utilized", max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    found = parse_output(text)
    assert found["status"] in ("delivered", "partial", "blocked")
    extract_mapping(text)
    find_object(text, "DELIVERED")


def test_a_megabyte_of_marks_takes_no_time() -> None:
    for unit in ("FOUND:{", "```json\n", "DELIVERED:\n", "UTILIZED:\n- a\n", "*_`" * 3):
        text = unit * ((2 << 20) // len(unit))
        parse_output(text)
        find_object(text, "FOUND")


# -- contracts -------------------------------------------------------------------------------

TASK = {"task_id": "t1", "objective": "x", "delta": ["src/a.py"], "verify": "true", "budget": 7}


@pytest.mark.parametrize("name", NAMES)
def test_a_contract_is_whole(name: str) -> None:  # O-7
    contract = AgentContract(name)
    assert AgentContract(f"helix-{name}").path == contract.path
    assert contract.model in ("smart", "cheap")
    assert contract.budget > 0
    assert contract.description.endswith(".")
    for schema in (contract.input_schema, contract.output_schema):
        Draft202012Validator.check_schema(schema)
    assert contract.validate_input({})[0] is contract.validate_output({})[0] is False


def test_nobody_else_has_a_contract() -> None:
    with pytest.raises(UsageError, match="no agent 'tester'"):
        AgentContract("tester")


GOOD_INPUTS: dict[str, dict[str, Any]] = {
    "explorer": {"scope": "src/", "focus": "entry points", "objective": "x"},
    "planner": {"objective": "x", "exploration": {}},
    "builder": TASK,
    "observer": {"task_ids": ["t1"]},
}
GOOD_OUTPUTS: dict[str, dict[str, Any]] = {
    "explorer": {
        "scope": "src/",
        "focus": "x",
        "findings": [{"file": "a.py", "line": None, "what": "x", "relevance": "high"}],
        "framework": {"detected": None, "confidence": "NONE", "evidence": None},
    },
    "planner": {
        "status": "complete",
        "tasks": [
            {"seq": "001", "slug": "a", "description": "x", "delta": ["a.py"], "verify": "true"},
            {"seq": "002", "slug": "b", "description": "x", "delta": [], "verify": ["a", "b"]},
        ],
        "task_mapping": {"001": "t1"},
        "dependencies": {"t2": ["t1"]},
    },
    "builder": {"status": "delivered", "summary": "x" * 200},
    "observer": {
        "status": "complete",
        "extractions": [
            {
                "type": "failure",
                "name": "a",
                "trigger": "b",
                "resolution": "c",
                "tier": "3-tactical",
            }
        ],
        "relationships": [{"from": "a", "to": "b", "type": "solves"}],
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_what_fits_is_taken(name: str) -> None:  # O-7
    contract = AgentContract(name)
    assert contract.validate_input(GOOD_INPUTS[name]) == (True, "")
    assert contract.validate_output(GOOD_OUTPUTS[name]) == (True, "")


@pytest.mark.parametrize(
    ("name", "change", "where"),
    [
        ("explorer", {"findings": [{"file": "", "what": "", "relevance": ""}]}, "findings[0].file"),
        ("explorer", {"framework": {"detected": "x", "confidence": "MAYBE"}}, "confidence"),
        ("planner", {"status": "done"}, "output.status"),
        ("planner", {"tasks": [{"seq": "001"}]}, "output.tasks[0]"),
        ("planner", {"task_mapping": {"001": 1}}, "output.task_mapping.001"),
        ("builder", {"summary": "x" * 201}, "output.summary"),
        ("builder", {"status": "unknown"}, "output.status"),
        ("observer", {"extractions": [{"type": "rumour"}]}, "output.extractions[0]"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(
    name: str, change: dict[str, Any], where: str
) -> None:  # O-7
    fits, error = AgentContract(name).validate_output({**GOOD_OUTPUTS[name], **change})
    assert not fits
    assert where in error


@pytest.mark.parametrize("budget", [0, 16, 7.5, "7", None])
def test_a_budget_has_its_bounds(budget: Any) -> None:
    fits, error = AgentContract("builder").validate_input({**TASK, "budget": budget})
    assert (fits, "input.budget" in error) == (False, True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name in ("src/auth.py", "src/sub/deep.py", "lib/auth.py", "tests/test_a.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (tmp_path / "auth.py").touch()
    (root / "link").symlink_to(root / "lib")
    (root / "away").symlink_to(tmp_path)
    return root


@pytest.mark.parametrize(
    ("path", "delta", "is_inside"),
    [
        ("src/auth.py", ["src/auth.py"], True),
        ("./src/auth.py", ["src/auth.py"], True),
        ("src/sub/../auth.py", ["./src/auth.py"], True),
        ("lib/auth.py", ["src/auth.py"], False),
        ("../auth.py", ["src/auth.py"], False),
        ("/etc/auth.py", ["src/auth.py"], False),
        ("src/auth.py.bak", ["src/auth.py"], False),
        ("src/sub/deep.py", ["src"], True),
        ("src/sub/deep.py", ["src/"], True),
        ("srcs/x.py", ["src"], False),
        ("src/new.py", ["src/*.py"], True),
        ("src/sub/deep.py", ["src/*.py"], False),
        ("src/sub/deep.py", ["src/**"], True),
        ("lib/auth.py", ["link/auth.py"], True),
        ("link/auth.py", ["lib/*.py"], True),
        ("link/auth.py", ["src"], False),
        ("away/auth.py", ["away"], False),
        ("away/auth.py", [], False),
        ("anything.py", [], True),
        ("anything.py", ["../shop/anything.py"], True),
        ("anything.py", ["."], True),
    ],
)
def test_a_path_is_in_the_delta_by_where_it_leads(
    project: Path, path: str, delta: list[str], is_inside: bool
) -> None:  # O-7
    assert (outside_delta([path], delta, root=str(project)) == ()) is is_inside


def test_an_answer_may_not_name_files_outside_of_its_delta(project: Path) -> None:  # O-7
    answer = {"status": "delivered", "summary": "", "files": ["src/auth.py", "lib/auth.py"]}
    contract = AgentContract("builder")
    fits, error = contract.validate_output(answer, delta=["src/auth.py"], root=str(project))
    assert not fits
    assert "output.files[1]: lib/auth.py" in error
    assert contract.validate_output(answer, delta=["src", "lib"], root=str(project))[0]
    assert os.path.isdir(project)
