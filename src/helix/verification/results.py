"""What commands leave of their tests: JUnit files, and TAP or pytest's words on stdout. Pure.

No input makes any of these fail: what cannot be read is said, what is no report is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.verification.junit import parse_junit
from helix.verification.model import Case, Report, State, Unreadable
from helix.verification.tap import parse_tap
from helix.verification.terminal import parse_pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Case", "Report", "State", "Unreadable", "parse_file", "parse_junit", "parse_output"]


def parse_output(text: str) -> Report | None:
    """The tests that a command printed; None if it printed none that we understand."""
    return parse_tap(text) or parse_pytest(text)


def parse_file(name: str, content: bytes) -> Report | Unreadable | None:
    """The tests of a file that a command wrote, by the ending of its name."""
    if name.lower().endswith(".tap"):
        found = parse_tap(content.decode("utf-8", "replace"))
        return found or Unreadable("it holds no TAP")
    return parse_junit(content)


def worst_first(states: Iterable[State]) -> State:
    """How a test ended that ran more than once: one failure is enough."""
    order = (State.ERROR, State.FAILED, State.PASSED, State.SKIPPED)
    return min(states, key=order.index)
