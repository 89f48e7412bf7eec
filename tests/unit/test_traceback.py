"""From a failing test to its bead: where it stands, how to see it again, what it is worth (V-2)."""

from __future__ import annotations

import shlex
import time
from typing import Any

import pytest
from tests.support.documents import AT

from ddx.documents.model import Link
from ddx.documents.scan import SourceFile
from ddx.tracker.bead import Bead
from ddx.tracker.criteria import judge
from helix.intake.conflicts.comparison import DisagreementKind
from helix.intake.conflicts.detection import Conflict, ConflictKind, Statement
from helix.verification.failure_beads import (
    KEY,
    MOST_NEW,
    PASSES_AGAIN,
    TESTS,
    FailingTest,
    FailureBead,
    plan_filing,
    trace,
)
from helix.verification.located_tests import (
    LocatedTest,
    ProjectFiles,
    SpecRef,
    find_spec,
    line_of,
    locate,
)
from helix.verification.reported_tests import ReportedState, ReportedTest
from helix.verification.rerun_command import Reproduction, reproduce

TREE = ProjectFiles(
    [
        *("tests/test_cart.py", "backend/tests/test_pay.py", "tests/a/test_twin.py"),
        *("tests/b/test_twin.py", "src/test/java/com/acme/CartTest.java", "cart/cart_test.go"),
        *("cart/other_test.go", "checks/sum.py", "shop.py", "web/cart.test.ts"),
        *("pay/src/test/java/com/acme/PayTest.java", "checks/com/acme/LooseTest.java"),
    ],
    root="/work/space",
)
GO_FILES = {"cart/cart_test.go": "func TestSum(t *testing.T) {"}


def place(case: ReportedTest, command: str = "make test") -> LocatedTest:
    return locate(case, TREE, command=command, read=lambda path: GO_FILES.get(path, ""))


def failed(name: str, group: str = "", **said: Any) -> ReportedTest:
    return ReportedTest(name, ReportedState.FAILED, group, **said)


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (failed("test_sum", "tests.test_cart"), "tests/test_cart.py::test_sum"),
        (failed("test_a[1]", "tests.test_cart.TestX"), "tests/test_cart.py::TestX::test_a[1]"),
        (
            failed("test_a", "TestX", file="tests/test_cart.py", line=7),
            "tests/test_cart.py::TestX::test_a",
        ),
        (
            failed("test_a", "tests.test_cart.TestX", file="tests/test_cart.py"),
            "tests/test_cart.py::TestX::test_a",
        ),
        (failed("tests.test_cart"), "tests/test_cart.py"),
        (failed("test_pay", "tests.test_pay"), "backend/tests/test_pay.py::test_pay"),
        (failed("test_x", "test_twin"), "test_twin::test_x"),
        (
            failed("adds", "com.acme.CartTest"),
            "src/test/java/com/acme/CartTest.java::adds",
        ),
        (
            failed("adds", "com.acme.CartTest$Inner"),
            "src/test/java/com/acme/CartTest.java::Inner::adds",
        ),
        (failed("TestSum/two", "example.org/shop/cart"), "cart/cart_test.go::TestSum/two"),
        (
            failed("adds", "Cart", file="/work/space/web/cart.test.ts"),
            "web/cart.test.ts::Cart::adds",
        ),
        (failed("adds", "web/cart.test.ts"), "web/cart.test.ts::adds"),
    ],
)
def test_a_test_has_one_name_however_its_report_speaks_of_it(case: ReportedTest, name: str):
    assert place(case).id == name


def test_a_report_without_files_is_that_of_the_script_that_printed_it():
    found = place(failed("adds up", "cart"), "PYTHONPATH=. python3 ./checks/sum.py --tap")
    assert (found.id, found.file) == ("checks/sum.py::cart::adds up", "checks/sum.py")


def test_where_two_files_could_be_meant_none_is():
    assert place(failed("x", file="test_twin.py")).file == ""
    assert place(failed("x"), "python3 checks/sum.py shop.py").file == ""


