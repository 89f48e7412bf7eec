"""Whoever reads a rule's number, in a test or a message, finds the rule in docs/spec."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPECIFICATION = ROOT / "docs/spec"
NUMBER = re.compile(r"\b([ACDGHIMOPRSTVX]-[1-9]\d?[a-z]?)\b")
DEFINED = re.compile(r"^- \*\*([A-Z]-\d+[a-z]?)\*\* (\S.*)$", re.MULTILINE)
CITING = ("tests", "src", "scripts", "benchmarks", "lib")


def rules() -> list[str]:
    pages = sorted(SPECIFICATION.glob("*.md"))
    return [rule for page in pages for rule, _ in DEFINED.findall(page.read_text("utf-8"))]


def cited(folder: str) -> dict[str, Path]:
    """Each number that is cited below a folder, and one file that does so."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        for number in NUMBER.findall(path.read_text("utf-8")):
            found.setdefault(number, path.relative_to(ROOT))
    return found


@pytest.mark.parametrize("folder", CITING)
def test_every_rule_that_code_or_a_test_cites_is_in_the_specification(folder):
    known = set(rules())
    unknown = {number: str(path) for number, path in cited(folder).items() if number not in known}
    assert not unknown


def test_the_tests_cite_most_of_the_rules():
    """Else the search above has gone blind."""
    assert len(cited("tests")) > len(rules()) * 3 / 4


def test_a_rule_stands_once():
    assert [rule for rule, times in Counter(rules()).items() if times > 1] == []


@pytest.mark.parametrize("page", sorted(SPECIFICATION.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_holds_the_rules_of_one_letter(page):
    letters = {rule[0] for rule, _ in DEFINED.findall(page.read_text("utf-8"))}
    assert len(letters) == (0 if page.name == "README.md" else 1)


@pytest.mark.parametrize("page", sorted(SPECIFICATION.glob("*.md")), ids=lambda page: page.stem)
def test_what_looks_like_a_rule_is_one(page):
    """A number in bold that the pattern above passes over would be a rule that nobody finds."""
    text = page.read_text("utf-8")
    assert text.count("- **") == len(DEFINED.findall(text))
