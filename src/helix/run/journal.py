"""The record of a run: where it stands, a log for people, a journal for programs (S-24, S-27).

The state, `.ddx/run-state.json`, is written whole at every boundary, so that it tells the truth
after kill -9 as well. The log has every line; the screen has those that its mode asks for. One
counter numbers the lines of the log, so that a range that is printed is true.
"""

from __future__ import annotations

import os
import threading
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Any

from ddx.base import (
    Instant,
    JsonFile,
    changed,
    cut,
    in_words,
    listed,
    make_folder,
    replace,
    shown,
    to_bytes,
    value,
)
from ddx.tracker import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ddx.attempts import AttemptEvent
    from ddx.base import Clock, Masker
    from ddx.project import Project
    from helix.run.model import Decision

FOLDER = ".helix-logs"
MOST_RUNS, MOST_DAYS, ALWAYS = 50, 90, 5
"""Whose logs are kept, for how long, and how many however old they are (C-9)."""
LARGEST_LOG = 64 << 20
"""Bytes; from then on it does without what agents say, which their attempts' records have."""
_LONGEST_LINE, _WIDTH = 4000, 160
_DAY_NS = 86_400 * 10**9
_CHATTER = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-result"})


class ScreenMode(Enum):
    """How much the screen shows; the log has all of it."""

    PLAIN = auto()
    QUIET = auto()
    SUMMARY = auto()


class RunJournal:
    """One run's files, open while it lasts; any thread may write."""

    def __init__(
        self,
        root: str,
        *,
        clock: Clock,
        masker: Masker,
        tell: Callable[[str], None],
        mode: ScreenMode = ScreenMode.PLAIN,
        largest_log: int = LARGEST_LOG,
    ) -> None:
        self._clock = clock
        self._largest_log = largest_log
        self._masker = masker
        self._tell = tell
        self._mode = mode
        self._mutex = threading.RLock()
        self._lines = self._size = 0
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
        line = cut(shown(self._masker.mask(text), one_line=True), _LONGEST_LINE)
        with self._mutex:
            self._size += self._log.write(f"{self._now()} {line}\n".encode("utf-8", "replace"))
            self._log.flush()
            self._lines += 1
            return self._lines

    def say(self, text: str, *, in_summary: bool = True) -> None:
        """A line that belongs on the screen in every mode."""
        self.log(text)
        if in_summary or self._mode is not ScreenMode.SUMMARY:
            self._tell(f"[{self._now()}] {shown(self._masker.mask(text), one_line=True)}")

    def remark(self, text: str) -> None:
        """A line that a summary does without."""
        self.say(text, in_summary=False)

    # -- what a run tells ----------------------------------------------------------------------

    def hear(self, happening: AttemptEvent) -> None:
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
        elif self._mode is ScreenMode.PLAIN and happening.kind not in _CHATTER and happening.text:
            text = cut(shown(happening.text, one_line=True), _WIDTH)
            self._tell(f"[{self._now()}] {happening.attempt[-6:]} {name}: {text}")

    def _call_ended(self, happening: AttemptEvent, last: int) -> None:
        first = self._first.pop(happening.attempt, last)
        harness = self._harness.pop(happening.attempt, "agent")
        facts = happening.data
        used = facts.get("usage", {})
        tokens = sum(
            int(used.get(it, 0)) for it in ("input", "cache_read", "cache_write", "output")
        )
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
        what = beads[0] if len(beads) == 1 else f"batch of {listed(beads)}"
        self.say(f"cycle {number}: {what} ({ready} ready)")

    def cycle_ended(
        self, number: int, beads: Sequence[str], word: str, *, done: str, tokens: int, **facts: Any
    ) -> None:
        self.note("cycle-ended", cycle=number, beads=list(beads), word=word, tokens=tokens, **facts)
        self.say(f"cycle {number}: {', '.join(beads)} → {word} ({done} done, {tokens} tokens)")

    def _now(self) -> str:
        return _local(self._clock, "%H:%M:%S")


def _local(clock: Clock, form: str) -> str:
    """Now, as a person at this place reads it (C-4)."""
    moment = Instant(clock.stamp()).moment
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


@value
class UnfinishedBead:
    """A bead that this run could not finish."""

    bead: str
    title: str
    reason: str
    is_blocked: bool = False
    """Else it was only skipped."""
    attempts: int = 0
    seconds: float = 0.0
    epic: str = ""
    """The epic that is held up by it."""
    refs: tuple[str, ...] = ()
    """Where its work is kept."""
    findings: tuple[str, ...] = ()
    """What a last review had to say."""

    def as_row(self) -> dict[str, Any]:
        return {**self.__dict__, "refs": list(self.refs), "findings": list(self.findings)}


