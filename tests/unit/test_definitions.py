"""What documents let one run and measure: read from front matter, or named with its line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.errors import DdxError, NotFound
from ddx.base.text import quantity
from ddx.documents.assembly import assemble
from ddx.documents.definitions import DEFAULT_TIMEOUT_MS, EXECUTION, METRIC, Definitions, define
from ddx.documents.metrics import (
    BETTER,
    SAME,
    WORSE,
    Metric,
    Tolerance,
    UnreadableNumber,
    best,
    judge,
    read_number,
    read_value,
)
from ddx.documents.parser import parse

EXEC = {"command": "pytest -q"}
COVERAGE = {"name": "coverage", "unit": "%", "direction": "higher", "output_pattern": "T (.*)"}
numbers = st.floats(-1e9, 1e9)


def executions(**tables: dict[str, Any]) -> Definitions:
    return define({name: (f"{name}.md", 3, table) for name, table in tables.items()}, {})


def metrics(**tables: dict[str, Any]) -> Definitions:
    return define({}, {name: (f"{name}.md", 3, table) for name, table in tables.items()})


def complaint(definitions: Definitions) -> str:
    [item] = definitions.broken
    assert (item.finding.kind, item.finding.severity) == ("definition", "error")
    assert (item.finding.where, item.finding.line) == (f"{item.id}.md", 3)
    return item.finding.what


def metric(**fields: Any) -> Metric:
    usual = {"unit": "ms", "direction": "lower", "pattern": "", "tolerance": Tolerance()}
    return Metric("start-up", "MET-1", "MET-1.md", **{**usual, **fields})


# Executions


def test_a_command_alone_is_enough():
    found = executions(EXEC_1=EXEC).execution("EXEC_1")
    assert found.command == "pytest -q"
    assert (found.cwd, found.env, found.timeout_ms) == ("", {}, DEFAULT_TIMEOUT_MS)
    assert (found.required, found.artifact_ids, found.measures) == (False, (), ())


def test_everything_that_a_document_says_is_kept():
    table = {
        "kind": "command",
        "command": ["pytest", "-q", "a b"],
        "cwd": "./app//core/",
        "env": {"CI": "1", "EMPTY": ""},
        "timeout_ms": "1500",
        "required": "True",
        "artifact_ids": ["TD-001", " TD-002 "],
        "somebody": "elses",
    }
    found = executions(e=table).execution("e")
    assert found.command == ("pytest", "-q", "a b")
    assert (found.cwd, found.env) == ("app/core", {"CI": "1", "EMPTY": ""})
    assert (found.timeout_ms, found.required) == (1500, True)
    assert found.artifact_ids == ("TD-001", "TD-002")
    assert executions(e={**EXEC, "artifact_ids": "A, B"}).execution("e").artifact_ids == ("A", "B")


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("command", "", "command must be"),
        ("command", " \n", "command must be"),
        ("command", [], "command must be"),
        ("command", [["nested"]], "command must be"),
        ("command", {"sh": "true"}, "command must be"),
        ("command", "a\0b", "zero byte"),
        ("kind", "agent", "'agent' is unknown"),
        ("cwd", "/tmp", "cwd must be a folder of the project"),
        ("cwd", "app/../..", "cwd must be a folder of the project"),
        ("cwd", "~/x", "cwd must be a folder of the project"),
        ("env", "CI=1", "env must be a table"),
        ("env", {"A=B": "x"}, "'A=B' cannot be set"),
        ("env", {"A": ["x"]}, "'A' cannot be set"),
        ("timeout_ms", "-1", "not '-1'"),
        ("timeout_ms", "0", "not '0'"),
        ("timeout_ms", "1.5 s", "not '1.5 s'"),
        ("timeout_ms", "9" * 40, "milliseconds"),
        ("required", "perhaps", "true or false, not 'perhaps'"),
        ("artifact_ids", {"a": "b"}, "list of ids"),
        ("artifact_ids", [["a"]], "list of ids"),
    ],
)
def test_a_bad_field_is_a_finding_with_its_place_and_leaves_the_others(field, given, said):
    found = executions(bad={**EXEC, field: given}, good=EXEC)
    assert said in complaint(found)
    assert complaint(found).startswith("execution bad: ")
    assert list(found.executions) == ["good"]
    with pytest.raises(DdxError, match=r"bad\.md:3: execution bad: ") as raised:
        found.execution("bad")
    assert raised.value.exit_code == 1


def test_a_missing_command_is_a_finding():
    assert "command must be a text or a list of words" in complaint(executions(e={"cwd": "app"}))


def test_a_superseded_document_requires_nothing():  # G-6
    placed = {"EXEC-001": ("a.md", 1, {**EXEC, "required": "yes"})}
    assert define(placed, {}).execution("EXEC-001").required
    assert not define(placed, {}, retired={"EXEC-001"}).execution("EXEC-001").required


def test_a_name_may_be_in_any_case_and_carry_its_slug():
    found = define({"EXEC-001": ("a.md", 1, EXEC)}, {})
    for name in ("EXEC-001", "exec-001", "EXEC-001-unit-tests"):
        assert found.execution(name).id == "EXEC-001"
    with pytest.raises(NotFound) as missing:
        found.execution("001")
    assert missing.value.hint == "did you mean EXEC-001?"
    with pytest.raises(NotFound) as missing:
        found.execution("other")
    assert missing.value.hint == "ddx exec list"


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_table_can_break_the_reader(given):
    for field in ("kind", "command", "cwd", "env", "timeout_ms", "required", "artifact_ids"):
        executions(e={**EXEC, field: given})
    for field in ("name", "unit", "direction", "command", "output_pattern", "tolerance"):
        metrics(m={**COVERAGE, "command": "true", field: given})


# Metrics


def test_a_metric_with_a_command_is_measured_by_itself():
    table = {**COVERAGE, "command": "cov", "cwd": "app", "tolerance": "0.5"}
    found = metrics(m=table)
    assert found.metric("coverage") == found.metric("M") == found.metrics["coverage"]
    assert found.metric("coverage").tolerance == Tolerance(0.5)
    run = found.runs["coverage"]
    assert (run.id, run.command, run.cwd, run.required) == ("m", "cov", "app", False)
    assert [it.name for it in run.measures] == ["coverage"]
    assert not found.executions


def test_a_metric_without_a_name_goes_by_its_document():
    found = metrics(m={"direction": "lower", "command": "true"})
    assert found.metric("m").name == "m"
    assert (found.metric("m").unit, found.metric("m").pattern) == ("", "")


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("direction", "sideways", "direction must be lower or higher, not 'sideways'"),
        ("direction", "", "direction must be lower or higher"),
        ("output_pattern", "(open", "output_pattern is no regular expression"),
        ("output_pattern", "x{99999999999999999999}", "output_pattern is no regular expression"),
        ("tolerance", "-1", "tolerance must be a number"),
        ("tolerance", "much", "tolerance must be a number"),
        ("timeout_ms", "-5", "timeout_ms must be"),
        ("cwd", "..", "cwd must be"),
    ],
)
def test_a_bad_metric_is_a_finding(field, given, said):
    found = metrics(m={**COVERAGE, "command": "true", field: given})
    assert said in complaint(found)
    with pytest.raises(DdxError, match=r"m\.md:3"):
        found.metric("m")


def test_a_metric_that_nothing_measures_is_a_finding():
    assert "has no command, and no execution" in complaint(metrics(m=COVERAGE))


def test_a_second_metric_of_one_name_is_a_finding_and_no_silent_winner():
    found = metrics(a={**COVERAGE, "command": "a"}, b={**COVERAGE, "command": "b"})
    assert "'coverage' is the metric of a.md already" in complaint(found)
    assert found.runs["coverage"].command == "a"


@pytest.mark.parametrize("named", ["coverage", "MET-001", "met-001"])
def test_an_execution_measures_the_metrics_it_names(named):
    found = define(
        {"EXEC-001": ("a.md", 1, {**EXEC, "artifact_ids": [named]})},
        {"MET-001": ("b.md", 1, COVERAGE)},
    )
    assert [it.name for it in found.execution("EXEC-001").measures] == ["coverage"]
    assert found.runs["coverage"] == found.execution("EXEC-001")


def test_a_document_may_hold_both():
    found = define({"X": ("a.md", 1, EXEC)}, {"X": ("a.md", 5, COVERAGE)})
    assert [it.name for it in found.execution("X").measures] == ["coverage"]
    alone = define({"X": ("a.md", 1, EXEC)}, {"X": ("a.md", 5, {**COVERAGE, "command": "c"})})
    assert alone.execution("X").measures == ()
    assert alone.runs["coverage"].command == "c"


def test_an_execution_whose_metric_is_broken_is_broken_too():
    found = define({"X": ("a.md", 1, EXEC)}, {"X": ("a.md", 5, {**COVERAGE, "direction": "no"})})
    assert not found.executions and not found.metrics
    assert [(item.kind, item.finding.line) for item in found.broken] == [
        (EXECUTION, 1),
        (METRIC, 5),
    ]


# From the file to the graph


DOCUMENT = b"""---
ddx:
  id: EXEC-001
  execution:
    command: pytest -q
    env:
      CI: 1
    required: true
  metric:
    direction: %s
    output_pattern: '(\\d+) passed'
