"""The live view of a run: what it draws, and that it never harms the run or the terminal (S-29)."""

from __future__ import annotations

import os
import re
import sys
import threading
from unicodedata import east_asian_width

import pytest
from tests.support.tracker import wait_for

from ddx.attempts.record import AttemptEvent
from ddx.base.errors import CorruptFile
from ddx.base.values import changed
from ddx.testing import FakeClock
from helix.cli.live_view import (
    MOST_LINES,
    AgentActivity,
    LiveDisplay,
    PlainDisplay,
    QueueCounts,
    open_view,
    picture,
)
from helix.run.journal import RunState

NOW = "2026-03-04T12:10:00.000000Z"
ONE = {"attempt": "20260304T120000-aaaaaa", "beads": ["app-1"], "since": "2026-03-04T12:07:00Z"}
TWO = {"attempt": "20260304T120000-bbbbbb", "beads": ["app-2"], "since": "2026-03-04T12:08:00Z"}
STATE = RunState("run", 7, agent="stub", phase="building", attempts=(ONE,))
QUEUE = QueueCounts(
    {"closed": 5, "in_progress": 1, "blocked": 1, "open": 3, "cancelled": 4},
    {"app-1": "Teach the shop to open its door"},
)
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202e日本語" * 30


def drawn(state=STATE, activity=(), *, width=80, colour=False, backlog=QUEUE):
    return picture(state, activity, width=width, now=NOW, colour=colour, backlog=backlog)


def columns(text):
    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)


# -- the picture ------------------------------------------------------------------------------


def test_the_picture_names_bead_phase_queue_activity_and_cost():  # S-29
    state = changed(STATE, total_tokens=41200, total_cost_usd=1.5)
    assert drawn(state, [AgentActivity(ONE["attempt"], "→ Bash: make test")]) == [
        "building app-1 for 3 min: Teach the shop to open its door                   stub",
        "████████▓▒▒░░░░░ 5/10 done, 1 under way, 1 blocked, 3 open  41,200 tokens, $1.50",
        "  → Bash: make test",
    ]


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({"attempts": (ONE, TWO)}, "building app-1, app-2 for 3 min"),
        ({"attempts": (ONE,), "phase": "review"}, "building app-1 for 3 min"),
        ({"attempts": (), "phase": "recovering", "updated_at": NOW}, "recovering for 0 s"),
        (
            {
                "attempts": (),
                "phase": "review",
                "updated_at": "2026-03-04T12:09:30Z",
                "last_decision": {"action": "review", "target": "app-9"},
            },
            "review app-9 for 30 s",
        ),
        (
            {"attempts": (), "phase": "parked", "parked_until": "2026-03-04T12:30:00Z"},
            "parked, stub rests for another 20 min",
        ),
    ],
)
def test_the_first_line_says_what_is_done_now(fields, first):  # S-29
    assert drawn(changed(STATE, **fields), backlog=None)[0].rpartition("stub")[0].rstrip() == first


@pytest.mark.parametrize(
    ("tokens", "cost", "end"),
    [
        (0, None, "nothing used yet"),
        (1200, None, "1,200 tokens, cost unknown"),
        (1200, 0.0, "1,200 tokens, $0.00"),
    ],
)
def test_an_unknown_cost_is_not_nought(tokens, cost, end):
    lines = drawn(changed(STATE, total_tokens=tokens, total_cost_usd=cost))
    assert lines[1].endswith(f"  {end}")


