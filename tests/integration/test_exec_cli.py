"""`ddx exec` and `ddx metric` with real programs in real repositories (X-11, X-12, X-22)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from tests.support.contract import SCHEMAS, EmptyRepository, Ended
from tests.support.tracker import wait_for

from ddx.base.process import is_alive

EXECUTIONS = "docs/helix/03-test/executions"
METRICS = "docs/helix/06-iterate/metrics"
START_UP = """\
unit: ms
direction: lower
command: echo "start-up took $(cat measured) ms"
output_pattern: took (.*)
tolerance: 5%
"""


@cache
def schema(name: str) -> Draft202012Validator:
    resources = [
        (path.name, Resource.from_contents(json.loads(path.read_text())))
        for path in SCHEMAS.glob("*.json")
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    return Draft202012Validator({"$ref": f"{name}.json"}, registry=registry)


class ExecutionScene(EmptyRepository):
    """A repository with documents that can be run; trusted unless a test says otherwise."""

    def ddx(self, *line: str, code: int = 0, trust: str = "1") -> Ended:
        ended = self.run("ddx", *line, HELIX_TRUST=trust)
        assert ended.returncode == code, (line, ended.stdout, ended.stderr)
        return ended

    def ask(self, *line: str, fits: str, code: int = 0) -> Any:
        answer = json.loads(self.ddx(*line, "--json", code=code).stdout)
        schema(fits).validate(answer)
        return answer

    def write(self, path: str, text: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def execution(self, doc_id: str, *lines: str) -> Path:
        fields = "".join(f"    {line}\n" for line in lines)
        head = f"---\nddx:\n  id: {doc_id}\n  execution:\n{fields}---\n# {doc_id}\n"
        return self.write(f"{EXECUTIONS}/{doc_id}.md", head)

    def run_one(self, doc_id: str, *, code: int = 0) -> dict[str, Any]:
        [record] = self.ask("exec", "run", doc_id, fits="exec-run", code=code)["runs"]
        return record

    def measure(self, number: str, *, code: int = 0) -> dict[str, Any]:
        self.write("measured", number)
        [record] = self.ask("metric", "run", "start-up", fits="exec-run", code=code)["runs"]
        return record

    def log(self, record: dict[str, Any], name: str = "stdout.log") -> str:
        return (self.root / record["logs"] / name).read_text()


@pytest.fixture
def shop(tmp_path: Path) -> ExecutionScene:
    return ExecutionScene(tmp_path)


@pytest.fixture
def measured(shop: ExecutionScene) -> ExecutionScene:
    shop.write(f"{METRICS}/start-up.yaml", START_UP)
    return shop


# Running


def test_a_run_that_succeeds_leaves_its_record_and_its_words(shop):
    shop.execution(
        "EXEC-001",
        "command: echo $GREETING; pwd; echo aside >&2",
        "env: {GREETING: hello}",
        "cwd: app",
        "artifact_ids: [TD-001]",
    )
    (shop.root / "app").mkdir()
    record = shop.run_one("exec-001")
    assert (record["definition_id"], record["artifact_ids"]) == ("EXEC-001", ["TD-001"])
    assert (record["status"], record["exit_code"], record["reason"]) == ("success", 0, "")
    assert shop.log(record) == f"hello\n{shop.root / 'app'}\n"
    assert shop.log(record, "stderr.log") == "aside\n"
    assert shop.ask("exec", "history", fits="exec-history") == [record]
    shown = shop.ask("exec", "show", record["run_id"], fits="exec-shown")
    assert (shown["run"], shown["stderr"]) == (record, "aside\n")
    assert shown["definition"]["cwd"] == "app"
    assert shop.ask("exec", "show", "EXEC-001", fits="exec-shown") == shown


def test_a_run_that_fails_is_1_and_shows_its_last_words(shop):
    shop.execution("EXEC-001", "command: seq 20 >&2; exit 7")
    ended = shop.ddx("exec", "run", "EXEC-001", code=1)
    assert "failed, exit code 7: .ddx/exec-runs/run-" in ended.stdout
    assert ended.stdout.endswith("    19\n    20\n")
    assert "    12\n" not in ended.stdout
    [record] = shop.ask("exec", "history", "EXEC-001", fits="exec-history")
    assert (record["status"], record["exit_code"]) == ("failed", 7)


def test_words_run_without_a_shell(shop):
    shop.execution("EXEC-001", 'command: [echo, "$HOME;", "a  b"]')
    assert shop.log(shop.run_one("EXEC-001")) == "$HOME; a  b\n"


def test_at_its_time_limit_a_command_ends_with_all_its_children(shop):
    shop.execution("EXEC-001", "command: sleep 60 & echo $!; wait", "timeout_ms: 3000")
    record = shop.run_one("EXEC-001", code=1)
    assert (record["status"], record["exit_code"]) == ("timed_out", None)
    assert "3 s" in record["reason"]
    wait_for(lambda: not is_alive(int(shop.log(record))))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["command: [no-such-program]"], "cannot start no-such-program"),
        (["command: 'true'", "cwd: missing"], "missing does not exist"),
        (["command: touch ran", "cwd: way-out"], "leads out of the project"),
    ],
)
def test_what_cannot_begin_is_a_record_too(shop, tmp_path, lines, said):
    (shop.root / "way-out").symlink_to(tmp_path)
    shop.execution("EXEC-001", *lines)
    record = shop.run_one("EXEC-001", code=1)
    assert (record["status"], record["exit_code"]) == ("errored", None)
    assert said in record["reason"]
    assert not (tmp_path / "ran").exists()


def test_nothing_runs_until_a_person_trusts_the_repository(measured):
    measured.execution("EXEC-001", "command: touch ran", "required: true")
    measured.write(f"{METRICS}/start-up.yaml", START_UP.replace("echo", "touch ran; echo"))
    for line in (["exec", "run", "EXEC-001"], ["exec", "run", "--required"], ["metric", "run"]):
        words = [*line, "start-up"] if line[0] == "metric" else line
        ended = measured.ddx(*words, code=4, trust="")
        assert ended.stdout == ""
        assert "is not trusted" in ended.stderr and "helix trust" in ended.stderr
    assert not (measured.root / "ran").exists()
    assert not (measured.root / ".ddx/exec-runs").exists()
    assert measured.ask("exec", "list", fits="exec-list")[0]["last"] is None


def test_required_means_all_that_must_pass(shop):
    shop.execution("EXEC-001", "command: 'true'", "required: true")
    shop.execution("EXEC-002", "command: 'false'")
    shop.execution("EXEC-003", "command: 'false'", "required: true")
    old = shop.execution("EXEC-004", "command: 'false'", "required: true")
    old.write_text(old.read_text().replace("  id:", "  status: superseded\n  id:"))
    ran = shop.ask("exec", "run", "--required", fits="exec-run", code=1)["runs"]
    assert [(it["definition_id"], it["status"]) for it in ran] == [
        ("EXEC-001", "success"),
        ("EXEC-003", "failed"),
    ]
    both = shop.ask("exec", "run", "EXEC-002", "--required", fits="exec-run", code=1)["runs"]
    assert [it["definition_id"] for it in both] == ["EXEC-002", "EXEC-001", "EXEC-003"]
    listed = shop.ask("exec", "list", "--required", fits="exec-list")
    assert [it["id"] for it in listed] == ["EXEC-001", "EXEC-003"]


def test_a_broken_definition_never_counts_as_passed(shop):
    shop.execution("EXEC-001", "command: 'true'", "required: true")
    shop.execution("EXEC-002", "timeout_ms: -1", "command: 'true'", "required: true")
    ended = shop.ddx("exec", "run", "--required", code=1)
    assert f"{EXECUTIONS}/EXEC-002.md:4: execution EXEC-002: timeout_ms" in ended.stderr
    assert "EXEC-002.md:4" in shop.ddx("exec", "run", "EXEC-002", code=1).stderr
    listed = shop.ddx("exec", "list")
    assert "EXEC-001" in listed.stdout and "EXEC-002" not in listed.stdout
    assert "EXEC-002.md:4" in listed.stderr


def test_what_is_not_there_and_what_is_not_said(shop):
    assert "ddx exec list" in shop.ddx("exec", "run", "EXEC-009", code=1).stderr
    assert "ddx exec run --required" in shop.ddx("exec", "run", code=2).stderr
    assert "ddx metric list" in shop.ddx("metric", "run", "nothing", code=1).stderr
    assert "no execution document is required" in shop.ddx("exec", "run", "--required").stdout
    assert "ddx exec define" in shop.ddx("exec", "list").stdout
    assert "ddx doc new metric" in shop.ddx("metric", "list").stdout
    assert shop.ask("exec", "history", fits="exec-history") == []


def test_much_output_is_cut_in_the_middle_and_says_so(shop):
    shop.execution("EXEC-001", "command: echo first; head -c 9000000 /dev/zero; echo; echo last")
    record = shop.run_one("EXEC-001")
    kept = shop.log(record)
    assert kept.startswith("first\n") and kept.endswith("\nlast\n")
    assert "[... 4000012 bytes left out ...]" in kept
    assert len(kept) < 5_001_000


def test_what_a_command_prints_cannot_steer_the_terminal(shop):  # C-5
    shop.execution("EXEC-001", r"command: printf '\033[2J' >&2; exit 1")
    assert "\x1b" not in shop.ddx("exec", "run", "EXEC-001", code=1).stdout
    assert "\x1b" not in shop.ddx("exec", "show", "EXEC-001").stdout


def test_a_kill_in_the_middle_leaves_nothing_running_and_no_broken_history(shop):
    shop.execution("EXEC-002", "command: 'true'")
    done = shop.run_one("EXEC-002")
    os.mkfifo(shop.root / "began.fifo")
    shop.execution("EXEC-001", "command: echo $$ > began.fifo; sleep 60")
    with subprocess.Popen(
        shop.argv("ddx", "exec", "run", "EXEC-001"),
        cwd=shop.root,
        env={**shop.variables, "HELIX_TRUST": "1"},
        stdout=subprocess.DEVNULL,
    ) as running:
        group = int((shop.root / "began.fifo").read_text())
        assert shop.ask("exec", "history", fits="exec-history") == [done]
        running.kill()
    wait_for(lambda: not is_alive(group))
    assert shop.ask("exec", "history", fits="exec-history") == [done]
    assert shop.ask("exec", "show", "EXEC-001", fits="exec-shown")["run"] is None
    again = shop.run_one("EXEC-002")
    kept = {path.name for path in (shop.root / ".ddx/exec-runs").glob("run-*")}
    assert kept == {done["run_id"], again["run_id"]}


def test_an_interrupt_ends_the_command_and_leaves_no_record(shop):
    os.mkfifo(shop.root / "began.fifo")
    shop.execution("EXEC-001", "command: echo $$ > began.fifo; sleep 60")
    with subprocess.Popen(
        shop.argv("ddx", "exec", "run", "EXEC-001"),
        cwd=shop.root,
        env={**shop.variables, "HELIX_TRUST": "1"},
        stdout=subprocess.DEVNULL,
    ) as running:
        group = int((shop.root / "began.fifo").read_text())
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=120) == 130
    wait_for(lambda: not is_alive(group))
    assert not list((shop.root / ".ddx/exec-runs").glob("run-*"))


# Defining


def test_a_defined_document_can_be_listed_run_and_shown(shop):
    shop.write("docs/helix/TD-001.md", "# Throttling\n")
    made = shop.ask(
        *("exec", "define", "Unit tests", "--command", "echo 'all: # fine'", "--required"),
        *("--timeout-ms", "5000", "--artifact", "td-001"),
        fits="exec-defined",
    )
    assert made == {"id": "EXEC-001", "path": f"{EXECUTIONS}/EXEC-001-unit-tests.md"}
    [listed] = shop.ask("exec", "list", fits="exec-list")
    assert (listed["command"], listed["timeout_ms"]) == ("echo 'all: # fine'", 5000)
    assert (listed["required"], listed["artifact_ids"]) == (True, ["TD-001"])
    assert shop.log(shop.run_one("EXEC-001")) == "all: # fine\n"
    assert "yes       success, " in shop.ddx("exec", "list").stdout
    again = shop.ask("exec", "define", "Unit tests", "--command", "true", fits="exec-defined")
    assert again["id"] == "EXEC-002"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--command", " "], 2, "command must be"),
        (["--command", "true", "--cwd", "../x"], 2, "cwd must be"),
        (["--command", "true", "--timeout-ms", "0"], 2, "timeout_ms must be"),
        (["--command", "a\x1bb"], 2, "the command holds"),
        (["--command", "true", "--artifact", "TD-404"], 1, "'TD-404'"),
        ([], 2, "--command"),
    ],
)
def test_what_nobody_could_run_is_not_written(shop, words, code, said):
    ended = shop.ddx("exec", "define", "Unit tests", *words, code=code)
    assert said in ended.stderr
    assert not (shop.root / EXECUTIONS).exists()


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(exclude_categories=["C"], include_characters="\n\t"), min_size=1))
def test_any_command_comes_back_as_it_was_typed(shop, text):
    command = f"echo {text}".strip()
    made = shop.ask("exec", "define", "It", "--command", command, fits="exec-defined")
    listed = {it["id"]: it for it in shop.ask("exec", "list", fits="exec-list")}
    assert listed[made["id"]]["command"] == command


# Measuring


def test_a_metric_is_measured_recorded_and_compared(measured):
    first, second = measured.measure("50"), measured.measure("41.5")
    assert (first["metrics"], second["metrics"]) == ({"start-up": 50}, {"start-up": 41.5})
    compared = measured.ask("metric", "compare", "start-up", fits="metric-compared")
    assert compared["verdict"] == "better"
    assert (compared["value"]["value"], compared["reference"]["value"]) == (41.5, 50)
    assert compared["reference"]["run_id"] == first["run_id"]
    [listed] = measured.ask("metric", "list", fits="metric-list")
    assert (listed["name"], listed["last"]["value"]) == ("start-up", 41.5)
    shown = measured.ask("metric", "show", "start-up", fits="metric-shown")
    assert (shown["min"], shown["max"], shown["best"], shown["last"]) == (41.5, 50, 41.5, 41.5)
    assert [point["value"] for point in shown["recent"]] == [50, 41.5]
    said = measured.ddx("metric", "run", "start-up").stdout
    assert "  41.5 ms, the same as 41.5 ms: .ddx/exec-runs/run-" in said


def test_worse_is_1_and_within_the_tolerance_is_not(measured):
    for number in ("40", "50", "52"):
        measured.measure(number)
    same = measured.ddx("metric", "compare", "start-up")
    assert same.stdout.startswith("start-up: 52 ms is the same as 50 ms (run-")
    worse = measured.ddx("metric", "compare", "start-up", "--against", "best", code=1)
    assert worse.stdout.startswith("start-up: 52 ms is worse than 40 ms (run-")
    assert worse.stderr == ""
    run_id = measured.ask("exec", "history", fits="exec-history")[2]["run_id"]
    named = measured.ask(
        *("metric", "compare", "start-up", "--against", run_id), fits="metric-compared", code=1
    )
    assert (named["verdict"], named["reference"]["value"]) == ("worse", 40)


def test_a_comparison_needs_two_values_and_a_run_that_exists(measured):
    assert "has no value so far" in measured.ddx("metric", "compare", "start-up", code=1).stderr
    measured.measure("40")
    ended = measured.ddx("metric", "compare", "start-up", code=1)
    assert "has one value so far" in ended.stderr and "ddx metric run start-up" in ended.stderr
    measured.measure("41")
    ended = measured.ddx("metric", "compare", "start-up", "--against", "run-00000000", code=1)
    assert "'run-00000000'" in ended.stderr and "ddx metric show start-up" in ended.stderr


@pytest.mark.parametrize("number", ["", "fast", "41 s", "4,1"])
def test_a_number_that_cannot_be_read_is_a_failure(measured, number):
    measured.measure("40")
    measured.measure("40")
    record = measured.measure(number, code=1)
    assert (record["status"], record["exit_code"], record["metrics"]) == ("failed", 0, {})
    assert record["reason"].startswith("start-up: ")
    trend = measured.ask("metric", "trend", "start-up", fits="metric-trend")
    assert [point["value"] for point in trend["points"]] == [40, 40]
    assert trend["failed_runs"] == 1
    ended = measured.ddx("metric", "compare", "start-up", code=1)
    assert "gave no value" in ended.stderr and f"ddx exec show {record['run_id']}" in ended.stderr


def test_an_execution_document_with_a_metric_feeds_its_trend(shop):
    document = shop.execution("EXEC-001", "command: echo TOTAL 93%", "required: true")
    head = "  metric: {name: coverage, unit: '%', direction: higher, output_pattern: 'TOTAL (.*)'}"
    document.write_text(document.read_text().replace("  execution:", f"{head}\n  execution:"))
    assert shop.run_one("EXEC-001")["metrics"] == {"coverage": 93}
    ran = shop.ask("metric", "run", "coverage", "EXEC-001", fits="exec-run")["runs"]
    assert [it["definition_id"] for it in ran] == ["EXEC-001"]
    drawn = shop.ddx("metric", "trend", "coverage").stdout
    assert drawn.startswith("coverage in %, ↑ higher is better\n")
    assert "93 |*" in drawn
    assert drawn.endswith("last 93%   min 93%   max 93%   2 runs\n")


def test_a_trend_is_drawn_with_its_axis_and_its_numbers(measured):
    assert "ddx metric run start-up" in measured.ddx("metric", "trend", "start-up").stdout
    for number in ("52", "50", "44", "40"):
        measured.measure(number)
    drawn = measured.ddx("metric", "trend", "start-up").stdout.splitlines()
    assert drawn[0] == "start-up in ms, ↓ lower is better"
    assert drawn[2].startswith("52.0 |*")
    assert drawn[11].startswith("40.0 |") and drawn[11].endswith("*")
    assert drawn[12].startswith("     +---")
    assert drawn[-1] == "last 40 ms   min 40 ms   max 52 ms   4 runs"
    assert sum(line.count("*") for line in drawn) == 4
    two = measured.ask("metric", "trend", "start-up", "--last", "2", fits="metric-trend")
    assert [point["value"] for point in two["points"]] == [44, 40]
    assert (two["min"], two["max"], two["best"], two["last"]) == (40, 44, 40, 40)
    one = measured.ddx("metric", "trend", "start-up", "--last", "1").stdout
    assert one.count("*") == 1 and one.endswith("1 run\n")


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("unit: [1\n", 1, "broken YAML"),
        ("- a\n- b\n", 1, "not a table of keys"),
        ("direction: up\ncommand: a\n", 1, "direction must be"),
        ("direction: lower\n", 1, "has no command"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_hides_no_other(measured, content, line, said):
    measured.write(f"{METRICS}/bad.yaml", content)
    listed = measured.ddx("metric", "list")
    assert "start-up" in listed.stdout
    assert f"{METRICS}/bad.yaml:{line}: " in listed.stderr and said in listed.stderr
    assert f"{METRICS}/bad.yaml:{line}: " in measured.ddx("metric", "run", "bad", code=1).stderr


def test_a_file_and_a_document_of_one_name_are_not_both_taken(measured):
    measured.write(f"{METRICS}/other.yaml", f"name: start-up\n{START_UP}")
    ended = measured.ddx("metric", "list")
    assert "start-up.yaml:1: the metric start-up is that of" in ended.stderr
    assert ended.stdout.count("start-up ") == 1 + ended.stdout.count("start-up took")
