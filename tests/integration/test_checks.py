"""Proving a tree with real programs: every check to its end, whatever it does (X-11, X-12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.tracker import wait_for

from ddx.agents.supervision import StopRequest
from ddx.base.clock import Clock
from ddx.base.errors import NeedsPerson
from ddx.base.masking import Masker
from ddx.base.process import is_alive
from ddx.documents.definitions import Execution, define
from ddx.documents.run_records import read_history, read_log
from ddx.proof.checks import Checker, run_checks
from ddx.proof.evidence import Check, Proof, path_of, record_floors
from ddx.proof.plan import (
    CheckPlan,
    CommandCheck,
    FileStateCheck,
    ImpossibleCheck,
    PlannedCheck,
)
from ddx.testing import make_repo
from ddx.tracker.criteria import PathExists

SECRET = "hunter2hunter2"


class Bench:
    """A trusted project, a workspace with nothing in it, and a record's folder."""

    def __init__(self, folder: Path) -> None:
        self.project = make_repo(folder / "shop")
        self.space = folder / "space"
        self.record = folder / "record"
        self.space.mkdir()
        self.record.mkdir()

    def prove(self, *items: PlannedCheck, **more: Any) -> Proof:
        env = {"PATH": os.environ["PATH"], "DDX_BEAD_ID": "app-1", "SHOP_TOKEN": SECRET}
        checker = Checker(
            self.project,
            str(self.space),
            str(self.record),
            env=env,
            masker=Masker(env),
            clock=Clock(),
            **more,
        )
        return run_checks(lambda: checker, CheckPlan(items), "abc")

    def check(self, command: Any, **fields: Any) -> Check:
        [check] = self.prove(run(command, **fields)).checks
        return check


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("HELIX_TRUST", "1")
    return Bench(tmp_path)


def run(command: Any, **fields: Any) -> CommandCheck:
    return CommandCheck(
        **{"name": "the check", "command": command, "origins": ("verify",), **fields}
    )


def execution(table: dict[str, Any], metric: dict[str, Any] | None = None) -> Execution:
    metrics = {"EXEC-1": ("EXEC-1.md", 1, metric)} if metric else {}
    return define({"EXEC-1": ("EXEC-1.md", 1, table)}, metrics).execution("EXEC-1")


# One command


def test_a_command_runs_in_the_workspace_with_the_variables_it_is_given(bench):
    check = bench.check('pwd; echo "$DDX_BEAD_ID"; echo aside >&2')
    assert (check.passed, check.exit_code, check.reason) == (True, 0, "")
    assert sorted(check.output_tail.splitlines()) == sorted([str(bench.space), "app-1", "aside"])
    assert check.log == "checks/01-the-check.log"
    assert (bench.record / check.log).read_text().count("\n") == 3
    assert (check.command, check.origin) == ('pwd; echo "$DDX_BEAD_ID"; echo aside >&2', "verify")
    assert check.seconds > 0


def test_words_run_without_a_shell(bench):
    check = bench.check(("echo", "$HOME;", "a  b"))
    assert check.output_tail == "$HOME; a  b"
    assert check.command == "echo '$HOME;' 'a  b'"


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        ("exit 3", 3, "exit code 3"),
        ("kill -9 $$", None, "was ended by signal 9"),
        ("no-such-program", 127, "exit code 127"),
        (("no-such-program",), None, "no-such-program"),
        ("echo fine; exit 1", 1, "exit code 1"),
    ],
)
def test_the_exit_code_decides(bench, command, code, reason):
    check = bench.check(command)
    assert (check.passed, check.exit_code) == (False, code)
    assert reason in check.reason


def test_at_its_time_limit_a_check_ends_with_all_that_it_started(bench):
    check = bench.check("setsid sleep 60 & echo $!; wait", timeout_s=3)
    assert (check.passed, check.exit_code) == (False, None)
    assert check.reason == "was ended after 3 s, its time limit"
    wait_for(lambda: not is_alive(int(check.output_tail)))


def test_what_a_check_leaves_running_ends_with_it_and_cannot_hold_us(bench):
    check = bench.check("setsid sleep 60 & echo $!")
    assert check.passed
    wait_for(lambda: not is_alive(int(check.output_tail)))