def test_many_tests_are_found_in_a_large_tree_without_looking_at_every_file():
    tree = ProjectFiles(f"src/{n // 100}/part_{n}_test.go" for n in range(20_000))
    begun = time.perf_counter()
    for n in range(500):
        locate(failed(f"x {n}", "a/b c"), tree, command="npx jest", read=lambda path: "")
    assert time.perf_counter() - begun < 2


def test_what_failing_tests_print_without_a_space_costs_no_time():
    begun = time.process_time()
    for n in range(100):
        place(failed(f"x {n}", output="a" * 4_000))
    assert time.process_time() - begun < 0.5


def test_a_long_name_is_cut_and_stays_another_than_its_like():
    one, two = (place(failed("n" * 400 + end)).id for end in "ab")
    assert one != two and len(one) == len(two) == 300


@pytest.mark.parametrize(
    ("command", "case", "again"),
    [
        (
            "pytest -q tests --junitxml=out.xml -x",
            failed("test_a[x y]", "tests.test_cart.TestX"),
            "pytest -q -rA 'tests/test_cart.py::TestX::test_a[x y]'",
        ),
        (
            "A='b c' .venv/bin/python -m pytest -c other.ini -k sum -n 4",
            failed("test_sum", "tests.test_cart"),
            "A='b c' .venv/bin/python -m pytest -c other.ini -rA tests/test_cart.py::test_sum",
        ),
        (
            "cd backend && pytest",
            failed("test_pay", "tests.test_pay"),
            "cd backend && pytest -rA tests/test_pay.py::test_pay",
        ),
        ("pytest", failed("tests.test_cart"), "pytest -rA tests/test_cart.py"),
        (
            "./mvnw -q verify",
            failed("adds", "com.acme.CartTest"),
            "./mvnw -q verify '-Dtest=com.acme.CartTest#adds'",
        ),
        (
            "gradle test",
            failed("adds()", "com.acme.CartTest"),
            "gradle test --tests com.acme.CartTest.adds",
        ),
        (
            "go test -v ./... 2>&1 | go-junit-report > report.xml",
            failed("TestSum/two items", "example.org/shop/cart"),
            "go test ./cart -run '^TestSum$/^two_items$'",
        ),
        (
            "go vet ./... && A=1 go test -race -tags 'a b' -timeout 9m ./... -v | tee out",
            failed("TestSum", "example.org/shop/cart"),
            "A=1 go test -race -tags 'a b' ./cart -run '^TestSum$'",
        ),
        (
            "mvn -B verify",
            failed("totals(int)[2]", "com.acme.PayTest"),
            (
                "mvn -B verify -pl pay -am -Dsurefire.failIfNoSpecifiedTests=false "
                "'-Dtest=com.acme.PayTest#totals'"
            ),
        ),
        (
            "mvn test",
            failed("adds", "com.acme.LooseTest"),
            "mvn test '-Dtest=com.acme.LooseTest#adds'",
        ),
        (
            "mvn -B -pl pay -fn -Dmaven.test.failure.ignore verify",
            failed("adds", "com.acme.PayTest"),
            "mvn -B -pl pay verify '-Dtest=com.acme.PayTest#adds'",
        ),
        (
            "cd pay && mvn verify",
            failed("adds", "com.acme.PayTest"),
            "cd pay && mvn verify '-Dtest=com.acme.PayTest#adds'",
        ),
        (
            "gradle :pay:test",
            failed("adds(int)[1]", "com.acme.PayTest"),
            "gradle :pay:test --tests com.acme.PayTest.adds",
        ),
        (
            "node --test --test-reporter tap --import=tsx web",
            failed("adds  (10%)", "Cart", fails_at="web/cart.test.ts"),
            (
                "node --test --test-reporter tap --import=tsx "
                "'--test-name-pattern=(^| )adds\\s+\\s+\\(10%\\)$' web/cart.test.ts"
            ),
        ),
    ],
)
def test_the_command_runs_exactly_that_test(command: str, case: ReportedTest, again: str):
    assert reproduce(command, place(case, command)) == Reproduction(again, is_exact=True)


