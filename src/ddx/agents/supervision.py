"""Running an agent or a check to its end: limits, the stop ladder, and no process left (X-6).

The program runs below a shim (`ddx.agents.shim`) that reaps, stops and reports. Left to do here:
hand on the output as it comes, and know when the program has had enough time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from ddx.agents.harness import StopCause
from ddx.base import player, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.agents.process_tree import Tree
    from ddx.base import Clock, ProcessResult

_LOOKS = 5
"""How often we look at the processes within the idle limit."""
_BETWEEN_LOOKS_S = 5.0
"""At the longest."""
_BUSY = 0.1
"""Of one core: with less than that a program only ticks. A codex that hangs uses 4 % (measured)."""
_SHIM_S = 20.0
"""What the shim may need besides the pauses of the ladder; after that it hangs itself."""


@value
class Bounds:
    """How long one program may take; without `idle_s` it may be silent and still."""

    wall_s: float
    idle_s: float = 0.0
    grace_s: float = 5.0
    """The longest pause between the rungs of the stop ladder."""
    result_grace_s: float = 10.0
    """How long it may stay after its last word."""


class Watch(Protocol):
    """Whoever wants the output. What it raises ends the program, and then goes on to our caller."""

    def output(self, chunk: bytes) -> None:
        """Some bytes of stdout, as they came."""

    def errors(self, chunk: bytes) -> None:
        """Some bytes of stderr."""

    def verdict(self) -> StopCause | None:
        """None: go on. AFTER_RESULT: it should go by itself soon. Any other: stop it now."""


class StopRequest:
    """A person's wish to stop, shared by all threads of a run; a signal handler may ask, too."""

    def __init__(self) -> None:
        self._asks: list[None] = []

    def ask(self) -> None:
        """Once: stop by the ladder. Again: kill at once."""
        self._asks.append(None)  # one step for the interpreter: no lock that a handler could meet

    @property
    def asked(self) -> int:
        return len(self._asks)


@value
class SupervisedExit:
    """How a program ended; a negative code is a signal's number."""

    code: int
    stopped: StopCause
    seconds: float
    had_output: bool
    strays: int
    """Descendants that had to be ended after the program itself had gone."""


def supervise(
    command: str | Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    bounds: Bounds,
    watch: Watch,
    clock: Clock,
    stdin: bytes | None = None,
    stop: StopRequest | None = None,
    changed_since: Callable[[int], bool] | None = None,
) -> SupervisedExit:
    """Run a command, a text by `sh`, until it and all that descends from it have ended.

    `changed_since` says whether a file was changed after an instant: that is activity, too.
    """
    argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
    if programs := player():
        play = partial(programs.stream, argv, cwd=cwd, env=env, stdin=stdin or b"")
        return _played(play, bounds=bounds, watch=watch, clock=clock, stop=stop)
    from ddx.agents.process_tree import read_tree
    from ddx.agents.shim_client import started

    started_ns = clock.now_ns()
    patience = TimeLimits(bounds, started_ns)
    had_output = False
    with started(argv, cwd, env, bounds.grace_s, stdin) as below:
        below.connect(watch, stdin)
        while below.is_up:
            came = below.hand_on()
            had_output |= came
            now_ns = clock.now_ns()
            if came:
                patience.stirred(now_ns)
            if patience.wants_a_look(now_ns):
                patience.look(read_tree(below.pid), now_ns)
            is_worn_out = patience.is_worn_out(now_ns)
            if is_worn_out and changed_since and changed_since(patience.still_since_ns):
                patience.stirred(now_ns)
            asked = stop.asked if stop else 0
            if patience.judge(now_ns, asked=asked, word=watch.verdict()):
                below.ask_to_stop(at_once=asked > 1)
            if patience.has_waited_in_vain(now_ns):
                below.kill()
        had_output |= below.hand_on_the_rest()
        ended = below.ending()
    stopped = (
        (patience.reason or StopCause.INTERRUPTED) if ended.was_stopped else StopCause.BY_ITSELF
    )
    seconds = (clock.now_ns() - started_ns) / 1e9
    return SupervisedExit(ended.code, stopped, seconds, had_output=had_output, strays=ended.strays)


def _played(
    play: Callable[..., ProcessResult],
    *,
    bounds: Bounds,
    watch: Watch,
    clock: Clock,
    stop: StopRequest | None,
) -> SupervisedExit:
    """As if it had run: judged once, at its end, by the same patience."""
    heard: list[int] = []

    def hear(chunk: bytes) -> None:
        heard.append(len(chunk))
        watch.output(chunk)

    patience = TimeLimits(bounds, started_ns := clock.now_ns())
    ended = play(stdout=hear, stderr=watch.errors)
    now_ns = clock.now_ns()
    reason = patience.judge(now_ns, asked=stop.asked if stop else 0, word=watch.verdict())
    stopped = reason or StopCause.BY_ITSELF
    return SupervisedExit(
        ended.code, stopped, (now_ns - started_ns) / 1e9, had_output=any(heard), strays=0
    )


class TimeLimits:
    """When a program has had enough time, and why."""

    def __init__(self, bounds: Bounds, started_ns: int) -> None:
        self.reason: StopCause | None = None
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

    def judge(self, now_ns: int, *, asked: int, word: StopCause | None) -> StopCause | None:
        """The reason to stop, if there is one; the first one stands."""
        if self.reason is None:
            self.reason = self._find_reason(now_ns, asked, word)
            self._reason_ns = now_ns
        return self.reason

    def has_waited_in_vain(self, now_ns: int) -> bool:
        """Is the ladder long over, and the shim does not answer?"""
        limit_s = 2 * self._bounds.grace_s + _SHIM_S
        return self.reason is not None and _seconds(self._reason_ns, now_ns) >= limit_s

    def _find_reason(self, now_ns: int, asked: int, word: StopCause | None) -> StopCause | None:
        if asked:
            return StopCause.INTERRUPTED
        if word is not StopCause.AFTER_RESULT:
            self._result_ns = None
            if word:
                return word
        elif self._result_ns is None:
            self._result_ns = now_ns
        elif _seconds(self._result_ns, now_ns) >= self._bounds.result_grace_s:
            return word
        if _seconds(self._started_ns, now_ns) >= self._bounds.wall_s:
            return StopCause.TIMED_OUT
        return StopCause.STALLED if self.is_worn_out(now_ns) else None


def _seconds(since_ns: int, now_ns: int) -> float:
    return (now_ns - since_ns) / 1e9
