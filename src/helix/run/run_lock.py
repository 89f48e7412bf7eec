"""One run per project (S-20): a mark that the kernel holds, and whose note says who we are."""

from __future__ import annotations

import os
from contextlib import contextmanager

from ddx.base import Busy, Lock, NotFound, UsageError, is_alive, started_at, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.base import Clock
    from ddx.project import Project

MARK = ("state", "run.lock")
_LARGEST_NOTE = 400


class RunActive(UsageError):
    """Another run is at it; nothing was changed."""


@value
class RunHolder:
    """The process that runs here, since when, and what it is at."""

    pid: int
    pid_start: str
    since: str
    objective: str = ""
    """The id of the objective that it works on; empty: it is a run."""

    @property
    def name(self) -> str:
        """Of this run and of no other; wishes are addressed to it."""
        return f"{self.pid} {self.since}"

    @property
    def kind(self) -> str:
        return "objective" if self.objective else "run"

    @property
    def sentence(self) -> str:
        active = "an objective is at work" if self.objective else "a run is active"
        return f"{active} here: pid {self.pid}, started {self.since}"


@contextmanager
def only_run(project: Project, clock: Clock, *, objective: str = "") -> Iterator[RunHolder]:
    """Ours alone inside. A run that died holds nothing: the kernel let go of its mark."""
    require_tracker(project)
    pid = os.getpid()
    us = RunHolder(pid, started_at(pid), clock.stamp(), objective=objective)
    note = f"{us.pid_start or '-'} {us.since} {objective}"
    lock = Lock(project.ddx(*MARK), wait_s=0, clock=clock, command=note)
    try:
        lock.__enter__()
    except Busy:
        raise RunActive(
            f"{project.root}: {_spoken(find_holder(project))}; nothing was changed",
            hint="see it: helix status; or ask it to stop: helix stop",
        ) from None
    try:
        yield us
    finally:
        lock.__exit__(None, None, None)


def require_tracker(project: Project) -> None:
    """There is no run without one; whoever looks first leaves nothing behind."""
    if not os.path.isdir(project.ddx()):
        raise NotFound(f"{project.root} has no tracker yet", hint="make one: helix init")


def find_holder(project: Project) -> RunHolder | None:
    """The run that is active now; it is only looked at, so that nobody's start is disturbed."""
    try:
        with open(project.ddx(*MARK), encoding="utf-8", errors="replace") as file:
            words = file.read(_LARGEST_NOTE).split()
    except OSError:
        return None
    if len(words) not in (3, 4) or not words[0].isdecimal() or len(words[0]) > 9:
        return None
    pid, pid_start, since, objective = (*words, "")[:4]
    holder = RunHolder(int(pid), pid_start.removeprefix("-"), since, objective=objective)
    return holder if is_alive(holder.pid, holder.pid_start) else None


def _spoken(holder: RunHolder | None) -> str:
    if holder is None:
        return "another run is just starting or ending"
    return holder.sentence