---
# Unit tests
"""


def test_front_matter_reaches_the_graph_with_its_line():
    graph = assemble([parse("docs/a.md", DOCUMENT % b"higher")])
    path, line, table = graph.executions["EXEC-001"]
    assert (path, line) == ("docs/a.md", 4)
    assert table == {"command": "pytest -q", "env": {"CI": "1"}, "required": "true"}
    assert graph.metrics["EXEC-001"][:2] == ("docs/a.md", 9)
    assert not graph.findings()
    found = define(graph.executions, graph.metrics)
    assert found.execution("EXEC-001").measures[0].pattern == r"(\d+) passed"


def test_a_bad_definition_is_a_finding_of_the_graph():  # G-10
    graph = assemble([parse("docs/a.md", DOCUMENT % b"sideways")])
    assert [(item.where, item.line) for item in graph.findings()] == [
        ("docs/a.md", 4),
        ("docs/a.md", 9),
    ]


# Numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", 42),
        ("42 ms", 42),
        ("42ms", 42),
        ("-1.5e3", -1500),
        (".5", 0.5),
        ("1,234.5 ms", 1234.5),
        ("+7", 7),
    ],
)
def test_a_number_may_carry_its_unit(text, number):
    assert read_number(text, unit="ms") == number


@pytest.mark.parametrize("text", ["", "fast", "ms", "1,5", "1.2.3", "nan", "inf", "1e999", "42 s"])
def test_what_is_no_number_in_this_unit_is_unreadable(text):
    assert isinstance(read_number(text, unit="ms"), UnreadableNumber)


def test_a_number_of_another_unit_is_never_taken_for_ours():
    found = read_number("42 s", unit="ms")
    assert found == UnreadableNumber("'42 s' is not in ms")
    assert read_number("93%", unit="%") == 93
    assert isinstance(read_number("93%", unit=""), UnreadableNumber)


def test_the_first_group_of_the_last_match_counts():
    it = metric(pattern=r"^took (\S+) ms (?:again)?")
    assert read_value(it, "took 9 ms\nlater\ntook 4.5 ms again\nbye\n") == 4.5
    assert read_value(metric(pattern=r"\d+ ms"), "it took 7 ms.") == 7
    assert read_value(metric(), "\n 12 ms\n") == 12


def test_an_output_without_the_number_is_unreadable():
    assert read_value(metric(pattern="took (.*)"), "nothing") == UnreadableNumber(
        "no line of the output fits 'took (.*)'"
    )
    assert isinstance(read_value(metric(pattern="(x)?took"), "took"), UnreadableNumber)
    assert isinstance(read_value(metric(), ""), UnreadableNumber)


@given(numbers)
def test_what_python_prints_is_read_back(number):
    assert read_number(repr(number), unit="ms") == number


@pytest.mark.parametrize(
    ("direction", "now", "verdict"),
    [("lower", 9, BETTER), ("lower", 11, WORSE), ("higher", 9, WORSE), ("higher", 11, BETTER)],
)
def test_direction_decides_what_is_better(direction, now, verdict):
    assert judge(metric(direction=direction), now, 10) == verdict
    assert judge(metric(direction=direction), 10, 10) == SAME
    assert best(metric(direction=direction), [9, 10, 11]) == (9 if direction == "lower" else 11)


@pytest.mark.parametrize(
    ("tolerance", "now", "verdict"),
    [
        (Tolerance(0.1), 1.1, SAME),
        (Tolerance(0.1), 1.11, WORSE),
        (Tolerance(10, is_percent=True), 1.1, SAME),
        (Tolerance(10, is_percent=True), 1.2, WORSE),
        (Tolerance(10, is_percent=True), 0.8, BETTER),
    ],
)
def test_within_the_tolerance_is_the_same(tolerance, now, verdict):
    assert judge(metric(tolerance=tolerance), now, 1) == verdict


@given(numbers, numbers)
def test_better_one_way_is_worse_the_other(one, other):
    opposite = {BETTER: WORSE, WORSE: BETTER, SAME: SAME}
    assert judge(metric(), other, one) == opposite[judge(metric(), one, other)]
    assert judge(metric(direction="higher"), one, other) == judge(metric(), other, one)


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [(42.0, "ms", "42 ms"), (93, "%", "93%"), (1234567, "", "1234567"), (0.12345, "s", "0.1235 s")],
)
def test_numbers_for_a_person(number, unit, text):
    assert quantity(number, unit) == text


# Ratchets


@pytest.mark.parametrize(
    ("fields", "is_ratchet", "floor"),
    [
        ({}, False, None),
        ({"ratchet": "true"}, True, None),
        ({"ratchet": "false"}, False, None),
        ({"floor": "90"}, True, 90),
        ({"floor": "90%"}, True, 90),
        ({"floor": "-1.5", "ratchet": "true"}, True, -1.5),
        ({"floor": "90", "ratchet": "false"}, False, 90),
        ({"ratchet": {"floor": "90"}}, True, 90),
        ({"ratchet": {"policy": "monotonic"}}, True, None),
    ],
)
def test_a_metric_becomes_a_ratchet_by_its_word_or_its_floor(fields, is_ratchet, floor):
    found = metrics(MET_1={**COVERAGE, "command": "cover", **fields}).metric("coverage")
    assert (found.is_ratchet, found.floor) == (is_ratchet, floor)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ratchet": "perhaps"}, "ratchet must be true or false"),
        ({"ratchet": ["true"]}, "ratchet must be a text"),
        ({"floor": "high"}, "floor: 'high' is no number"),
        ({"floor": "90 ms"}, "floor: '90 ms' is not in %"),
        ({"floor": ["90"]}, "floor must be a text"),
        ({"ratchet": {"floor": {}}}, "floor must be a text"),
    ],
)
def test_a_ratchet_that_means_nothing_is_named(fields, said):
    assert said in complaint(metrics(MET_1={**COVERAGE, "command": "cover", **fields}))


def test_a_ratchet_may_stand_beside_its_metric():  # G-1
    table = "  metric:\n    direction: lower\n    command: x\n  ratchet:\n    floor: 7\n"
    graph = assemble([parse("docs/MET-1.md", f"---\nddx:\n{table}---\n".encode())])
    found = define(graph.executions, graph.metrics).metric("MET-1")
    assert (found.is_ratchet, found.floor) == (True, 7)


def test_a_ratchet_without_a_metric_is_an_error():
    [finding] = parse("docs/EXEC-1.md", b"---\nddx:\n  ratchet: true\n---\n# x\n").findings
    assert (finding.kind, finding.line) == ("front-matter", 3)
    assert finding.what == "ratchet must be beside the metric that it holds"


@pytest.mark.parametrize(
    ("found", "may_bind"),
    [
        (executions(EXEC_1={"command": "", "required": "true"}), True),
        (executions(EXEC_1={"command": "", "required": "perhaps"}), True),
        (executions(EXEC_1={"command": "", "required": ["true"]}), True),
        (executions(EXEC_1={"command": "", "required": "no"}), False),
        (executions(EXEC_1={"command": ""}), False),
        (metrics(MET_1={"floor": "90"}), True),
        (metrics(MET_1={"ratchet": {}}), True),
        (metrics(MET_1={"ratchet": "false"}), False),
        (metrics(MET_1={}), False),
    ],
)
def test_a_broken_definition_says_whether_work_may_have_to_pass_it(found, may_bind):
    [item] = found.broken
    assert item.may_bind is may_bind


def test_a_broken_definition_still_says_what_it_proves():
    table = {"command": "", "required": "true", "artifact_ids": ["TD-1", {}]}
    [item] = executions(EXEC_1=table).broken
    assert item.artifact_ids == ("TD-1",)
