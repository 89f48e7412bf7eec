"""Running an agent or a check to its end: limits, the stop ladder, and no process left (X-6).

The program runs below a shim (`ddx.shim`), which reaps, stops and reports. What is left to do here:
hand on the output as it comes, and know when the program has had enough time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.supervision.lifeline import started
from ddx.supervision.model import Bounds, Stopped, StopRequest, Supervised, Watch
from ddx.supervision.patience import Patience
from ddx.supervision.processes import end_marked, marked, read_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.clock import Clock

__all__ = [
    "Bounds",
    "StopRequest",
    "Stopped",
    "Supervised",
    "Watch",
    "end_marked",
    "marked",
    "supervise",
]


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
) -> Supervised:
    """Run a command, a text by `sh`, until it and all that descends from it have ended.

    `changed_since` says whether a file was changed after an instant: that is activity, too.
    """
    argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
    started_ns = clock.now_ns()
    patience = Patience(bounds, started_ns)
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
    stopped = (patience.reason or Stopped.INTERRUPTED) if ended.was_stopped else Stopped.BY_ITSELF
    seconds = (clock.now_ns() - started_ns) / 1e9
    return Supervised(ended.code, stopped, seconds, had_output, ended.strays)
