"""What a person sees of a run: plain lines, or on a terminal a live picture below them (S-29)."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.base import DdxError, Instant, cut, in_words, shown, value, variable
from ddx.console import columns, cut_to, wrapped
from ddx.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ddx.attempts import AttemptEvent
    from ddx.base import Clock
    from ddx.project import Project
    from helix.run import RunState

MOST_LINES = 4
_MOST_ACTIVITY = MOST_LINES - 2  # below what is done now, and the queue
_PAUSE_S = 0.2
"""Between two pictures, however much happens."""
_TICK_S = 1.0
_LONGEST_TEXT = 400
_LONGEST_BEADS = 40
_LEFT_AT_LEAST = 30
_BAR_AT_LEAST, _BAR_AT_MOST = 8, 40
_HEAD_AT_MOST = 120
_USUAL_WIDTH, _NARROWEST = 80, 20
_INDENT = "  "

_PLAIN, _BOLD, _DIM, _RED, _GREEN, _YELLOW = "", "1", "2", "31", "32", "33"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_BELOW = "\x1b[J"

_MARKS = {"agent-said": "", "agent-tool": "→ ", "agent-notice": "! "}
_MOVES = frozenset({"claimed", "closed", "released", "left-open"})
_BAR = (
    ("closed", "█", _GREEN),
    ("in_progress", "▓", _YELLOW),
    ("blocked", "▒", _RED),
    ("open", "░", _DIM),
)
_WORDS = {"in_progress": "under way", "blocked": "blocked", "open": "open"}

Piece: TypeAlias = tuple[str, str]
"""A style and the text that has it."""


@value
class AgentActivity:
    """One line of an agent's doings."""

    attempt: str
    text: str


@value
class QueueCounts:
    """The queue in numbers, and what is under way by its title."""

    counts: Mapping[str, int] = {}
    titles: Mapping[str, str] = {}


# -- the picture ------------------------------------------------------------------------------


def picture(
    state: RunState,
    activity: Sequence[AgentActivity],
    *,
    width: int,
    now: str,
    colour: bool,
    backlog: QueueCounts | None = None,
) -> list[str]:
    """At most four lines, none wider than the screen."""
    queue, cost = backlog or QueueCounts(), _cost(state)
    head = min(width, _HEAD_AT_MOST)
    rows: list[tuple[int, list[Piece], list[Piece]]] = [
        (head, _doing(state, queue, now), [(_DIM, state.agent)]),
        (head, _bar(queue.counts, head - len(cost) - 2), [(_PLAIN, cost)]),
        *((width, [(_DIM, _said(it, state))], []) for it in activity[-_MOST_ACTIVITY:]),
    ]
    return [_line(left, right, width=room, colour=colour) for room, left, right in rows]


def _doing(state: RunState, queue: QueueCounts, now: str) -> list[Piece]:
    beads = [str(bead) for row in state.attempts for bead in row.get("beads", ())]
    target = "" if beads else str(state.last_decision.get("target") or "")
    since = str(state.attempts[0].get("since", "")) if state.attempts else state.updated_at
    elapsed_s = Instant(since).seconds_until(now)
    pieces = [(_BOLD, "building" if beads else state.phase)]
    if beads:  # what goes on beside them is no phase of theirs
        pieces.append((_BOLD, f" {cut(', '.join(beads), _LONGEST_BEADS)}"))
    elif target and state.phase == state.last_decision.get("action"):
        pieces.append((_BOLD, f" {target}"))
    if elapsed_s is not None:
        pieces.append((_PLAIN, f" for {in_words(elapsed_s)}"))
    left_s = Instant(now).seconds_until(state.parked_until) if state.parked_until else None
    if left_s is not None and left_s > 0:
        pieces.append((_YELLOW, f", {state.agent} rests for another {in_words(left_s)}"))
    if len(beads) == 1 and beads[0] in queue.titles:
        pieces.append((_PLAIN, f": {queue.titles[beads[0]]}"))
    return pieces