@pytest.mark.parametrize(
    "command",
    ["python3 checks/sum.py", "pytest -q; true", "pytest $FLAGS", "pytest | tee log", "make test"],
)
def test_where_nobody_knows_how_to_run_one_test_the_check_is_run(command: str):
    case = failed("test_sum", "tests.test_cart")
    assert reproduce(command, place(case, command)) == Reproduction(command, is_exact=False)


@pytest.mark.parametrize(
    ("command", "case"),
    [
        ("gradle test", failed("adds", "com.acme.PayTest")),
        ("mvn test", failed("it sells things", "com.acme.CartTest")),
        ("go test -ldflags $FLAGS ./...", failed("TestSum", "example.org/shop/cart")),
        ("node --test --unheard-of 3", failed("adds", fails_at="web/cart.test.ts")),
        ("cd web && node --test", failed("adds", fails_at="web/cart.test.ts")),
        ("node web/all.js", failed("adds", fails_at="web/cart.test.ts")),
    ],
)
def test_where_one_test_alone_would_be_told_wrong_the_check_is_run(
    command: str, case: ReportedTest
):
    assert reproduce(command, place(case, command)) == Reproduction(command, is_exact=False)


def test_a_test_keeps_its_name_when_only_its_failure_says_the_file():
    failing = failed("adds", "Cart", fails_at="web/cart.test.ts", line=3)
    passing = ReportedTest("adds", ReportedState.PASSED, "Cart")
    for command in ("node --test", "PYTHONPATH=. python3 checks/sum.py"):
        assert place(failing, command).id == place(passing, command).id
        assert place(failing, command).file == "web/cart.test.ts"


@pytest.mark.parametrize("name", ["x'; rm -rf ~; '", "$(reboot)", "`reboot`", "a\\b", 'a"b'])
def test_a_hostile_name_is_one_word_of_the_command(name: str):
    found = reproduce("pytest -q", place(failed(name, "tests.test_cart")))
    assert shlex.split(found.command) == ["pytest", "-q", "-rA", f"tests/test_cart.py::{name}"]


SOURCE = f'''\
# {AT}spec-ref TD-001
import shop

# {AT}spec-ref TD-002
# {AT}requirement TC-007
def test_sum(): ...


def test_plain(): ...


def test_docs():
    """{AT}spec-ref TD-003"""


# {AT}requirement TC-999
def test_unknown_part(): ...
'''
KNOWN = {"TD-001": "TD-001", "TD-002": "TD-002", "TD-003": "TD-003", "TC-007": "TP-001"}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("test_sum[1]", "TD-002"),
        ("test_plain", "TD-002"),
        ("test_docs", "TD-003"),
    ],
)
def test_a_test_belongs_to_the_nearest_tag(name: str, document: str):
    assert spec_of(name) == SpecRef(document)


def test_a_tag_that_means_nothing_is_not_replaced_by_that_of_another_test():
    assert spec_of("test_unknown_part") == SpecRef("", ("TC-999",))


def spec_of(name: str) -> SpecRef:
    file = SourceFile.tagged("tests/test_cart.py", SOURCE.encode())
    line = line_of(SOURCE, LocatedTest(name, failed(name)))
    return find_spec(file, line=line, resolve=lambda it: KNOWN.get(it, ""))


def test_names_that_no_document_has_are_told():
    file = SourceFile("cart_test.go", (Link("TD-404", 3), Link("TC-404", 4)))
    found = find_spec(file, line=5, resolve=lambda name: "")
    assert found == SpecRef("", ("TD-404", "TC-404"))
    assert find_spec(SourceFile("cart_test.go"), line=5, resolve=str) == SpecRef()


CLASH = Conflict(
    ConflictKind.RESOLVABLE,
    "contradiction: under 50 ms against at least 200 ms",
    Statement("FEAT-001", 2, "docs/FEAT-001.md", line=9, text="It answers in under 50 ms."),
    other=Statement("TD-001", 6, "docs/TD-001.md", line=12, text="It waits for at least 200 ms."),
    winner="FEAT-001",
    nature=DisagreementKind.CHOICE,
)


