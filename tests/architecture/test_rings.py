"""Every test belongs to one ring, and the deep ring has a budget that CONTRIBUTING.md states."""

from __future__ import annotations

import re

import pytest
from tests.support.rings import DEEP, DIVISIBLE, Ring, place_of, share_of
from tests.support.tracker import ROOT

MOST_MINUTES = 25
MARK = "mark." + "deep"
BUDGET = re.compile(r"^\| `(tests/[\w/.]+)` \| .+ \| (\d+) \|$", re.MULTILINE)


def test_the_table_of_budgets_lists_every_deep_file_and_folder():
    budgets = BUDGET.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert [place for place, _ in budgets] == list(DEEP)
    minutes = [int(number) for _, number in budgets]
    assert sum(minutes) < MOST_MINUTES
    assert minutes == sorted(minutes, reverse=True)
    assert [place for place in DEEP if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    ("path", "ring"),
    [
        ("tests/unit/test_merge.py", Ring.UNIT),
        ("tests/architecture/test_rules.py", Ring.UNIT),
        ("tests/contract/test_help.py", Ring.QUICK),
        ("tests/integration/test_landing.py", Ring.QUICK),
        ("tests/integration/test_crash.py", Ring.DEEP),
        ("tests/acceptance/test_chain.py", Ring.DEEP),
        ("tests/simulation/test_simulation.py", Ring.DEEP),
        ("tests/e2e/test_scenarios.py", Ring.DEEP),
        ("tests/e2e_notes.py", Ring.QUICK),
    ],
)
def test_a_test_belongs_to_the_ring_of_its_file_or_folder(path, ring):
    assert place_of(path)[0] is ring


@pytest.mark.parametrize(
    ("test", "share"),
    [
        ("tests/unit/test_merge.py::test_a[x]", "tests/unit/test_merge.py"),
        (f"{DIVISIBLE[0]}::test_a[land]", f"{DIVISIBLE[0]}::[land]"),
        (f"{DIVISIBLE[0]}::test_b[land]", f"{DIVISIBLE[0]}::[land]"),
        (f"{DIVISIBLE[0]}::test_b[batch]", f"{DIVISIBLE[0]}::[batch]"),
        (f"{DIVISIBLE[1]}::test_c", f"{DIVISIBLE[1]}::test_c"),
    ],
)
def test_workers_share_long_files_by_parameter_and_take_others_whole(test, share):
    assert share_of(test) == share


def test_what_is_shared_by_parameter_is_there():
    assert [path for path in DIVISIBLE if not (ROOT / path).is_file()] == []


def test_no_test_is_marked_deep_by_hand():
    found = [path.name for path in ROOT.glob("tests/**/test_*.py") if MARK in path.read_text()]
    assert found == []
