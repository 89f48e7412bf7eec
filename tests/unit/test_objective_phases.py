"""Where explorers look, what becomes of what they say, and plans (O-6)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.testing import MemoryView
from ddx.tracker.criteria import judge
from ddx.tracker.edits import create
from ddx.tracker.row import blockers_of
from helix.objective.agents import AgentContract
from helix.objective.exploration import (
    FEWEST,
    MOST,
    MOST_FILES,
    ExplorerScope,
    choose_scopes,
    entry_points,
    synthesize,
    words_of,
)
from helix.objective.plan import InvalidPlan, TaskPlan, UnclearPlan, read_plan

SHOP = [
    "README.md",
    "src/api/routes.py",
    "src/api/errors.py",
    "src/models/user.py",
    "src/models/order.py",
    "src/auth/login.py",
    "src/auth/tokens.py",
    "src/mail/send.py",
    "tests/test_login.py",
    "tests/test_mail.py",
    "node_modules/left/pad.js",
    ".github/x.py",
]


def names(files: list[str], objective: str, **more: Any) -> list[str]:
    return [scope.name for scope in choose_scopes(files, objective, **more)]


def test_parts_follow_the_folders_and_two_are_always_there() -> None:  # O-6
    found = names(SHOP, "Throttle logins")
    assert found == ["src/api/", "src/auth/", "src/models/", "tests/", "memory", "framework"]


def test_fewer_explorers_keep_what_matters() -> None:  # O-6
    found = names(SHOP, "Throttle logins", most=5)
    assert found == ["src/api/", "src/auth/", "src/models/", "memory", "framework"]
    assert names(SHOP, "Throttle logins", most=3) == ["src/auth/", "memory", "framework"]


def test_an_explorer_is_told_from_which_side_it_looks() -> None:  # O-6
    focus = {scope.name: scope.focus for scope in choose_scopes(SHOP, "Throttle logins")}
    assert "entry points" in focus["src/api/"]
    assert "core types" in focus["src/models/"]
    assert "objective" in focus["src/auth/"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], ["."]),
        (["README.md"], ["."]),
        (["app.py", "util.py"], ["."]),
        (["a/b/c/one.py", "a/b/c/two.py"], ["a/b/c/"]),
        (["main.py", "lib/a.py", "lib/b.py"], [".", "lib/"]),
    ],
)
def test_a_small_repository_has_few_parts(files: list[str], found: list[str]) -> None:
    assert names(files, "x") == [*found, "memory", "framework"]


def test_a_folder_that_holds_too_much_gives_way_to_its_parts() -> None:
    files = [f"src/{part}/{n}.py" for part in ("a", "b", "c") for n in range(30)]
    assert names(files, "x") == ["src/a/", "src/b/", "src/c/", "memory", "framework"]


def test_words_meet_although_they_are_written_differently() -> None:
    assert words_of("Throttle logins") & words_of("LoginPage") == {"login"}


def test_entry_points_are_where_something_begins() -> None:
    files = ["src/a/main.py", "app.py", "src/models.py", "cmd/server.go", "docs/index.md"]
    assert entry_points(files) == ["app.py", "cmd/server.go", "src/a/main.py"]


PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b", "api", "models", "tests"]), min_size=1, max_size=4).map(
        lambda parts: "/".join(parts) + "/x.py"
    ),
    max_size=40,
)


@given(PATHS, st.integers(3, 8))
def test_there_are_always_some_and_never_too_many(files: list[str], most: int) -> None:  # O-6
    scopes = choose_scopes(files, "add an api", most=most)
    assert FEWEST <= len(scopes) <= most
    assert [scope.name for scope in scopes[-2:]] == ["memory", "framework"]
    assert scopes == choose_scopes(reversed(files), "add an api", most=most)
    assert MOST == 6


# -- synthesis -------------------------------------------------------------------------------

AUTH = ExplorerScope("src/auth/", "x", ("src/auth/login.py", "src/auth/tokens.py"))
API = ExplorerScope("src/api/", "x", ("src/api/routes.py",))


def seen(
    file: str, what: str, relevance: str = "medium", line: int | None = None
) -> dict[str, Any]:
    return {"file": file, "what": what, "relevance": relevance, "line": line}


def merged(**found: dict[str, Any]) -> dict[str, Any]:
    by_scope = {{"auth": "src/auth/", "api": "src/api/"}.get(k, k): v for k, v in found.items()}
    scopes = (AUTH, API, ExplorerScope("memory", "x"), ExplorerScope("framework", "x"))
    return synthesize("Throttle logins", scopes, by_scope, SHOP)


def test_an_exploration_has_its_form() -> None:  # O-6
    found = merged(auth={"findings": [seen("src/auth/login.py", "checks the password", line=3)]})
    assert list(found) == ["objective", "structure", "patterns", "memory", "targets"]
    assert found["targets"] == {
        "files": ["src/auth/login.py"],
        "details": [
            {
                "file": "src/auth/login.py",
                "line": 3,
                "what": "checks the password",
                "relevance": "medium",
                "scope": "src/auth/",
            }
        ],
    }
    assert found["structure"]["directories"] == ["src/auth/", "src/api/"]


def test_what_two_say_counts_once() -> None:  # O-6
    row = seen("src/auth/login.py", "Checks the password")
    again = seen("./src/auth/login.py", "checks the  password", "high")
    found = merged(auth={"findings": [row, row]}, api={"findings": [again]})
    (detail,) = found["targets"]["details"]
    assert (detail["relevance"], detail["scope"]) == ("high", "src/api/")


@pytest.mark.parametrize(
    ("ours", "theirs", "wins"),
    [("medium", "medium", "ours"), ("low", "high", "theirs"), ("high", "low", "ours")],
)
def test_of_two_that_differ_the_more_relevant_and_then_the_one_sent_there_counts(
    ours: str, theirs: str, wins: str
) -> None:  # O-6
    found = merged(
        api={"findings": [seen("src/auth/login.py", "theirs, in many words", theirs, 7)]},
        auth={"findings": [seen("src/auth/login.py:7", "ours", ours)]},
    )
    (detail,) = found["targets"]["details"]
    assert detail["what"].startswith(wins)


def test_a_file_that_does_not_exist_is_no_target() -> None:
    rows = [seen("src/auth/made_up.py", "x"), seen("/etc/passwd", "x"), seen("../x", "x")]
    assert merged(auth={"findings": rows})["targets"]["files"] == []


def test_what_matters_most_comes_first_and_there_is_an_end() -> None:
    rows = [seen("src/mail/send.py", "x", "low"), seen("src/auth/login.py", "y", "HIGH: it is it")]
    assert merged(auth={"findings": rows})["targets"]["files"] == [
        "src/auth/login.py",
        "src/mail/send.py",
    ]
    many = [f"f{n}.py" for n in range(200)]
    answer = {"findings": [seen(name, "x") for name in many]}
    found = synthesize("x", (AUTH,), {"src/auth/": answer}, many)
    assert len(found["targets"]["files"]) == MOST_FILES


def test_the_surest_about_the_framework_is_believed() -> None:  # O-6
    def says(name: str, confidence: str) -> dict[str, Any]:
        return {"framework": {"detected": name, "confidence": confidence}}

    assert merged(auth=says("flask", "HIGH"), framework=says("django", "LOW"))["patterns"][
        "framework"
    ] == ("flask")
    assert merged(auth=says("flask", "HIGH"), framework=says("django", "HIGH"))["patterns"][
        "framework"
    ] == ("django")
    assert merged(auth={})["patterns"]["framework"] == ""


def test_memories_are_sorted_by_what_they_are() -> None:
    rows = [
        {"name": "a", "type": "failure", "trigger": "x"},
        {"name": "b", "type": "pattern"},
        {"name": "a", "type": "pattern"},
    ]
    found = merged(memory={"memories": rows})["memory"]
    assert [it["name"] for it in found["failures"]] == ["a"]
    assert [it["name"] for it in found["patterns"]] == ["b"]


# -- plans -----------------------------------------------------------------------------------


def planned(seq: str, *waits: str, **more: Any) -> dict[str, Any]:
    return {
        "seq": seq,
        "slug": f"Part {seq}",
        "description": "Do it.",
        "delta": [f"src/{seq}.py"],
        "verify": f"pytest -q tests/{seq}",
        "depends_on": list(waits),
        **more,
    }


def plan_of(*tasks: dict[str, Any]) -> TaskPlan | UnclearPlan | InvalidPlan:
    answer = {"status": "complete", "tasks": list(tasks)}
    assert AgentContract("planner").validate_output(answer) == (True, "")
    return read_plan(answer)


def test_tasks_become_drafts_of_beads() -> None:  # O-6
    idioms = {"required": ["type hints"], "forbidden": []}
    more = {"framework": "flask", "idioms": idioms, "budget": 5}
    found = plan_of(planned("001"), planned("002", "001", **more))
    assert isinstance(found, TaskPlan)
    epic = {"key": "epic", "title": "Throttle logins", "issue_type": "epic"}
    rows = [task.as_row("epic", "throttle-1") for task in found.tasks]
    ids = iter(["app-0", "app-1", "app-2"])
    made = create(
        MemoryView([]), [epic, *rows], now="2026-01-02T03:04:05Z", by="x", draw_id=lambda: next(ids)
    )
    first, second = made.put["app-1"], made.put["app-2"]
    assert (first["title"], second["title"]) == ("001: part-001", "002: part-002")
    assert first["parent"] == second["parent"] == "app-0"
    assert blockers_of(second) == ("app-1",)
    assert (second["verify"], second["paths"]) == (["pytest -q tests/002"], ["src/002.py"])
    assert (second["budget"], second["framework"]) == (5, "flask")
    assert second["idioms"] == {"required": ["type hints"]}
    assert second["objective"] == "throttle-1"
    assert first["execution-eligible"] is second["execution-eligible"] is True
    assert judge(second).ready


@pytest.mark.parametrize("acceptance", ["", "Everything works", "- `true` passes"])
@pytest.mark.parametrize("verify", ["true", ["a", "b"], "echo `date`"])
def test_a_task_can_always_be_proven(acceptance: str, verify: Any) -> None:  # T-17
    found = plan_of(planned("001", acceptance=acceptance, verify=verify))
    assert isinstance(found, TaskPlan)
    row = found.tasks[0].as_row("", "x")
    assert "execution-eligible" not in row
    assert judge(row).ready
    assert acceptance in row["description"] + row.get("acceptance", "")


def test_a_delta_stays_below_the_root() -> None:  # O-7
    found = plan_of(planned("001", delta=["./a.py", "/etc/x", "../b", "~/c", "d/../e", "f/"]))
    assert isinstance(found, TaskPlan)
    assert found.tasks[0].delta == ("a.py", "f/")


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([planned("001"), planned("001")], "two tasks"),
        ([planned("001", "009")], "009"),
        ([planned("001", slug="...")], "no name"),
        ([planned("001", verify=[])], "proves"),
        ([planned("001", "002"), planned("002", "001")], "ring"),
        ([planned(str(n)) for n in range(61)], "too many"),
    ],
)
def test_what_nobody_could_carry_out_is_no_plan(tasks: list[dict[str, Any]], said: str) -> None:
    found = plan_of(*tasks)
    assert isinstance(found, InvalidPlan)
    assert said in found.reason


def test_a_ring_is_named() -> None:  # O-2
    found = plan_of(planned("a", "b"), planned("b", "a"))
    assert isinstance(found, InvalidPlan)
    assert found.cycles == (("a", "b", "a"),)


def test_a_planner_may_ask() -> None:
    answer = {"status": "clarify", "questions": ["Which bank?"]}
    assert read_plan(answer) == UnclearPlan(("Which bank?",))
    assert isinstance(read_plan({"status": "clarify"}), InvalidPlan)