def test_a_long_output_is_kept_whole_and_its_end_is_told(bench):
    check = bench.check("seq 100000")
    assert check.output_tail.splitlines() == [str(n) for n in range(99961, 100001)]
    assert (bench.record / check.log).read_text().startswith("1\n2\n3\n")
    wide = bench.check("head -c 100000 /dev/zero | tr '\\0' x")
    assert len(wide.output_tail) == 4000


def test_no_secret_reaches_the_log_or_the_tail(bench):
    check = bench.check('echo "token: $SHOP_TOKEN"; exit 1')
    assert "token: [masked" in check.output_tail
    assert SECRET not in check.output_tail + (bench.record / check.log).read_text()


def test_a_sandbox_is_put_around_every_command(bench):
    [check] = bench.prove(run("echo inside"), wrap=lambda argv: ["echo", "wrapped", *argv]).checks
    assert check.output_tail == "wrapped sh -c echo inside"


# What must be printed


@pytest.mark.parametrize(
    ("command", "prints", "reason"),
    [
        ("echo version 0.1", ("0.1",), ""),
        ("echo 0.1 >&2", ("0.1",), ""),
        ("echo x", ("",), ""),
        ("true", ("",), "it does not print anything"),
        ("echo; echo", ("",), "it does not print anything"),
        ("echo 0.2", ("0.1",), "it does not print '0.1'"),
        ("echo b", ("a", "b", "c"), "it does not print 'a' and 'c'"),
        ("printf hel; sleep 0.3; echo warn >&2; sleep 0.3; printf lo", ("hello",), ""),
        ("echo 0.1; exit 2", ("0.1",), "exit code 2"),
        ("echo secret is $SHOP_TOKEN", (SECRET,), ""),
    ],
)
def test_a_command_prints_what_its_acceptance_says(bench, command, prints, reason):  # T-17
    check = bench.check(command, prints=prints)
    assert (check.passed, check.reason) == (not reason, reason)


# All of them


def test_a_failure_does_not_end_the_proof(bench):
    items = (
        ImpossibleCheck("documents", ("documents at the base",), "nobody knows"),
        run("exit 1", name="first"),
        FileStateCheck("made exists", PathExists("made", "verify"), ("acceptance line 1",)),
        run("touch made", name="second"),
        FileStateCheck("made exists", PathExists("made", "verify"), ("a", "b")),
    )
    proof = bench.prove(*items)
    assert [(check.name, check.passed) for check in proof.checks] == [
        ("documents", False),
        ("first", False),
        ("made exists", False),
        ("second", True),
        ("made exists", True),
    ]
    assert proof.checks[0].reason == "nobody knows"
    assert proof.checks[-1].origin == "a and b"
    assert (proof.commit, proof.ok, len(proof.failures)) == ("abc", False, 3)
    assert sorted(os.listdir(bench.record / "checks")) == ["02-first.log", "04-second.log"]


def test_nothing_to_check_proves_nothing(bench):
    assert bench.prove().ok is False


def test_a_second_look_has_logs_of_its_own(bench):
    bench.prove(run("echo one"))
    [check] = bench.prove(run("echo two"), folder="checks-merged").checks
    assert (bench.record / check.log).read_text() == "two\n"
    assert (bench.record / "checks/01-the-check.log").read_text() == "one\n"


def test_a_name_of_any_kind_makes_a_file_name(bench):
    names = ["../../etc/passwd", "ü", "a" * 300, ".", "pytest -q && x"]
    proof = bench.prove(*(run("true", name=name) for name in names))
    assert all(
        (bench.record / check.log).parent == bench.record / "checks" for check in proof.checks
    )
    assert [check.name for check in proof.checks] == names
    assert proof.ok


def test_once_a_person_wants_to_stop_nothing_more_is_begun(bench):
    stop = StopRequest()
    stop.ask()
    look = FileStateCheck("made exists", PathExists("made", "verify"), ("verify",))
    proof = bench.prove(run("touch made"), look, stop=stop)
    assert [(check.passed, check.reason) for check in proof.checks] == [(False, "interrupted")] * 2
    assert not (bench.space / "made").exists()


def test_nothing_runs_in_a_repository_that_nobody_trusts(bench, monkeypatch):
    monkeypatch.setenv("HELIX_TRUST", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(bench.record))
    with pytest.raises(NeedsPerson):
        bench.prove(run("touch made"))
    assert not (bench.space / "made").exists()


