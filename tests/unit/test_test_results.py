"""What JUnit, TAP and pytest's words say of tests; and nothing makes the readers fail (V-1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.verification.printed_tests import parse_pytest, parse_tap
from helix.verification.report_files import parse_file, parse_output
from helix.verification.reported_tests import (
    LARGEST,
    ReportedState,
    ReportedTest,
    SuiteReport,
    UnreadableReport,
    parse_junit,
    worst_first,
)

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">
<testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.1">
<testcase classname="tests.test_cart.TestSum" name="test_adds[1-2]" time="0.001" />
<testcase classname="tests.test_cart" name="test_rounds"><failure message="assert 1 == 2">def \
test_rounds():
&gt;       assert 1 == 2
E       assert 1 == 2</failure><system-out>seen</system-out></testcase>
<testcase classname="tests.test_cart" name="test_later"><skipped type="pytest.skip" \
message="no net">x</skipped></testcase>
<testcase classname="" name="tests.test_broken"><error message="collection failure">ImportError: \
no</error></testcase></testsuite></testsuites>"""

SUREFIRE = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.acme.CartTest" tests="3">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="com.acme.CartTest" time="0.01"/>
  <testcase name="rounds" classname="com.acme.CartTest">
    <failure type="java.lang.AssertionError"><![CDATA[java.lang.AssertionError
	at com.acme.CartTest.rounds(CartTest.java:12)]]></failure>
  </testcase>
  <testcase name="flaky" classname="com.acme.CartTest">
    <flakyFailure message="once">x</flakyFailure>
  </testcase>
</testsuite>"""

GO = b"""<testsuites tests="2" failures="1">
 <testsuite name="example.org/shop/cart" tests="2">
  <testcase name="TestSum/two_items" classname="example.org/shop/cart" time="0.00">
   <failure message="Failed" type="">cart_test.go:9: got 4</failure>
  </testcase>
  <testcase name="TestSum" classname="example.org/shop/cart"/>
 </testsuite>
</testsuites>"""

NESTED = b"""<testsuites><testsuite name="all" file="spec/cart.spec.js">
<testsuite name="Cart"><testcase name="adds" line="7"/>
<testsuite name="deep" file="spec/deep.spec.js"><testcase name="x" result="suppressed"/></testsuite>
</testsuite></testsuite></testsuites>"""


def cases_of(report: SuiteReport | UnreadableReport | None) -> tuple[ReportedTest, ...]:
    assert isinstance(report, SuiteReport), report
    return report.tests


def states(report: SuiteReport | UnreadableReport | None) -> dict[str, str]:
    return {test.name: str(test.state) for test in cases_of(report)}


def test_junit_of_pytest_tells_failures_errors_and_skips():
    report = parse_junit(PYTEST)
    assert states(report) == {
        "test_adds[1-2]": "passed",
        "test_rounds": "failed",
        "test_later": "skipped",
        "tests.test_broken": "error",
    }
    failed = cases_of(report)[1]
    assert failed.group == "tests.test_cart"
    assert failed.message == "assert 1 == 2"
    assert "E       assert 1 == 2" in failed.output
    assert failed.output.endswith("seen")
    assert cases_of(report)[2].message == "no net"


def test_junit_of_surefire_has_one_suite_as_its_root_and_a_flaky_test_has_passed():
    report = parse_junit(SUREFIRE)
    assert states(report) == {"adds": "passed", "rounds": "failed", "flaky": "passed"}
    assert cases_of(report)[1].message == "java.lang.AssertionError"
    assert "CartTest.java:12" in cases_of(report)[1].output


def test_junit_of_go_names_the_package_and_the_subtest():
    first = cases_of(parse_junit(GO))[0]
    assert (first.name, first.group) == ("TestSum/two_items", "example.org/shop/cart")
    assert first.state is ReportedState.FAILED
    assert first.output == "cart_test.go:9: got 4"


def test_nested_suites_hand_their_file_down_to_their_tests():
    one, two = cases_of(parse_junit(NESTED))
    assert (one.file, one.line, one.state) == ("spec/cart.spec.js", 7, ReportedState.PASSED)
    assert (two.file, two.state) == ("spec/deep.spec.js", ReportedState.SKIPPED)


def test_a_failing_tear_down_counts_more_than_the_failure_before_it():
    xml = b"<testsuite><testcase name='x'><failure message='a'/><error message='b'/></testcase>"
    (test,) = cases_of(parse_junit(xml + b"</testsuite>"))
    assert (test.state, test.message) == (ReportedState.ERROR, "b")


def test_raw_colours_in_the_xml_are_no_reason_not_to_read_it():
    xml = b"<testsuite><testcase><failure>\x1b[31mred\x1b[0m\x07</failure></testcase></testsuite>"
    (test,) = cases_of(parse_junit(xml))
    assert (test.output, test.name) == ("red", "a test without a name")


@pytest.mark.parametrize("xml", [b"<html/>", b"<project><testcase/></project>"])
def test_other_xml_is_no_report(xml: bytes):
    assert parse_junit(xml) is None


@pytest.mark.parametrize(
    ("xml", "why"),
    [
        (b"", "no element found"),
        (b"<testsuite>", "no element found"),
        (b"<testsuite></testsuites>", "mismatched tag"),
        (b"<?xml version='1.0' encoding='klingon'?><testsuite/>", "encoding"),
        (b"<testsuite>" + b"<properties>" * 100, "nested deeper"),
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite>&a;</testsuite>", "document type"),
        (b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'><testsuite/>", "document type"),
        (b" " * (LARGEST + 1), "larger than 32 MB"),
    ],
)
def test_xml_that_is_broken_or_hostile_is_named_and_not_read(xml: bytes, why: str):
    report = parse_junit(xml)
    assert isinstance(report, UnreadableReport)
    assert why in report.reason


def test_an_entity_bomb_costs_nothing():
    levels = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 30))
    bomb = f"<!DOCTYPE x [<!ENTITY e0 'lol'>{levels}]><testsuite>&e29;</testsuite>"
    assert isinstance(parse_junit(bomb.encode()), UnreadableReport)


TAP = """\
TAP version 14
1..5
ok 1 - starts
# Subtest: cart
    1..2
    ok 1 - adds
    not ok 2 - rounds
      ---
      message: "wrong sum"
      at:
        file: 'tests/cart.js'
        line: 12
      ...
