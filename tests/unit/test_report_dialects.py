"""The JUnit files that runners really write: every test found in its file, under one name (V-1)."""

from __future__ import annotations

import pytest

from ddx.base.values import value
from helix.verification.located_tests import ProjectFiles, locate
from helix.verification.reported_tests import SuiteReport, parse_junit
from helix.verification.rerun_command import reproduce

GO_FILES = {"cart/cart_test.go": "func TestAdds(t *testing.T) {\nfunc TestTotals(t *testing.T) {"}


@value
class Dialect:
    """A file as its runner writes it, the check, the tree, and what is to be read from it."""

    xml: str
    command: str
    files: tuple[str, ...]
    found: tuple[tuple[str, str], ...]
    """State and name of each test."""
    again: str = ""
    """How the first failing one is run alone; empty: nobody knows."""
    file: str = ""
    """Where the first failing one stands, if its name does not say so."""


SUREFIRE = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation=
 "https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report-3.0.xsd"
 version="3.0" name="com.acme.CartTest" time="0.1" tests="6" errors="1" skipped="1" failures="2">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="totals(int)[1]" classname="com.acme.CartTest" time="0.266"/>
  <testcase name="totals(int)[2]" classname="com.acme.CartTest" time="0.146">
    <failure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="org.opentest4j.Failed">
<![CDATA[org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
	at com.acme.CartTest.totals(CartTest.java:9)]]></failure></testcase>
  <testcase name="later" classname="com.acme.CartTest"><skipped message="later"/></testcase>
  <testcase name="flaky" classname="com.acme.CartTest"><flakyFailure message="x" type="T">
    <stackTrace>once</stackTrace></flakyFailure></testcase>
  <testcase name="again" classname="com.acme.CartTest"><failure message="first" type="T">one
    </failure><rerunFailure message="second" type="T"><stackTrace>two</stackTrace></rerunFailure>
  </testcase>
  <testcase name="boom" classname="com.acme.CartTest$Inner"><error
    type="java.lang.IllegalStateException">java.lang.IllegalStateException: no</error></testcase>
</testsuite>""",
    "mvn -q test",
    ("src/test/java/com/acme/CartTest.java",),
    found=(
        ("passed", "src/test/java/com/acme/CartTest.java::totals(int)[1]"),
        ("failed", "src/test/java/com/acme/CartTest.java::totals(int)[2]"),
        ("skipped", "src/test/java/com/acme/CartTest.java::later"),
        ("passed", "src/test/java/com/acme/CartTest.java::flaky"),
        ("failed", "src/test/java/com/acme/CartTest.java::again"),
        ("error", "src/test/java/com/acme/CartTest.java::Inner::boom"),
    ),
    again="mvn -q test '-Dtest=com.acme.CartTest#totals'",
)
GRADLE = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="com.acme.CartTest" tests="2" skipped="0" failures="1" errors="0" time="0.05">
  <properties/>
  <testcase name="adds()" classname="com.acme.CartTest" time="0.02"/>
  <testcase name="sells()" classname="com.acme.CartTest$Inner" time="0.02">
    <failure message="no" type="b">at com.acme.CartTest.sells(CartTest.kt:4)</failure></testcase>
  <system-out><![CDATA[]]></system-out>
  <system-err><![CDATA[]]></system-err>
</testsuite>""",
    "./gradlew test --no-daemon",
    ("src/test/kotlin/com/acme/CartTest.kt",),
    found=(
        ("passed", "src/test/kotlin/com/acme/CartTest.kt::adds()"),
        ("failed", "src/test/kotlin/com/acme/CartTest.kt::Inner::sells()"),
    ),
    again="./gradlew test --no-daemon --tests 'com.acme.CartTest$Inner.sells'",
)
GOTESTSUM = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="2" errors="0" time="0.5">
 <testsuite tests="2" failures="1" time="0.001000" name="example.com/shop/cart">
  <properties><property name="go.version" value="go1.22 linux/amd64"></property></properties>
  <testcase classname="example.com/shop/cart" name="TestAdds" time="0.000000"></testcase>
  <testcase classname="example.com/shop/cart" name="TestTotals/with_tax" time="0.000000">
   <failure message="Failed" type="">=== RUN   TestTotals/with_tax&#xA;cart_test.go:14: 3</failure>
  </testcase></testsuite>
 <testsuite tests="0" failures="0" errors="1" name="example.com/shop/pay"><testcase classname=""
  name="TestMain"><failure message="Failed" type="">pay/pay.go:3:2: undefined: x</failure>
 </testcase></testsuite>