def _bar(counts: Mapping[str, int], room: int) -> list[Piece]:
    """The words first get their room, and the bar what is left."""
    total = sum(counts.get(status, 0) for status, _, _ in _BAR)
    if not total:
        return [(_DIM, "no beads yet")]
    counted = [f"{counts[status]} {word}" for status, word in _WORDS.items() if counts.get(status)]
    words = ", ".join([f"{counts.get('closed', 0)}/{total} done", *counted])
    cells = min(max(room - len(words) - 1, _BAR_AT_LEAST), _BAR_AT_MOST)
    pieces, before = [], 0
    for status, mark, style in _BAR:
        begin = before * cells // total
        before += counts.get(status, 0)
        pieces.append((style, mark * (before * cells // total - begin)))
    return [*pieces, (_PLAIN, f" {words}")]


def _cost(state: RunState) -> str:
    """Unknown is not 0."""
    cost = state.total_cost_usd
    if not state.total_tokens and cost is None:
        return "nothing used yet"
    spoken = f"${cost:,.2f}" if cost is not None else "cost unknown"
    return f"{state.total_tokens:,} tokens, {spoken}"


def _said(activity: AgentActivity, state: RunState) -> str:
    """Who said it is worth its room where several work at once."""
    if len(state.attempts) < 2:
        return f"  {activity.text}"
    found = [row for row in state.attempts if row.get("attempt") == activity.attempt]
    beads = ", ".join(map(str, found[0].get("beads", ()))) if found else activity.attempt[-6:]
    return f"  {cut(beads, _LONGEST_BEADS)}: {activity.text}"


def _line(left: Sequence[Piece], right: Sequence[Piece], *, width: int, colour: bool) -> str:
    """Both ends of a line; where there is no room for both, the left one alone."""
    end = _fitted(right, width)
    taken = sum(columns(text) for _, text in end)
    room = width - taken - 2
    if not taken or room < _LEFT_AT_LEAST:
        end, room = [], width
    start = _fitted(left, room)
    gap = " " * (room + 2 - sum(columns(text) for _, text in start)) if end else ""
    return "".join(_painted(piece, colour) for piece in (*start, (_PLAIN, gap), *end))


def _fitted(pieces: Sequence[Piece], room: int) -> list[Piece]:
    """The pieces made safe for a terminal, and cut where the room ends."""
    fitted = []
    for style, text in pieces:
        safe = shown(text, one_line=True)
        fitted.append((style, cut_to(safe, room)))
        room -= columns(safe)
        if room < 0:
            break
    return fitted


def _painted(piece: Piece, colour: bool) -> str:
    style, text = piece
    return f"\x1b[{style}m{text}\x1b[0m" if colour and style and text else text


# -- the views --------------------------------------------------------------------------------


class PlainDisplay:
    """Lines, one after the other."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *problem: object) -> None:
        return None

    def hear(self, happening: AttemptEvent) -> None:
        """The journal's lines are all there is."""

    def tell(self, sentence: str) -> None:
        print(shown(f"helix: {sentence}"), file=sys.stderr, flush=True)

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()


class LiveDisplay:
    """Lines, and below them the picture; any thread may tell it something.

    Inside, the picture stands on the screen; afterwards it is gone and the cursor is back, whatever
    happened. A terminal that went away ends the view and never the run: the log has every line.
    """

    def __init__(
        self,
        watch: Callable[[], RunState],
        *,
        clock: Clock,
        write: Callable[[str], None],
        width: Callable[[], int],
        colour: bool,
        backlog: Callable[[], QueueCounts],
    ) -> None:
        self._watch = watch
        self._clock = clock
        self._write = write
        self._width = width
        self._colour = colour
        self._read_backlog = backlog
        self._backlog = QueueCounts()
        self._backlog_of = ""
        """Which state of the run it was read for; empty: something has moved since."""
        self._activity: deque[AgentActivity] = deque(maxlen=_MOST_ACTIVITY)
        self._mutex = threading.Lock()
        self._lines: list[str] = []
        """What stands on the screen, without colour."""
        self._text = ""
        self._is_shown = False
        self._is_gone = False
        self._news = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_drawing, name="live", daemon=True)

    def __enter__(self) -> None:
        self._is_shown = True
        self._put(_HIDE)
        self._thread.start()

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._news.set()
        self._thread.join()
        with self._mutex:
            self._is_shown = False
            self._put(f"{self._erased()}{_SHOW}")

    def hear(self, happening: AttemptEvent) -> None:
        """An agent's own lines are on the screen until its call ends."""
        with self._mutex:
            mark = _MARKS.get(happening.kind)
            if mark is not None:
                for line in happening.text.splitlines():
                    if text := line.strip()[:_LONGEST_TEXT]:
                        self._activity.append(AgentActivity(happening.attempt, f"{mark}{text}"))
            elif happening.kind == "agent-ended":
                others = [it for it in self._activity if it.attempt != happening.attempt]
                self._activity = deque(others, _MOST_ACTIVITY)
            elif happening.kind in _MOVES:
                self._backlog_of = ""
        self._news.set()

    def tell(self, sentence: str) -> None:
        """A line that stays, above the picture."""
        with self._mutex:
            lines, erased = self._lines, self._erased()
            self._put(f"{erased}{self._broken(sentence)}\n{self._drawn(lines, self._text)}")

    def _broken(self, sentence: str) -> str:
        """Between words; one that is longer than the line, such as a path, stays to be copied."""
        told = shown(f"helix: {sentence}")
        room = max(self._width(), _NARROWEST) - len(_INDENT)
        return f"\n{_INDENT}".join(wrapped(told, room, breaks_words=False))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, the screen is a person's own: no picture, and the cursor is there."""
        with self._mutex:
            before, self._is_shown = self._is_shown, False
            self._put(f"{self._erased()}{_SHOW}")
        try:
            yield
        finally:
            with self._mutex:
                self._is_shown = before
                self._put(_HIDE if before else "")
            self._news.set()

    def draw(self) -> None:
        """The picture as of now, in the place of the one before."""
        state = self._watch()
        if state.updated_at != self._backlog_of:
            self._backlog_of = state.updated_at
            try:
                self._backlog = self._read_backlog()
            except (DdxError, OSError):  # the run itself says what is wrong with the tracker
                self._backlog = QueueCounts()
        with self._mutex:
            now, width, queue = self._clock.stamp(), self._width(), self._backlog
            said = tuple(self._activity)
            bare, painted = (
                picture(state, said, width=width, now=now, colour=colour, backlog=queue)
                for colour in (False, self._colour)
            )
            text = "\n".join(painted)
            if text != self._text or not self._lines:
                self._put(f"{self._erased()}{self._drawn(bare, text)}")

    def _keep_drawing(self) -> None:
        while not self._over.is_set():
            self._news.clear()
            self.draw()
            self._over.wait(_PAUSE_S)
            self._news.wait(_TICK_S)

    def _drawn(self, lines: list[str], text: str) -> str:
        """The cursor stays at the left of the last line, where a typed ^C does no harm."""
        if not self._is_shown or not lines:
            return ""
        self._lines, self._text = lines, text
        return f"{_NO_WRAP}{text}{_WRAP}\r"

    def _erased(self) -> str:
        """What takes the picture away; a screen made narrower has broken its lines."""
        *above, _ = self._lines or [""]
        width = max(self._width(), 1)
        rows = sum(max(-(-columns(line) // width), 1) for line in above)
        was_drawn, self._lines = bool(self._lines), []
        up = f"\x1b[{rows}A" if rows else ""
        return f"\r{up}{_ERASE_BELOW}" if was_drawn else ""

    def _put(self, text: str) -> None:
        if self._is_gone or not text:
            return
        try:
            self._write(text)
        except OSError:
            self._is_gone = True


RunDisplay: TypeAlias = PlainDisplay | LiveDisplay


def open_view(
    project: Project, given: Mapping[str, Any], clock: Clock, watch: Callable[[], RunState]
) -> RunDisplay:
    """Live for a person at a terminal that can move its cursor, unless they asked for less."""
    asked_for_less = given["summary"] or given["quiet"] or given["json"]
    if asked_for_less or not sys.stderr.isatty() or variable("TERM") in (None, "", "dumb"):
        return PlainDisplay()
    return LiveDisplay(
        watch,
        clock=clock,
        write=_write,
        width=_screen_width,
        colour=not variable("NO_COLOR"),
        backlog=lambda: read_backlog(project, clock),
    )


def read_backlog(project: Project, clock: Clock) -> QueueCounts:
    beads = Tracker(project, clock=clock).snapshot().columns
    rows = zip(beads.ids, beads.titles, beads.statuses, strict=True)
    titles = {bead_id: title for bead_id, title, status in rows if status == "in_progress"}
    return QueueCounts(Counter(beads.statuses), titles)


def _write(text: str) -> None:
    """Past Python's own buffer: a signal may come in the middle of it."""
    left = text.encode(sys.stderr.encoding, "replace")
    while left:
        left = left[os.write(2, left) :]


def _screen_width() -> int:
    """A terminal that does not know its width says 0."""
    try:
        return os.get_terminal_size(2).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH
