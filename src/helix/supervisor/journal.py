"""The record of a run: a log for people, a journal for programs, lines on the screen (S-27).

The log has every line; the screen has those that its mode asks for. One counter numbers the lines
of the log, so that a range that is printed is true.
"""

from __future__ import annotations

import os
import threading
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from ddx.fastjson import to_bytes
from ddx.graph.cache import make_folder
from ddx.instants import parse
from ddx.text import cut, listed, shown_on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ddx.clock import Clock
    from ddx.execution.model import Happening
    from ddx.masking import Masker
    from helix.policy.model import Decision

FOLDER = ".helix-logs"
MOST_RUNS, MOST_DAYS, ALWAYS = 50, 90, 5
"""Whose logs are kept, for how long, and how many however old they are (C-9)."""
LARGEST_LOG = 64 << 20
"""Bytes; from then on it does without what agents say, which their attempts' records have."""

_LONGEST_LINE = 4000
_WIDTH = 160
_DAY_NS = 86_400 * 10**9
_CHATTER = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-result"})


class Mode(Enum):
    """How much the screen shows; the log has all of it."""

    PLAIN = auto()
    QUIET = auto()
    SUMMARY = auto()


class Journal:
    """One run's files, open while it lasts; any thread may write."""

    def __init__(
        self,
        root: str,
        *,
        clock: Clock,
        masker: Masker,
        tell: Callable[[str], None],
        mode: Mode = Mode.PLAIN,
        largest_log: int = LARGEST_LOG,
    ) -> None:
        self._clock = clock
        self._largest_log = largest_log
        self._masker = masker
        self._tell = tell
        self._mode = mode
        self._mutex = threading.RLock()
        self._lines = 0
        self._size = 0
        self._first: dict[str, int] = {}
        self._harness: dict[str, str] = {}
        folder = os.path.join(root, FOLDER)
        make_folder(folder)
        _prune(folder, clock)
        self.stamp, self.path = _new_path(folder, clock)
        self.journal_path = f"{self.path.removesuffix('.log')}.jsonl"
        self._log = open(self.path, "xb")
        self._journal = open(self.journal_path, "xb")

    def close(self) -> None:
        self._log.close()
        self._journal.close()

    # -- what anybody may say ----------------------------------------------------------------

    def note(self, kind: str, **facts: Any) -> None:
        """A line of the journal."""
        row = self._masker.mask_row({"at": self._clock.stamp(), "kind": kind, **facts})
        with self._mutex:
            self._journal.write(to_bytes(row) + b"\n")
            self._journal.flush()

    def log(self, text: str) -> int:
        """A line of the log alone; its number."""
        line = cut(shown_on_one_line(self._masker.mask(text)), _LONGEST_LINE)
        with self._mutex:
            self._size += self._log.write(f"{self._now()} {line}\n".encode("utf-8", "replace"))
            self._log.flush()
            self._lines += 1
            return self._lines

    def say(self, text: str) -> None:
        """A line that belongs on the screen in every mode."""
        self.log(text)
        self._tell(f"[{self._now()}] {shown_on_one_line(self._masker.mask(text))}")

    def remark(self, text: str) -> None:
        """A line that a summary does without."""
        self.log(text)
        if self._mode is not Mode.SUMMARY:
            self._tell(f"[{self._now()}] {shown_on_one_line(self._masker.mask(text))}")

    # -- what a run tells ----------------------------------------------------------------------

    def hear(self, happening: Happening) -> None:
        """One line of an attempt's story."""
        if happening.kind in _CHATTER and self._size > self._largest_log:
            return
        name = happening.kind.replace("-", " ")
        with self._mutex:
            number = self.log(f"{happening.attempt[-6:]} {name}: {happening.text}")
            if happening.kind == "agent-started":
                self._first.setdefault(happening.attempt, number)
                if happening.text:  # codex says once more that it has begun
                    self._harness.setdefault(happening.attempt, happening.text)
        if happening.kind == "agent-ended":
            self._call_ended(happening, number)
        elif self._mode is Mode.PLAIN and happening.kind not in _CHATTER and happening.text:
            text = cut(shown_on_one_line(happening.text), _WIDTH)
            self._tell(f"[{self._now()}] {happening.attempt[-6:]} {name}: {text}")

    def _call_ended(self, happening: Happening, last: int) -> None:
        first = self._first.pop(happening.attempt, last)
        harness = self._harness.pop(happening.attempt, "agent")
        facts = happening.data
        used = facts.get("usage", {})
        tokens = sum(int(used.get(it, 0)) for it in _TOKENS)
        self.note(
            "call",
            attempt=happening.attempt,
            harness=harness,
            code=facts.get("code"),
            end=facts.get("end"),
            seconds=facts.get("seconds"),
            usage=used,
            log=[first, last],
        )
        how = "complete" if facts.get("end") == "completed" else f"ended: {facts.get('end')}"
        self._tell(
            f"[{self._now()}] {harness} {how} (rc={facts.get('code')}, "
            f"{float(facts.get('seconds', 0)):.0f}s, {tokens} tokens) "
            f"— log L{first}\u2013L{last} in {self.path}"
        )

    def decided(self, decision: Decision) -> None:
        """Every decision is written down (S-4)."""
        self.note("decision", **decision.as_row())
        what = " ".join(filter(None, (str(decision.action), decision.target)))
        self.remark(f"{what}: {decision.least_power_explanation}")

    def cycle_begun(self, number: int, beads: Sequence[str], ready: int) -> None:
        self.note("cycle-begun", cycle=number, beads=list(beads), ready=ready)
        if len(beads) == 1:
            self.say(f"cycle {number}: {beads[0]} ({ready} ready)")
        else:
            self.say(f"cycle {number}: batch of {listed(beads)} ({ready} ready)")

    def cycle_ended(
        self, number: int, beads: Sequence[str], word: str, *, done: str, tokens: int, **facts: Any
    ) -> None:
        self.note("cycle-ended", cycle=number, beads=list(beads), word=word, tokens=tokens, **facts)
        self.say(f"cycle {number}: {', '.join(beads)} → {word} ({done} done, {tokens} tokens)")

    def _now(self) -> str:
        return _local(self._clock, "%H:%M:%S")


_TOKENS = ("input", "cache_read", "cache_write", "output")


def _local(clock: Clock, form: str) -> str:
    """Now, as a person at this place reads it (C-4)."""
    moment = parse(clock.stamp())
    assert moment is not None
    return moment.astimezone().strftime(form)


def _new_path(folder: str, clock: Clock) -> tuple[str, str]:
    """The stamp of this run and its log; of two runs in one second the later has a number."""
    second = stamp = _local(clock, "%Y%m%d-%H%M%S")
    number = 1
    while os.path.exists(path := os.path.join(folder, f"helix-{stamp}.log")):
        number += 1
        stamp = f"{second}-{number}"
    return stamp, path


def _prune(folder: str, clock: Clock) -> None:
    """The last runs are kept unless they are old, each with its journal and its report."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".log"))
    oldest_ns = clock.now_ns() - MOST_DAYS * _DAY_NS
    for place, name in enumerate(reversed(names), start=1):  # place 1 is that of the last run
        path = os.path.join(folder, name)
        is_old = place >= ALWAYS and os.stat(path).st_mtime_ns < oldest_ns
        if place < MOST_RUNS and not is_old:
            continue
        run = name.removesuffix(".log").removeprefix("helix-")
        for gone in (name, f"helix-{run}.jsonl", f"blockers-{run}.md"):
            try:
                os.unlink(os.path.join(folder, gone))
            except FileNotFoundError:
                continue
