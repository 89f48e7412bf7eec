"""When a program has had enough time, and why. Pure: it is told the time and what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.supervision.model import Bounds, Stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    Tree: TypeAlias = Mapping[tuple[int, str], float]
    """By process, a number and its start: the CPU seconds of it and of its ended children."""

_LOOKS = 5
"""How often we look at the processes within the idle limit."""
_BETWEEN_LOOKS_S = 5.0
"""At the longest."""
_BUSY = 0.1
"""Of one core: with less than that a program only ticks. A codex that hangs uses 4 % (measured)."""
_SHIM_S = 20.0
"""What the shim may need besides the pauses of the ladder; after that it hangs itself."""


class Patience:
    """When a program has had enough time, and why."""

    def __init__(self, bounds: Bounds, started_ns: int) -> None:
        self.reason: Stopped | None = None
        self.still_since_ns = started_ns
        """Since then: no output, no CPU time to speak of, no process come or gone."""
        self._bounds = bounds
        self._started_ns = started_ns
        self._reason_ns = 0
        self._result_ns: int | None = None
        self._seen: Tree | None = None
        self._seen_ns = started_ns

    def stirred(self, now_ns: int) -> None:
        self.still_since_ns = now_ns

    def wants_a_look(self, now_ns: int) -> bool:
        if not self._bounds.idle_s or self.reason:
            return False
        between_s = min(_BETWEEN_LOOKS_S, self._bounds.idle_s / _LOOKS)
        return _seconds(self._seen_ns, now_ns) >= between_s or self.is_worn_out(now_ns)

    def look(self, tree: Tree, now_ns: int) -> None:
        """Compare with the last look; the first one only says what there is."""
        if self._seen is not None:
            worked_s = sum(tree.values()) - sum(self._seen.values())
            is_busy = worked_s > 0 and worked_s >= _BUSY * _seconds(self._seen_ns, now_ns)
            if is_busy or tree.keys() != self._seen.keys():
                self.stirred(now_ns)
        self._seen, self._seen_ns = tree, now_ns

    def is_worn_out(self, now_ns: int) -> bool:
        """Has the program been still for too long?"""
        still_s = _seconds(self.still_since_ns, now_ns)
        return not self.reason and 0 < self._bounds.idle_s <= still_s

    def judge(self, now_ns: int, *, asked: int, word: Stopped | None) -> Stopped | None:
        """The reason to stop, if there is one; the first one stands."""
        if self.reason is None:
            self.reason = self._find_reason(now_ns, asked, word)
            self._reason_ns = now_ns
        return self.reason

    def has_waited_in_vain(self, now_ns: int) -> bool:
        """Is the ladder long over, and the shim does not answer?"""
        limit_s = 2 * self._bounds.grace_s + _SHIM_S
        return self.reason is not None and _seconds(self._reason_ns, now_ns) >= limit_s

    def _find_reason(self, now_ns: int, asked: int, word: Stopped | None) -> Stopped | None:
        if asked:
            return Stopped.INTERRUPTED
        if word is not Stopped.AFTER_RESULT:
            self._result_ns = None
            if word:
                return word
        elif self._result_ns is None:
            self._result_ns = now_ns
        elif _seconds(self._result_ns, now_ns) >= self._bounds.result_grace_s:
            return word
        if _seconds(self._started_ns, now_ns) >= self._bounds.wall_s:
            return Stopped.TIMED_OUT
        return Stopped.STALLED if self.is_worn_out(now_ns) else None


def _seconds(since_ns: int, now_ns: int) -> float:
    return (now_ns - since_ns) / 1e9