not ok 2 - cart
not ok 3 - abroad # TODO not yet
ok 4 # SKIP no network
ok 5 - a \\# in the name # time=3ms
"""


def test_tap_tells_the_leaves_of_its_tree():
    report = parse_tap(TAP)
    assert states(report) == {
        "starts": "passed",
        "adds": "passed",
        "rounds": "failed",
        "abroad": "skipped",
        "test 4": "skipped",
        "a # in the name # time=3ms": "passed",
    }
    rounds = cases_of(report)[2]
    assert (rounds.group, rounds.fails_at, rounds.line) == ("cart", "tests/cart.js", 12)
    assert rounds.message == "wrong sum"
    assert report is not None and not report.problems


def test_a_subtest_whose_parts_all_pass_may_fail_itself():
    text = "1..1\n    ok 1 - a\n    1..1\nnot ok 1 - all\n# it leaked a file\n"
    report = parse_tap(text)
    assert states(report) == {"a": "passed", "all": "failed"}
    assert cases_of(report)[1].message == "it leaked a file"


def test_what_is_expected_to_fail_is_expected_below_as_well():
    text = "1..1\n    not ok 1 - a\n    1..1\nnot ok 1 - all # TODO\n"
    assert states(parse_tap(text)) == {"a": "skipped"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1..3\nok 1\n", "3 tests were planned, but 1 came"),
        ("TAP version 13\nok 1\n", "no plan"),
        ("1..2\nok 1\nBail out! no database\n", "it bailed out: no database"),
    ],
)
def test_tap_that_ends_early_says_so(text: str, problem: str):
    report = parse_tap(text)
    assert report is not None
    assert any(problem in it for it in report.problems)


@pytest.mark.parametrize("place", ["location: 'a/b.js:3:7'", "at: Test.fn (a/b.js:3:7)"])
def test_tap_of_node_says_the_place_in_one_line(place: str):
    (test,) = cases_of(parse_tap(f"1..1\nnot ok 1 - x\n  ---\n  {place}\n  ...\n"))
    assert (test.fails_at, test.line, test.file) == ("a/b.js", 3, "")


def test_a_message_in_a_block_of_yaml_begins_on_the_next_line():
    text = "1..1\nnot ok 1 - x\n  ---\n  error: |-\n    Not equal:\n    3 !== 4\n  ...\n"
    (test,) = cases_of(parse_tap(text))
    assert test.message == "Not equal:"


def test_tap_of_perl_says_the_place_in_a_comment():
    (test,) = cases_of(parse_tap("not ok 1 - x\n#   Failed test 'x'\n#   at t/a.t line 5.\n1..1\n"))
    assert (test.fails_at, test.line) == ("t/a.t", 5)


def test_a_plan_of_nothing_is_a_report_without_tests():
    assert cases_of(parse_tap("TAP version 13\n1..0 # SKIP no driver\n")) == ()


@pytest.mark.parametrize("text", ["", "ok then\n", "1..10\n", "okay 1\n1..1\n", "not okay\n"])
def test_other_words_are_no_tap(text: str):
    assert parse_tap(text) is None


SHORT = """\
F.E.                                                                     [100%]
=================================== ERRORS ====================================
_________________________ ERROR at setup of test_err __________________________
E       ValueError: 3
================================== FAILURES ===================================
__________________________ TestSum.test_adds[a - b] ___________________________

    def test_adds(self, v): assert v == "c"