def write_report(root: str, stamp: str, blockers: Sequence[UnfinishedBead]) -> str:
    """The report's path; empty if there is nothing to report."""
    if not blockers:
        return ""
    path = os.path.join(root, FOLDER, f"blockers-{stamp}.md")
    text = "\n\n".join(["# Blockers", *map(_section, blockers)])
    replace(path, (f"{text}\n".encode("utf-8", "replace"),), durable=False)
    return path


def _section(blocker: UnfinishedBead) -> str:
    word = "blocked" if blocker.is_blocked else "skipped"
    lines = [
        f"## {_line(blocker.bead)}: {_line(blocker.title)}",
        "",
        f"- {word}: {_line(blocker.reason)}",
        f"- attempts: {blocker.attempts}, time spent: {in_words(blocker.seconds)}",
    ]
    if blocker.epic:
        lines.append(f"- impact: its epic {_line(blocker.epic)} cannot be finished without it")
    lines += (f"- kept: {_line(ref)}" for ref in blocker.refs)
    lines += (f"- found: {_line(finding)}" for finding in blocker.findings)
    return "\n".join([*lines, "", "Next:", "", *_next(blocker)])


def _next(blocker: UnfinishedBead) -> list[str]:
    bead = typed(blocker.bead)
    commands = [f"    ddx bead show {bead}", f"    ddx bead why {bead}"]
    commands += (f"    git show {_line(ref)}" for ref in blocker.refs[-1:])
    if blocker.is_blocked:
        commands.append(f"    ddx bead reopen {bead} --reason '...'")
    return commands


def _line(text: str) -> str:
    return shown(text, one_line=True)


FILE = "run-state.json"
SCHEMA = 1


@value
class RunState:
    """The keys of the file, in its own words."""

    run_id: str
    pid: int
    pid_start: str = ""
    started_at: str = ""
    updated_at: str = ""
    agent: str = ""
    autonomy: str = ""
    scope: str = ""
    current_bead: str = ""
    current_attempt: str = ""
    phase: str = "starting"
    focused_epic: str = ""
    attempted_cycles: int = 0
    completed_cycles: int = 0
    harness_faults: int = 0
    skipped: Mapping[str, str] = {}
    """Beads that this run leaves alone, each with the reason."""
    total_tokens: int = 0
    total_cost_usd: float | None = None
    cycle_start: str = ""
    cycle_end: str = ""
    cycle_duration: float | None = None
    pending_review: str = ""
    owed_reviews: tuple[str, ...] = ()
    """Attempts whose review comes after that one."""
    last_decision: Mapping[str, Any] = {}
    blockers: tuple[Mapping[str, Any], ...] = ()
    stop_reason: str = ""
    exit_code: int | None = None
    attempts: tuple[Mapping[str, Any], ...] = ()
    """The live ones: attempt, beads and since when."""
    parked_until: str = ""
    log: str = ""
    journal: str = ""

    def as_row(self) -> dict[str, Any]:
        lists = {
            name: list(getattr(self, name)) for name in ("owed_reviews", "blockers", "attempts")
        }
        return {"schema": SCHEMA, **self.__dict__, **lists}


class StateFile:
    """The one writer of the file; several threads of a run take turns."""

    def __init__(self, project: Project, clock: Clock, first: RunState) -> None:
        self._path = project.ddx(FILE)
        self._clock = clock
        self._mutex = threading.Lock()
        self._state = first

    @property
    def now(self) -> RunState:
        return self._state

    def put(self, **fields: Any) -> RunState:
        """The next state, on the disk before anything else happens."""
        with self._mutex:
            self._state = changed(self._state, **fields, updated_at=self._clock.stamp())
            JsonFile(self._path).write(self._state.as_row())
            return self._state


_LONGEST = 200


class ControlRequest(StrEnum):
    STOP = "stop"
    PAUSE = "pause"


def ask(project: Project, wish: ControlRequest, *, run: str) -> None:
    """Heard at the run's next boundary."""
    replace(_path(project, wish), (f"{run}\n".encode(),), durable=False)


def withdraw(project: Project, wish: ControlRequest) -> bool:
    """False if nobody had asked for it."""
    try:
        os.unlink(_path(project, wish))
    except FileNotFoundError:
        return False
    return True


def is_asked(project: Project, wish: ControlRequest) -> bool:
    return os.path.exists(_path(project, wish))


def forget_others(project: Project, *, run: str) -> None:
    """What was meant for a run that is over is not for the one that begins."""
    for wish in ControlRequest:
        if _meant_for(project, wish) != run:
            withdraw(project, wish)


def _meant_for(project: Project, wish: ControlRequest) -> str:
    try:
        with open(_path(project, wish), encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST).strip()
    except FileNotFoundError:
        return ""


def _path(project: Project, wish: ControlRequest) -> str:
    return project.ddx("state", f"run-{wish}")