</testsuites>""",
    "CGO_ENABLED=0 gotestsum --junitfile out.xml -- -tags=slow ./...",
    ("cart/cart_test.go", "pay/pay_test.go"),
    found=(
        ("passed", "cart/cart_test.go::TestAdds"),
        ("failed", "cart/cart_test.go::TestTotals/with_tax"),
        ("failed", "example.com/shop/pay::TestMain"),
    ),
    again="CGO_ENABLED=0 go test -tags=slow ./cart -run '^TestTotals$/^with_tax$'",
)
JEST = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.2">
  <testsuite name="cart" errors="0" failures="1" skipped="0" time="0.8" tests="2">
    <testcase classname="cart adds up" name="cart adds up" time="0.002"></testcase>
    <testcase classname="cart totals" name="cart totals" time="0.004">
      <failure>Error: expect(received).toBe(expected) // Object.is equality
    at Object.toBe (/repo/src/cart.test.js:7:15)
    at run (/repo/node_modules/jest-circus/run.js:1:1)</failure>
    </testcase>
  </testsuite>
</testsuites>""",
    "npx jest --ci",
    ("src/cart.test.js", "src/cart.js"),
    found=(("passed", "cart adds up::cart adds up"), ("failed", "cart totals::cart totals")),
    file="src/cart.test.js",
)
VITEST = Dialect(
    """<testsuites name="vitest tests" tests="2" failures="1" errors="0" time="0.4">
    <testsuite name="src/cart.test.ts" tests="2" failures="1" errors="0" skipped="0" time="0.003">
        <testcase classname="src/cart.test.ts" name="cart &gt; adds" time="0.001"></testcase>
        <testcase classname="src/cart.test.ts" name="cart &gt; totals"><failure
        message="expected 3 to be 4" type="AssertionError">AssertionError</failure></testcase>
    </testsuite>
</testsuites>""",
    "npx vitest run",
    ("src/cart.test.ts",),
    found=(
        ("passed", "src/cart.test.ts::cart > adds"),
        ("failed", "src/cart.test.ts::cart > totals"),
    ),
)
PHPUNIT = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="/repo/phpunit.xml" tests="2"><testsuite name="unit" tests="2">
  <testsuite name="App\\Tests\\CartTest" file="/repo/tests/CartTest.php" tests="2">
   <testcase name="testAdds" file="/repo/tests/CartTest.php" line="10"
    class="App\\Tests\\CartTest" classname="App.Tests.CartTest" assertions="1" time="0.001"/>
   <testsuite name="App\\Tests\\CartTest::testTotals" tests="1">
    <testcase name="testTotals with data set #0" file="/repo/tests/CartTest.php" line="18"
     classname="App.Tests.CartTest"><failure type="PHPUnit\\Framework\\ExpectationFailedException"
     >Failed asserting that 3 matches expected 4.</failure></testcase>
   </testsuite></testsuite></testsuite></testsuite></testsuites>""",
    "vendor/bin/phpunit --log-junit out.xml",
    ("tests/CartTest.php",),
    found=(
        ("passed", "tests/CartTest.php::App.Tests.CartTest::testAdds"),
        ("failed", "tests/CartTest.php::App.Tests.CartTest::testTotals with data set #0"),
    ),
)
PYTEST = Dialect(
    """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite
name="pytest" errors="1" failures="1" skipped="1" tests="3" time="0.1"><testcase
classname="tests.test_cart.TestCart" name="test_totals[1-2]"><failure message="assert 3 == 4">x
</failure></testcase><testcase classname="" name="tests.test_broken"><error
message="collection failure">ImportError</error></testcase><testcase classname="tests.test_cart"
name="test_later"><skipped type="pytest.xfail" message="soon"/></testcase></testsuite>
</testsuites>""",
    "pytest -q --junitxml=out.xml",
    ("tests/test_cart.py", "tests/test_broken.py"),
    found=(
        ("failed", "tests/test_cart.py::TestCart::test_totals[1-2]"),
        ("error", "tests/test_broken.py"),
        ("skipped", "tests/test_cart.py::test_later"),
    ),
    again="pytest -q -rA 'tests/test_cart.py::TestCart::test_totals[1-2]'",
)
RSPEC = Dialect(
    """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="rspec" tests="1" failures="1" errors="0"><testcase classname="spec.cart_spec"
