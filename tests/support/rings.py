"""The rings of tests: which one a test belongs to, and so in which order the whole suite runs.

unit: `tests/unit` and `tests/architecture`. quick: those, `tests/contract` and `tests/integration`
without what is deep. deep: `DEEP`. CONTRIBUTING.md gives each deep place a budget of minutes.
"""

from __future__ import annotations

from enum import IntEnum

DEEP = (
    "tests/acceptance",
    "tests/integration/test_attempt_crash.py",
    "tests/e2e",
    "tests/simulation",
    "tests/integration/test_crash.py",
    "tests/integration/test_memory_deaths.py",
    "tests/integration/test_concurrency.py",
    "tests/integration/test_memory_processes.py",
)
"""Files and folders, the longest first: with two workers none is left alone at the end."""

UNIT = ("tests/unit", "tests/architecture")

DIVISIBLE = ("tests/integration/test_attempt_crash.py", "tests/simulation/test_simulation.py")
"""Minutes of work in one file; tests of one parameter stay together, for what they share."""


class Ring(IntEnum):
    """In the order in which they run."""

    UNIT = 0
    QUICK = 1
    DEEP = 2


def place_of(path: str) -> tuple[Ring, int]:
    """The ring of a test file, given from the root of the repository, and its turn within it."""
    for turn, place in enumerate(DEEP):
        if _within(path, place):
            return Ring.DEEP, turn
    return (Ring.UNIT if any(_within(path, place) for place in UNIT) else Ring.QUICK), 0


def share_of(test: str) -> str:
    """What one worker does as a whole: the test's file, or in a long one all of its parameter."""
    path, _, name = test.partition("::")
    if path not in DIVISIBLE:
        return path
    _, bracket, parameter = name.partition("[")
    return f"{path}::{bracket}{parameter}" if bracket else test


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
