"""Every test belongs to one ring, and the deep ring has a budget that CONTRIBUTING.md states."""

from __future__ import annotations

import re

import pytest
from tests.support.rings import DEEP, Ring, place_of
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


def test_no_test_is_marked_deep_by_hand():
    found = [path.name for path in ROOT.glob("tests/**/test_*.py") if MARK in path.read_text()]
    assert found == []