E       AssertionError: boom
=========================== short test summary info ===========================
FAILED tests/test_cart.py::TestSum::test_adds[a - b] - AssertionError: boom
ERROR tests/test_cart.py::test_err - ValueError: 3
1 failed, 2 passed, 1 error in 0.02s
"""


def test_pytest_names_what_failed_and_its_text_is_found_by_the_heading():
    report = parse_pytest(SHORT)
    first, second = cases_of(report)
    assert (first.file, first.group, first.name) == (
        "tests/test_cart.py",
        "TestSum",
        "test_adds[a - b]",
    )
    assert first.message == "AssertionError: boom"
    assert "def test_adds" in first.output
    assert (second.state, second.output) == (ReportedState.ERROR, "E       ValueError: 3")


def test_without_the_names_of_those_that_passed_the_report_is_not_whole():
    report = parse_pytest(SHORT)
    assert report is not None and not report.is_whole
    everything = "== short test summary info ==\nPASSED a.py::test_x\n== 1 passed in 0.01s ==\n"
    report = parse_pytest(everything)
    assert report is not None and report.is_whole


def test_the_lines_of_verbose_runs_and_of_workers_are_read():
    text = (
        "tests/a.py::test_one PASSED                                       [ 50%]\n"
        "tests/a.py::test_two SKIPPED (no net)                             [ 75%]\n"
        "[gw1] [100%] FAILED tests/a.py::test_three \n"
        "=== 1 failed, 1 passed, 1 skipped in 1.20s (0:00:01) ===\n"
    )
    found = {"test_one": "passed", "test_two": "skipped", "test_three": "failed"}
    assert states(parse_pytest(text)) == found


def test_the_last_summary_counts_not_one_that_a_test_printed():
    inner = "== short test summary info ==\nFAILED x.py::test_inner - no\n1 failed in 0.1s\n"
    outer = "== short test summary info ==\nPASSED a.py::test_outer\n1 passed in 0.2s\n"
    assert states(parse_pytest(inner + outer)) == {"test_outer": "passed"}


@pytest.mark.parametrize("text", ["", "all is well\n", "3 files changed\n"])
def test_other_output_is_no_report(text: str):
    assert parse_output(text) is None


def test_a_file_is_read_by_its_ending():
    assert isinstance(parse_file("a/out.xml", GO), SuiteReport)
    assert isinstance(parse_file("out.tap", b"1..1\nok 1\n"), SuiteReport)
    assert isinstance(parse_file("out.tap", b"nothing"), UnreadableReport)


def test_what_a_test_says_is_bounded_and_harmless():
    noise = "\x1b[2J\u202e" + "x" * 100_000
    xml = f"<testsuite><testcase name='{'n' * 9000}'><failure message='{'m' * 9000}'>{noise}"
    report = parse_junit(f"{xml}</failure></testcase></testsuite>".encode())
    (test,) = cases_of(report)
    assert len(test.name) <= 300 and len(test.message) <= 500 and len(test.output) <= 4_000
    assert "\x1b" not in test.output and "\u202e" not in test.output


def test_one_failure_is_enough():
    assert (
        worst_first([ReportedState.PASSED, ReportedState.FAILED, ReportedState.SKIPPED])
        is ReportedState.FAILED
    )
    assert worst_first([ReportedState.SKIPPED, ReportedState.PASSED]) is ReportedState.PASSED


WORDS = st.sampled_from(
    [
        *("ok", "not ok", " 1", " - x", "    ", "\n", "1..2", "TAP version 14", "---", "...", "# "),
        *("TODO", "SKIP", "Bail out!", "at: a:3", "=== short test summary info ===", "FAILED "),
        *("a.py::t[", "] - ", "___ x ___", "1 passed in 0.1s", "PASSED [ 10%]", "\x1b[31m", "\0"),
    ]
)
TAGS = st.sampled_from(
    [
        *(b"<testsuite>", b"</testsuite>", b"<testcase name='a' line='x'>", b"</testcase>", b"<"),
        *(
            b"<failure message='&amp;'>",
            b"</failure>",
            b"<error/>",
            b"<skipped/>",
            b"&#0;",
            b"\xff",
        ),
        *(
            b"<!DOCTYPE a>",
            b"<?xml version='1.0' encoding='utf-16'?>",
            b"]]>",
            b"<![CDATA[",
            b"\xff",
        ),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.lists(WORDS, max_size=40).map("".join)))
def test_no_text_makes_a_reader_fail(text: str):
    for report in (parse_tap(text), parse_pytest(text), parse_output(text)):
        assert report is None or all(test.name for test in report.tests)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(), st.lists(TAGS, max_size=40).map(b"".join)))
def test_no_bytes_make_the_reader_of_xml_fail(content: bytes):
    found = parse_junit(b"<testsuite>" + content)
    assert found is None or isinstance(found, SuiteReport | UnreadableReport)
    parse_file("a.tap", content)