@pytest.mark.parametrize("width", [1, 2, 10, 39, 80, 81, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_is_wider_than_the_screen_whatever_was_said(width, colour):  # T-23
    hostile = changed(STATE, attempts=({**ONE, "beads": [HOSTILE]}, TWO), agent=HOSTILE)
    said = [
        AgentActivity(ONE["attempt"], HOSTILE),
        AgentActivity("x", HOSTILE),
        AgentActivity("y", "z" * 999),
    ]
    titled = changed(QUEUE, titles={HOSTILE: HOSTILE})
    lines = drawn(hostile, said, width=width, colour=colour, backlog=titled)
    assert len(lines) <= MOST_LINES
    for line in lines:
        bare = re.sub(r"\x1b\[\d+m", "", line)
        assert columns(bare) <= width
        assert "\x1b" not in bare and "\u202e" not in bare


def test_colour_changes_the_looks_and_not_the_words():  # S-29
    plain, painted = drawn(colour=False), drawn(colour=True)
    assert "\x1b" in painted[0] and "\x1b" not in "".join(plain)
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in painted] == plain


def test_where_several_work_each_line_says_for_which_bead():
    said = [AgentActivity(TWO["attempt"], "two"), AgentActivity("20260304T120000-cccccc", "three")]
    lines = drawn(changed(STATE, attempts=(ONE, TWO)), said)
    assert lines[2:] == ["  app-2: two", "  cccccc: three"]


# -- the view ---------------------------------------------------------------------------------


class Screen:
    """A terminal as far as the view uses one: lines, and a cursor that moves up and down."""

    def __init__(self) -> None:
        self.lines, self.row = [""], 0
        self.raw = ""
        self.width = 80

    def write(self, text):
        self.raw += text
        for part in re.findall(r"\x1b\[\??\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif part.endswith("A") and part.startswith("\x1b"):
                self.row -= int(part[2:-1])
            elif part == "\x1b[J":
                del self.lines[self.row + 1 :]
                self.lines[self.row] = ""
            elif part[0] not in "\x1b\r":
                self.lines[self.row] += part


def make_live(screen, *, state=STATE, backlog=lambda: QUEUE, write=None):
    return LiveDisplay(
        lambda: state,
        clock=FakeClock(),
        write=write or screen.write,
        width=lambda: screen.width,
        colour=False,
        backlog=backlog,
    )


def happening(kind, text="", attempt=ONE["attempt"]):
    return AttemptEvent(NOW, attempt, kind, text=text)


def test_lines_scroll_above_the_picture_and_afterwards_only_they_are_left():
    screen = Screen()
    live = make_live(screen)
    live.tell("before")
    with live:
        live.draw()
        live.tell("cycle 1: app-1")
        live.hear(happening("agent-said", "first\n\nsecond\n"))
        live.draw()
        assert screen.lines[:2] == ["helix: before", "helix: cycle 1: app-1"]
        assert screen.lines[2].startswith("building app-1")
        assert screen.lines[4:] == ["  first", "  second"]
        live.tell("more \x1b[2J")
        assert screen.lines[2] == "helix: more \\x1b[2J"
        assert screen.lines[5:] == ["  first", "  second"]
    assert screen.lines == [
        "helix: before",
        "helix: cycle 1: app-1",
        "helix: more \\x1b[2J",
        "",
    ]
    assert screen.raw.endswith("\x1b[?25h")


def test_what_an_agent_said_goes_when_its_call_ends():
    screen = Screen()
    live = make_live(screen)
    with live:
        live.hear(happening("agent-said", "mine"))
        live.hear(happening("agent-tool", "theirs", attempt="other"))
        live.hear(happening("agent-ended", "completed"))
        live.draw()
        assert screen.lines[2:] == ["  → theirs"]


def test_the_cursor_comes_back_when_the_run_fails():
    screen = Screen()
    with pytest.raises(KeyError), make_live(screen) as _:
        raise KeyError("app-1")
    assert screen.raw.startswith("\x1b[?25l") and screen.raw.endswith("\x1b[?25h")
    assert screen.lines == [""]


def test_a_question_has_the_screen_for_itself():  # S-34
    screen = Screen()
    live = make_live(screen)
    with live:
        live.draw()
        with live.aside():
            assert screen.lines == [""] and screen.raw.endswith("\x1b[?25h")
            live.draw()
            assert screen.lines == [""]
        live.draw()
        assert screen.lines[0].startswith("building app-1")


def test_a_screen_made_narrower_leaves_no_piece_of_the_picture():
    screen = Screen()
    live = make_live(screen)
    with live:
        wait_for(lambda: len(screen.lines) == 2)  # its own thread has drawn, and rests now
        screen.width = 40
        screen.lines = [screen.lines[0][:40], screen.lines[0][40:], *screen.lines[1:]]
        screen.row += 1
        live.draw()
        assert len(screen.lines) == 2 and len(screen.lines[0]) == 40


def test_on_a_narrow_screen_lines_are_broken_between_words():  # C-5
    screen = Screen()
    screen.width = 40
    live = make_live(screen)
    path = f"/{'x' * 50}.log"
    with live:
        live.tell(f"build app-1: app-1 is the first ready bead, log in {path}")
    head, *rest = screen.lines
    assert head == "helix: build app-1: app-1 is the first"
    assert rest == ["  ready bead, log in", f"  {path}", ""]  # what is to be copied stays whole


def test_a_terminal_that_went_away_ends_the_view_and_not_the_run():
    def gone(text):
        raise OSError(5, "gone")

    with (live := make_live(Screen(), write=gone)):
        live.draw()
        live.hear(happening("agent-said", "on and on"))
        live.tell("cycle 1: app-1")
        with live.aside():
            pass


def test_a_tracker_that_cannot_be_read_costs_only_the_bar():
    def broken():
        raise CorruptFile("beads.jsonl is torn")

    screen = Screen()
    with (live := make_live(screen, backlog=broken)):
        live.draw()
        assert screen.lines[0].startswith("building app-1")
        assert screen.lines[1].startswith("no beads")


@pytest.mark.parametrize(("kind", "reads"), [("agent-said", 1), ("claimed", 2), ("closed", 2)])
def test_the_queue_is_read_again_only_when_it_has_moved(kind, reads):
    read = []

    def backlog():
        read.append(1)
        return QUEUE

    live = make_live(Screen(), state=changed(STATE, updated_at=NOW), backlog=backlog)
    live.draw()
    live.draw()
    live.hear(happening(kind, "app-1"))
    live.draw()
    assert len(read) == reads


def test_many_workers_may_tell_at_once():
    screen = Screen()
    with (live := make_live(screen)):

        def work(name):
            for number in range(50):
                live.hear(happening("agent-said", f"{name} {number}", attempt=name))
                live.tell(f"{name} {number}")

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(screen.lines[:-1]) == sorted(f"helix: {a} {n}" for a in "abcd" for n in range(50))


@pytest.mark.parametrize("asked", ["summary", "quiet", "json", ""])
def test_without_a_terminal_or_with_less_asked_for_the_lines_are_plain(asked, tmp_path, capsys):
    given = {"summary": False, "quiet": False, "json": False, asked: True}
    view = open_view(tmp_path, given, FakeClock(), lambda: STATE)
    assert isinstance(view, PlainDisplay)
    with view, view.aside():
        view.hear(happening("agent-said", "nothing"))
        view.tell("cycle 1: app-1 \x1b[2J")
    assert capsys.readouterr().err == "helix: cycle 1: app-1 \\x1b[2J\n"


@pytest.mark.parametrize(
    ("term", "asked", "kind"),
    [
        ("xterm-256color", "", LiveDisplay),
        ("xterm-256color", "summary", PlainDisplay),
        ("xterm-256color", "quiet", PlainDisplay),
        ("xterm-256color", "json", PlainDisplay),
        ("dumb", "", PlainDisplay),
        ("", "", PlainDisplay),
    ],
)
def test_on_a_terminal_the_default_is_live(term, asked, kind, tmp_path, monkeypatch):  # S-29
    ours, theirs = os.openpty()
    monkeypatch.setenv("TERM", term)
    given = {"summary": False, "quiet": False, "json": False, asked: True}
    with open(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        view = open_view(tmp_path, given, FakeClock(), lambda: STATE)
    os.close(ours)
    assert type(view) is kind