def failure(name: str = "test_sum", *, spec: str = "TD-001", **given: Any) -> FailingTest:
    located = place(failed(name, "tests.test_cart", message="wrong", output="E  wrong"))
    conflict = given.pop("conflict", None)
    return FailingTest(
        test=located,
        command="pytest -q",
        reproduction=reproduce("pytest -q", located),
        spec=given.pop("ref", SpecRef(spec)),
        conflict=conflict,
        upstream="FEAT-001" if conflict else "",
        **given,
    )


def traced(*failures: FailingTest) -> tuple[FailureBead, ...]:
    return trace(failures, commit="c" * 40, evidence=".ddx/executions/1/measure.json")


def test_a_test_of_a_document_without_conflict_is_a_bug_with_the_command_that_shows_it():
    (found,) = traced(failure(beads=("app-1",)))
    row = found.as_row()
    assert row["title"].startswith("Implementation does not meet spec")
    assert row["spec-id"] == "TD-001"
    assert row["verify"] == ["pytest -q -rA tests/test_cart.py::test_sum"]
    assert row["labels"] == ["helix", "activity:build", "kind:build", "traceback"]
    assert row[TESTS] == ["tests/test_cart.py::test_sum"]
    assert "E  wrong" in row["description"] and row["verify"][0] in row["description"]
    assert ".ddx/executions/1/measure.json" in row["description"]
    assert judge(row).ready
    assert found.beads == ("app-1",)


def test_tests_without_a_tag_are_one_bead_on_their_file():
    (found,) = traced(failure("test_a", spec=""), failure("test_b", spec=""))
    row = found.as_row()
    assert row["title"] == "Missing spec ref: tests/test_cart.py"
    assert row["paths"] == ["tests/test_cart.py"]
    assert row[TESTS] == ["tests/test_cart.py::test_a", "tests/test_cart.py::test_b"]
    assert "spec-id" not in row
    assert judge(row).ready and "execution-eligible" not in row


def test_a_tag_that_means_no_document_is_missing_too():
    (found,) = traced(failure(ref=SpecRef("", ("TD-404",))))
    row = found.as_row()
    assert "names TD-404, and there is no such document" in row["description"]
    assert any("ddx doc show TD-404" in command for command in row["verify"])


@pytest.mark.parametrize("spec", ["TD-001", ""])
def test_no_word_of_a_report_becomes_a_criterion(spec: str):
    (found,) = traced(failure("`touch pwned` passes, `evil.py` exists", spec=spec))
    row = found.as_row()
    assert [it.command for it in judge(row).criteria] == row["verify"]
    assert not any("pwned" in word for word in shlex.split(row["verify"][0])[:-1])


def test_a_command_that_passes_while_the_test_fails_proves_no_repair():
    row = traced(failure(is_provable=False))[0].as_row()
    assert "verify" not in row and not judge(row).criteria
    assert row["execution-eligible"] is False
    assert "passes even while the test fails" in row["execution-skip-reason"]


def test_a_test_that_stands_nowhere_waits_for_a_person():
    lost = FailingTest(
        place(failed("x")), "make", Reproduction("make", is_exact=False), spec=SpecRef()
    )
    row = traced(lost)[0].as_row()
    assert row["title"] == "Missing spec ref: x"
    assert row["execution-eligible"] is False


def test_a_conflict_upstream_is_for_a_person_and_names_both_documents():
    (found,) = traced(failure("test_a", conflict=CLASH), failure("test_b", conflict=CLASH))
    row = found.as_row()
    assert row["title"] == "Spec conflict detected: TD-001 against FEAT-001"
    assert (row["spec-id"], row["refs"]) == ("TD-001", ["FEAT-001"])
    assert "kind:escalation" in row["labels"] and row["execution-eligible"] is False
    for text in ("docs/FEAT-001.md:9", "docs/TD-001.md:12", "under 50 ms", "at least 200 ms"):
        assert text in row["description"]
    assert len(row[TESTS]) == 2