name="Cart totals" file="./spec/cart_spec.rb"><failure message="expected 4"
type="RSpec::Expectations::ExpectationNotMetError">x</failure></testcase></testsuite>""",
    "bundle exec rspec",
    ("spec/cart_spec.rb",),
    found=(("failed", "spec/cart_spec.rb::Cart totals"),),
)
DOTNET = Dialect(
    """<testsuites><testsuite name="Shop.Tests.dll" tests="1" failures="1" errors="0">
<testcase classname="Shop.Tests.CartTests" name="Totals(a: 1, b: 2)"><failure type="failure"
message="Assert.Equal() Failure">at</failure></testcase><system-out/></testsuite></testsuites>""",
    "dotnet test",
    ("Shop.Tests/CartTests.cs",),
    found=(("failed", "Shop.Tests/CartTests.cs::Totals(a: 1, b: 2)"),),
)
GOOGLETEST = Dialect(
    """<testsuites tests="2" failures="1" disabled="1" name="AllTests"><testsuite name="Cart">
<testcase name="Totals" file="/repo/tests/cart_test.cc" line="9" status="run" result="completed"
 classname="Cart"><failure message="Expected" type=""><![CDATA[x]]></failure></testcase>
<testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="Cart"/>
</testsuite></testsuites>""",
    "./build/tests --gtest_output=xml:out.xml",
    ("tests/cart_test.cc",),
    found=(("failed", "tests/cart_test.cc::Cart::Totals"), ("skipped", "Cart::DISABLED_Off")),
)
DIALECTS = {
    "surefire": SUREFIRE,
    "gradle": GRADLE,
    "gotestsum": GOTESTSUM,
    "jest-junit": JEST,
    "vitest": VITEST,
    "phpunit": PHPUNIT,
    "pytest": PYTEST,
    "rspec": RSPEC,
    "dotnet": DOTNET,
    "googletest": GOOGLETEST,
}


@pytest.mark.parametrize("name", DIALECTS)
def test_every_test_of_a_dialect_is_found_under_its_name(name: str):
    dialect = DIALECTS[name]
    report = parse_junit(dialect.xml.encode())
    assert isinstance(report, SuiteReport) and report.problems == ()
    tree = ProjectFiles(dialect.files, root="/repo")
    located = [
        locate(test, tree, command=dialect.command, read=lambda path: GO_FILES.get(path, ""))
        for test in report.tests
    ]
    assert [(str(it.test.state), it.id) for it in located] == list(dialect.found)
    first = next(it for it in located if it.test.is_failure)
    assert first.file == (dialect.file or first.id.partition("::")[0])
    assert first.test.message and first.test.output
    again = reproduce(dialect.command, first)
    assert (again.command if again.is_exact else "") == dialect.again


@pytest.mark.parametrize("kind", ["error", "failure"])
def test_a_suite_that_broke_is_a_problem_even_if_it_names_no_test(kind: str):
    xml = (
        f"<testsuites><testsuite name='pay'><{kind} message='no driver'/></testsuite></testsuites>"
    )
    report = parse_junit(xml.encode())
    assert isinstance(report, SuiteReport)
    assert (report.tests, report.problems) == ((), ("the suite pay broke: no driver",))


def test_a_thousand_broken_suites_are_a_few_problems():
    suites = "<testsuite name='x'><error/></testsuite>" * 1000
    report = parse_junit(f"<testsuites>{suites}</testsuites>".encode())
    assert isinstance(report, SuiteReport) and len(report.problems) == 20


def test_words_of_a_failure_come_before_its_type():
    case = b"<testcase name='x'><error type='E'>\nno room\nat a</error></testcase>"
    report = parse_junit(b"<testsuite>" + case + b"</testsuite>")
    assert isinstance(report, SuiteReport)
    assert report.tests[0].message == "no room"


def test_where_a_failure_names_two_files_of_tests_neither_is_meant():
    output = "at (src/a.test.js:1:1)\nat (src/b.test.js:2:2)"
    xml = f"<testsuite><testcase name='x'><failure>{output}</failure></testcase></testsuite>"
    report = parse_junit(xml.encode())
    assert isinstance(report, SuiteReport)
    tree = ProjectFiles(["src/a.test.js", "src/b.test.js"])
    assert locate(report.tests[0], tree, command="npx jest", read=lambda path: "").file == ""
