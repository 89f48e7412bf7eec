"""Which words prove a bead done, and which prove nothing (T-17)."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.tracker.criteria import (
    HAS_CRITERION,
    IS_VAGUE,
    Criterion,
    CriterionProblem,
    FileContains,
    PathAbsent,
    PathExists,
    RunCommand,
    criteria_of,
    judge,
    marks,
)

HERE = "acceptance line 1"


def vague_lines(row: dict[str, Any]) -> tuple[CriterionProblem, ...]:
    return tuple(problem for problem in judge(row).problems if problem.line)


def passes(command: str) -> RunCommand:
    return RunCommand(command, HERE)


def prints(command: str, text: str) -> RunCommand:
    return RunCommand(command, HERE, text)


def there(path: str) -> PathExists:
    return PathExists(path, HERE)


def gone(path: str) -> PathAbsent:
    return PathAbsent(path, HERE)


def holds(path: str, text: str) -> FileContains:
    return FileContains(path, text, HERE)


COMMANDS: list[tuple[str, list[Criterion]]] = [
    ("`pytest -q` passes", [passes("pytest -q")]),
    ("`pytest -q` passes.", [passes("pytest -q")]),
    ("`pytest -q` succeeds", [passes("pytest -q")]),
    ("`pytest -q` exits 0", [passes("pytest -q")]),
    ("`pytest -q` exits with 0", [passes("pytest -q")]),
    ("`pytest -q` exits with status 0", [passes("pytest -q")]),
    ("`pytest -q` exits with exit code 0", [passes("pytest -q")]),
    ("`pytest -q`: exit code 0", [passes("pytest -q")]),
    ("`pytest -q` → exit code 0", [passes("pytest -q")]),
    ("`pytest -q` returns 0", [passes("pytest -q")]),
    ("`ruff check` runs clean", [passes("ruff check")]),
    ("`ruff check` is clean", [passes("ruff check")]),
    ("`make ci` is still green", [passes("make ci")]),
    ("`make ci` must pass", [passes("make ci")]),
    ("The `make ci` command now passes", [passes("make ci")]),
    ("**`make ci`** passes", [passes("make ci")]),
    ("(`make ci` passes)", [passes("make ci")]),
    ("``make ci`` passes", [passes("make ci")]),
    ("`$ make ci` passes", [passes("make ci")]),
    ("running `pytest -q` exits 0", [passes("pytest -q")]),
    ("All tests in `pytest -q tests/unit` pass", [passes("pytest -q tests/unit")]),
    ("Done when `pytest -q` passes", [passes("pytest -q")]),
    ("Queue draining works and `pytest -q` passes", [passes("pytest -q")]),
    ("`bash tests/run.sh` passes", [passes("bash tests/run.sh")]),
    ("`tests/run.sh` passes", [passes("tests/run.sh")]),
    ("`a` and `b` pass", [passes("a"), passes("b")]),
    ("`a`, `b`, and `c` all pass", [passes("a"), passes("b"), passes("c")]),
    ("`a` passes and `b` passes", [passes("a"), passes("b")]),
    ("`a` passes, `b` exits 0; `c` is green", [passes("a"), passes("b"), passes("c")]),
    ("Add `retry` and `make ci` passes", [passes("make ci")]),  # a verb for one
    ("- [ ] `make ci` passes", [passes("make ci")]),
    ("* [x] `make ci` passes", [passes("make ci")]),
    ("12) `make ci` passes", [passes("make ci")]),
    ("(a) `make ci` passes", [passes("make ci")]),
    ("Run `make test`", []),  # it does not say that it passes
    ("`make test`", []),
    ("make test passes", []),  # a command stands in back-quotes
    ('"make test" passes', []),
    ("`make test` fails", []),
    ("`make test` does not pass", []),
    ("`make test` doesn't pass", []),
    ("`make test` never passes", []),
    ("`make test` no longer passes", []),
    ("`make test` exits 1", []),
    ("`make test` does not exit 0", []),
    ("`make test` exits non-zero", []),
    ("`build` passes `--fast` to the runner", []),  # passes what?
    ("`build` passes the flag on", []),
    ("`a` or `b` passes", []),
    ("If `make test` passes, tag the commit", []),
    ("Wait until `make test` passes", []),
    ("Change `parse`. Pass the row along", []),  # another sentence
    ("`docs/plan.md` passes review", []),  # nobody can run a document
    ("`make test passes", []),  # an open back-quote
]

OUTPUTS: list[tuple[str, list[Criterion]]] = [
    ("`ddx --version` prints `0.1`", [prints("ddx --version", "0.1")]),
    ('`ddx --version` prints "ddx 0.1"', [prints("ddx --version", "ddx 0.1")]),
    ("`ddx --version` outputs “ddx 0.1”", [prints("ddx --version", "ddx 0.1")]),
    ("`ddx --help` shows the word `bead`", [prints("ddx --help", "bead")]),
    ("`pytest -q` reports 3 passed", [prints("pytest -q", "3 passed")]),
    ("`hello` prints Hello World, then stops", [prints("hello", "Hello World")]),
    ("`hello` prints usage when asked", [prints("hello", "usage")]),
    ("`ddx --version` prints", [prints("ddx --version", "")]),
    ("`ddx --version` prints something", [prints("ddx --version", "")]),
    ("`ddx --version` prints the version", [prints("ddx --version", "")]),  # only described
    ("`x` prints `a` and `b`", [prints("x", "a"), prints("x", "b")]),
    ("`x` prints `a` and `y` passes", [prints("x", "a"), passes("y")]),
    ("`x` exits 0 and prints `ok`", [passes("x"), prints("x", "ok")]),
    ("`x` prints `ok` and exits 0", [prints("x", "ok"), passes("x")]),
    ("`git status --short` prints nothing", []),
    ("`x` does not print `secret`", []),
    ("`x` prints no warnings", []),
    ("`x` prints `a` or `b`", []),
    ("`x` output is stable", []),
]

STATES: list[tuple[str, list[Criterion]]] = [
    ("`docs/plan.md` exists", [there("docs/plan.md")]),
    ("docs/plan.md exists", [there("docs/plan.md")]),
    ("The file docs/plan.md exists.", [there("docs/plan.md")]),
    ("`src/new/` is present", [there("src/new/")]),
    ("CHANGELOG.md is created", [there("CHANGELOG.md")]),
    ("`Makefile` must exist", [there("Makefile")]),
    ("`.gitignore` exists", [there(".gitignore")]),
    (
        "docs/a.md, docs/b.md and `c.py` exist",
        [there("docs/a.md"), there("docs/b.md"), there("c.py")],
    ),
    ("`src/old.py` does not exist", [gone("src/old.py")]),
    ("`src/old.py` doesn’t exist", [gone("src/old.py")]),
    ("`src/old.py` no longer exists", [gone("src/old.py")]),
    ("`src/old.py` is not present", [gone("src/old.py")]),
    ("`src/old.py` is absent", [gone("src/old.py")]),
    ("src/old.py has been removed", [gone("src/old.py")]),
    ("`src/a.py` and `src/b.py` are gone", [gone("src/a.py"), gone("src/b.py")]),
    ("README.md contains `pip install`", [holds("README.md", "pip install")]),
    ('docs/x.md includes "Getting started"', [holds("docs/x.md", "Getting started")]),
    ("File docs/x.md contains `foo`", [holds("docs/x.md", "foo")]),
    ("docs/x.md mentions `a`, `b` and `c`", [holds("docs/x.md", it) for it in "abc"]),
    ("docs/x.md contains a link to docs/y.md", [holds("docs/x.md", "docs/y.md")]),
    ("docs/x.md names retries", [holds("docs/x.md", "retries")]),
    ("docs/x.md exists and contains `foo`", [there("docs/x.md"), holds("docs/x.md", "foo")]),
    ("docs/x.md contains a section on limits", []),  # described, not quoted
    ("docs/x.md does not contain `foo`", []),
    ("docs/x.md contains no `foo`", []),
    ("`docs/` contains `x.md`", []),  # a folder holds no text
    ("`src/old.py` is not removed", []),
    ("No docs/x.md exists", []),
    ("Answer 404 when `data/x.json` does not exist", []),
    ("`x.md` exists in `docs/`", []),  # another path than the one named
    ("`old_flag` is removed", []),  # as a path it was never there: nothing would be proved
    ("`Settings` exists", []),
    ("`config.timeout` is gone", []),
    ("`docs/*.md` exists", []),
    ("`docs/<id>.md` exists", []),
    ("https://example.org/x.md exists", []),
    ("src/x.py:12 exists", []),
    ("`ls docs/x.md` exists", []),  # a command is no path
]

SEED_5C: list[tuple[str, list[Criterion]]] = [
    (
        "`bash tests/helix-cli.sh` passes and `git diff --check` passes",
        [passes("bash tests/helix-cli.sh"), passes("git diff --check")],
    ),
    (
        "`docs/helix/CONTRACT-001.md` names `ddx agent execute-loop` as the queue-drain primitive",
        [holds("docs/helix/CONTRACT-001.md", "ddx agent execute-loop")],
    ),
]


@pytest.mark.parametrize(("line", "expected"), COMMANDS + OUTPUTS + STATES + SEED_5C)
def test_a_line_gives_exactly_the_checks_it_claims(line: str, expected: list[Criterion]) -> None:
    assert criteria_of({"acceptance": line}) == tuple(expected)


@pytest.mark.parametrize(
    "line",
    [
        "Queue draining works",  # seed Decision 5c
        "The docs are aligned",  # seed Decision 5c
        "1. Queue draining works.",
        "- [ ] (b) The parser is correct",
        "Everything is done, and properly",
        "The loop behaves as expected!",
        "It *works*",
        "The migration is complete",
        'The board says "good"',
    ],
)
def test_a_line_of_vague_words_alone_is_a_problem(line: str) -> None:
    row = {"acceptance": f"`make ci` passes\n{line}"}
    (problem,) = vague_lines(row)
    assert problem.line == 2
    assert problem.text in line
    assert "`pytest -q` passes" in problem.fix
    assert not judge(row).ready


@pytest.mark.parametrize(
    "line",
    [
        "The reader finds the first command on the first screen",  # prose without vague words
        "The loop works for 1,000 beads",  # a digit
        "`ddx bead ready` works",  # a quoted text
        "The example in docs/plan.md works",  # a path
        "The network framework is defined",  # work and fine inside other words
        "## Done",
        "**Definition of done:**",
        "",
        "- ",
    ],
)
def test_prose_beside_a_check_is_allowed(line: str) -> None:
    assert judge({"acceptance": f"`make ci` passes\n{line}"}).ready


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../other/x.md", "docs/../../x.md", "~/x.md", "`/etc/passwd`"]
)
@pytest.mark.parametrize("claim", ["exists", "is removed", "contains `x`"])
def test_a_path_outside_the_repository_is_a_problem_and_no_check(path: str, claim: str) -> None:
    verdict = judge({"acceptance": f"docs/x.md exists\n{path} {claim}"})
    assert verdict.criteria == (there("docs/x.md"),)
    (problem,) = verdict.problems
    assert problem.line == 2
    assert path.strip("`") in problem.why


def test_a_bead_without_any_check_is_told_what_to_type() -> None:
    (problem,) = judge({"id": "app-1a2b", "acceptance": "The reader is glad"}).problems
    assert problem.line == 0
    assert "ddx bead update app-1a2b --verify 'pytest -q'" in problem.fix


def test_an_id_that_a_shell_would_obey_is_never_part_of_the_advice() -> None:  # T-23
    (problem,) = judge({"id": "x; rm -rf ."}).problems
    assert "rm" not in problem.fix


def test_default_checks_count_and_are_named_as_such() -> None:
    verdict = judge({}, default_checks=("make ci",))
    assert verdict.ready
    assert verdict.criteria == (RunCommand("make ci", "checks.default"),)


def test_verify_commands_come_first_and_broken_entries_are_passed_over() -> None:  # T-5
    row = {"verify": [" make ci ", 7, None, ""], "acceptance": "`a` passes"}
    assert criteria_of(row) == (RunCommand("make ci", "verify"), passes("a"))
    assert criteria_of({"verify": "make ci"}) == (RunCommand("make ci", "verify"),)


def test_a_check_names_the_line_it_comes_from() -> None:
    found = criteria_of({"acceptance": "Intro.\n\n- `a` passes\r\n- `b` passes\n"})
    assert [it.source for it in found] == ["acceptance line 3", "acceptance line 4"]


def test_a_wrapped_line_is_read_as_one() -> None:
    row = {"acceptance": "- `make ci`\n  passes and everything\n  works\n- Queue draining works"}
    assert criteria_of(row) == (passes("make ci"),)
    assert [problem.line for problem in vague_lines(row)] == [4]


@pytest.mark.parametrize("fence", ["```", "```sh", "~~~"])
def test_a_fenced_block_is_an_example_and_no_check(fence: str) -> None:
    row = {"acceptance": f"{fence}\n`a` passes\nit works\n{fence[:3]}\n`b` passes"}
    assert criteria_of(row) == (RunCommand("b", "acceptance line 5"),)
    assert vague_lines(row) == ()


def test_a_long_line_is_cut_in_its_problem() -> None:  # T-23
    (problem,) = vague_lines({"acceptance": "it works " * 10_000})
    assert isinstance(problem, CriterionProblem)
    assert len(problem.text) <= 200


VOCABULARY = """`make ci` `docs/x.md` docs/x.md /etc/x ../x `a `` ``` ~~~ " “ passes pass exits 0
prints exists is removed contains not n't no longer and , . ; or if works done 7 - 1. [ ]"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\n", "\n\n", "\t"])
LINES = st.lists(WORDS, max_size=30).map(" ".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | LINES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries({}, optional={"id": JSON, "verify": JSON, "acceptance": JSON | LINES})
CHECKS = st.lists(st.text(), max_size=2).map(tuple)


@given(ROWS, CHECKS)
def test_the_bits_of_the_index_agree_with_the_verdict(
    row: dict[str, Any], checks: tuple[str, ...]
) -> None:
    bits = marks(row)
    verdict = judge(row, default_checks=checks)
    assert verdict.ready == bool((bits & HAS_CRITERION or checks) and not bits & IS_VAGUE)
    assert bool(bits & HAS_CRITERION) == bool(criteria_of(row))
    assert bool(bits & IS_VAGUE) == bool(vague_lines(row))


@given(ROWS, st.text(min_size=1).filter(str.strip))
def test_a_verify_command_never_makes_a_clear_bead_unready(
    row: dict[str, Any], command: str
) -> None:
    if not vague_lines(row):
        assert judge({**row, "verify": [command]}).ready


@given(ROWS)
def test_reading_a_row_never_changes_it(row: dict[str, Any]) -> None:
    before = repr(row)
    judge(row)
    assert repr(row) == before


@given(LINES)
def test_every_path_to_check_lies_below_the_root(text: str) -> None:
    for it in criteria_of({"acceptance": text}):
        if not isinstance(it, RunCommand):
            assert not it.path.startswith(("/", "~"))
            assert ".." not in it.path.split("/")


@pytest.mark.parametrize(
    "unit",
    ["`", "`a` , ", "`` ` ", "- ", "a/b and ", "a/b contains ", "`a` prints `b` and ", "does ",
     "`a/b` and `c/d` exist and exist ", "/x exists ", "the `x` passes ", "x", " \n", "[ ] "],
)  # fmt: skip
def test_a_hostile_acceptance_costs_work_in_proportion_to_its_length(unit: str) -> None:
    def calls(length: int) -> int:
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            marks({"acceptance": (unit * length)[:length]})
        finally:
            sys.setprofile(None)
        return count

    assert calls(50_000) <= 12 * max(calls(5_000), 100)  # quadratic would be 100 times


def test_many_subjects_with_many_texts_do_not_multiply() -> None:
    row = {"acceptance": "`a/b`, " * 2_000 + "`a/b` contain " + "`x`, " * 2_000}
    assert len(criteria_of(row)) <= 2_001 * 20