TEST = "tests/test_cart.py::test_sum"
PASSED, SKIPPED = ReportedState.PASSED, ReportedState.SKIPPED


def known(bead_id: str = "app-9", *, kind: str = "unmet-spec", **given: Any) -> Bead:
    about = {"unmet-spec": TEST, "missing-spec-ref": "tests/test_cart.py"}
    key = f"{kind}:{about.get(kind, 'TD-001:FEAT-001')}"
    row = {"id": bead_id, "status": "open", KEY: key, TESTS: list(given.pop("tests", (TEST,)))}
    return Bead.of({**row, **given})


def plan(*traces: FailureBead, beads: tuple[Bead, ...], states: Any = None, gone: Any = ()) -> Any:
    return plan_filing(traces, beads, states=states or {}, gone=gone)


def test_the_same_failure_again_makes_no_second_bead():
    (found,) = traced(failure())
    again = plan(found, beads=(known(status="in_progress"),), states={TEST: ReportedState.FAILED})
    assert (again.new, again.again, again.closed) == ((), (("app-9", found),), ())


@pytest.mark.parametrize("bead", [known(status="closed"), known(**{"superseded-by": "app-8"})])
def test_a_failure_whose_bead_is_settled_is_a_new_one(bead: Bead):
    (found,) = traced(failure())
    assert plan(found, beads=(bead,)).new == (found,)


def test_a_failure_that_only_went_away_by_itself_opens_its_bead_again():
    (found,) = traced(failure())
    bead = known(status="closed", close_reason=f"{PASSES_AGAIN} at abc")
    assert plan(found, beads=(bead,)).reopened == (("app-9", found),)


def test_what_passes_again_is_closed_once_all_of_its_tests_do():
    bead = known(kind="missing-spec-ref", tests=(TEST, "other"))
    assert plan(beads=(bead,), states={TEST: PASSED}).closed == ()
    both = plan(beads=(bead,), states={TEST: PASSED, "other": PASSED})
    assert both.closed == (("app-9", PASSES_AGAIN),)


def test_a_test_that_is_gone_or_skipped_leaves_its_bead_and_is_told():
    gone = plan(beads=(known(),), gone=(TEST,))
    assert (gone.closed, gone.remarks) == ((), (f"{TEST} is no more; app-9 stays as it is",))
    skipped = plan(beads=(known(),), states={TEST: SKIPPED})
    assert (skipped.closed, len(skipped.remarks)) == ((), 1)


def test_a_test_that_was_not_measured_changes_nothing():
    assert plan(beads=(known(),)) == plan(beads=())


def test_a_tag_that_came_settles_the_bead_that_asked_for_it():
    (found,) = traced(failure())
    done = plan(found, beads=(known(kind="missing-spec-ref"),), states={TEST: ReportedState.FAILED})
    assert done.new == (found,)
    assert [bead_id for bead_id, _ in done.closed] == ["app-9"]


def test_nobody_builds_on_what_a_person_has_yet_to_decide():
    (found,) = traced(failure(conflict=CLASH))
    done = plan(found, beads=(known(),), states={TEST: ReportedState.FAILED})
    assert (done.new, done.closed) == ((found,), ())
    assert done.waits == (("app-9", found.key),)


def test_documents_that_agree_again_settle_the_escalation():
    (found,) = traced(failure())
    done = plan(found, beads=(known(kind="spec-conflict"),), states={TEST: ReportedState.FAILED})
    assert [bead_id for bead_id, _ in done.closed] == ["app-9"]


def test_a_thousand_failures_are_not_a_thousand_beads():
    many = traced(*(failure(f"test_{n}") for n in range(1000)))
    done = plan(*many, beads=())
    assert len(done.new) == MOST_NEW
    assert done.remarks == (
        f"{1000 - MOST_NEW} more beads were not filed: {MOST_NEW} at once are enough",
    )


def test_the_key_of_a_bead_is_kept_on_it():
    (found,) = traced(failure())
    assert found.as_row()[KEY] == known().text(KEY)