# Execution documents


def test_an_execution_runs_in_its_folder_with_its_variables_and_is_recorded(bench):
    (bench.space / "app").mkdir()
    table = {"command": "pwd; echo $A $DDX_BEAD_ID", "cwd": "app", "env": {"A": "a"}}
    check = bench.check("pwd", execution=execution({**table, "required": "true"}))
    assert check.output_tail.splitlines() == [str(bench.space / "app"), "a app-1"]
    assert (bench.record / check.log).read_text() == check.output_tail + "\n"
    [record] = read_history(bench.project).records
    assert (record.definition_id, record.status) == ("EXEC-1", "success")


@pytest.mark.parametrize(
    ("table", "limit_s", "reason", "status"),
    [
        ({"command": "exit 4"}, 60, "exit code 4", "failed"),
        ({"command": "sleep 60"}, 0.3, "was ended after 0.3 s, its time limit", "timed_out"),
        ({"command": "true", "cwd": "missing"}, 60, "its folder missing does not exist", "errored"),
    ],
)
def test_an_execution_that_fails_is_a_failed_check_and_a_record(
    bench, table, limit_s, reason, status
):
    item = run(table["command"], execution=execution(table), timeout_s=limit_s)
    [check] = bench.prove(item).checks
    assert (check.passed, check.reason) == (False, reason)
    assert [it.status for it in read_history(bench.project).records] == [status]


def test_what_an_execution_prints_is_looked_through_and_masked(bench):
    item = run("x", execution=execution({"command": "echo $SHOP_TOKEN"}), prints=("absent",))
    [check] = bench.prove(item).checks
    assert check.reason == "it does not print 'absent'"
    [record] = read_history(bench.project).records
    assert SECRET not in read_log(bench.project, record.run_id, "stdout.log")


# Ratchets


METRIC = {"name": "coverage", "unit": "%", "direction": "higher", "ratchet": "true"}


def measuring(printed: str, **fields: str) -> CommandCheck:
    found = execution({"command": f"echo {printed}"}, {**METRIC, **fields})
    return run(found.command, execution=found, ratchets=found.measures, name="EXEC-1")


def test_the_first_value_passes_and_is_handed_on_to_be_kept(bench):
    proof = bench.prove(measuring("90%"))
    assert [(check.name, check.passed, check.is_ratchet) for check in proof.checks] == [
        ("EXEC-1", True, False),
        ("coverage", True, True),
    ]
    [measured] = proof.measured
    assert (measured.metric, measured.number) == ("coverage", 90)
    assert not os.path.exists(path_of(bench.project)), "only a landing keeps a floor"


def test_a_value_below_the_floor_is_a_miss(bench):
    record_floors(bench.project, bench.prove(measuring("90%")).measured, at="now")
    proof = bench.prove(measuring("89%"))
    [miss] = proof.failures
    assert miss.is_ratchet
    assert miss.reason == "89% is worse than the floor 90%"
    assert proof.measured == ()


def test_a_value_above_the_floor_becomes_the_next_one(bench):
    record_floors(bench.project, bench.prove(measuring("90%")).measured, at="now")
    better = bench.prove(measuring("95%"))
    assert better.ok
    record_floors(bench.project, better.measured, at="now")
    assert not bench.prove(measuring("94%")).ok


def test_a_floor_that_a_person_set_is_held_from_the_start(bench):
    assert bench.prove(measuring("79%", floor="80")).ok is False
    assert bench.prove(measuring("79.5%", floor="80", tolerance="1")).ok is True


@pytest.mark.parametrize("printed", ["soon", "90 ms", "''"])
def test_a_number_that_cannot_be_read_is_a_failed_check_and_no_miss(bench, printed):
    proof = bench.prove(measuring(printed))
    [failure] = proof.failures
    assert (failure.name, failure.is_ratchet) == ("EXEC-1", False)
    assert failure.reason.startswith("coverage: ")
    assert len(proof.checks) == 1


def test_floors_that_cannot_be_read_are_a_failed_check_and_no_miss(bench):
    os.makedirs(os.path.dirname(path_of(bench.project)))
    Path(path_of(bench.project)).write_text("no floor\n")
    [failure] = bench.prove(measuring("90%")).failures
    assert "floors.jsonl:1: not a floor" in failure.reason
    assert failure.is_ratchet is False
