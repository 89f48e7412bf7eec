"""Nobody outlives a supervised program: strays, the stop ladder, and the death of each of us (X-6).

Limits are short and deadlines generous: the machine may be busy, but what must end does end.
"""

# @requirement TC-305

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.support.processes import Marked, Recorder, python
from tests.support.tracker import wait_for

from ddx.agents import shim
from ddx.agents.harness import StopCause
from ddx.agents.process_tree import end_marked, read_tree
from ddx.agents.supervision import Bounds, StopRequest
from ddx.base.clock import Clock
from ddx.base.process import is_alive
from ddx.testing import FakeClock

SOURCE = Path(__file__).resolve().parents[2] / "src"
STUBBORN = "trap '' INT TERM HUP"
"""What a shell ignores, its children ignore, too."""
FOR_EVER = "while :; do sleep 0.05; done"
"""A shell runs its traps between two commands."""
UNTIL_UP = "until test -e up; do sleep 0.01; done"
NEVER_S = 60
"""Longer than any of these tests may take."""


@pytest.fixture
def agent():
    agent = Marked()
    yield agent
    end_marked(agent.marker, clock=Clock())


# What a program leaves behind


@pytest.mark.parametrize(
    "stray",
    [
        "sleep 60",
        "setsid sleep 60",
        "nohup setsid sleep 60 >/dev/null 2>&1",
        "setsid sh -c 'setsid sleep 60 & exit'",
        f"({STUBBORN}; exec sleep 60)",
        f"({STUBBORN}; exec setsid sleep 60)",
        "setsid sh -c 'kill -STOP $$; sleep 60'",
        f"({STUBBORN}; exec setsid sh -c 'kill -STOP $$; sleep 60')",
    ],
)
def test_no_stray_is_left_in_whatever_session_and_however_deaf(agent, stray):
    ended = agent.run(f"{stray} & echo $!; sleep 0.2; exit 3")
    assert (ended.code, ended.stopped) == (3, StopCause.BY_ITSELF)
    assert ended.strays >= 1
    assert agent.alive == []
    assert not is_alive(int(agent.out))


def test_strays_are_counted_and_zombies_are_not(agent, tmp_path):
    assert agent.run("setsid sleep 60 & sleep 60 & (sleep 60 &); sleep 0.2").strays == 3
    keeps_a_zombie = """
import os, time
if os.fork() == 0:
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    open("up", "w").close()
    time.sleep(60)
while not os.path.exists("up"): time.sleep(0.01)
"""
    assert agent.run(python(keeps_a_zombie), cwd=str(tmp_path)).strays == 1


def test_those_that_were_killed_with_the_program_are_no_strays(agent):
    crowd = "for i in 0 1 2 3 4 5 6 7 8 9; do sleep 60 & done"
    ended = agent.stopped_when_up(f"{STUBBORN}; {crowd}; echo up; wait", grace_s=0)
    assert (ended.code, ended.strays) == (-9, 0)


def test_the_shim_lets_go_of_the_programs_streams(agent):
    shims = "$(readlink /proc/$PPID/fd/0 /proc/$PPID/fd/1 /proc/$PPID/fd/2 | sort -u)"
    command = f'until test "{shims}" = /dev/null; do sleep 0.01; done'
    assert agent.run(command, stdin=b"x").stopped is StopCause.BY_ITSELF


def test_a_stray_may_tidy_up_even_if_it_was_stopped(agent, tmp_path):
    """Only a process that goes on can heed SIGTERM."""
    stray = "trap 'touch tidy; exit' TERM; touch up; kill -STOP \\$\\$; sleep 60 & wait"
    agent.run(f'setsid sh -c "{stray}" & {UNTIL_UP}', cwd=str(tmp_path), bounds=Bounds(NEVER_S))
    assert (tmp_path / "tidy").exists()


RELAY = """
import os, time, _signal
for number in (_signal.SIGINT, _signal.SIGTERM): _signal.signal(number, _signal.SIG_IGN)
until = time.monotonic() + 15
print("up", flush=True)
if os.fork(): time.sleep(60)
while time.monotonic() < until:
    if os.fork(): os._exit(0)
    {escape}
"""
CROWD = """
import os, time, _signal
for number in (_signal.SIGINT, _signal.SIGTERM): _signal.signal(number, _signal.SIG_IGN)
until = time.monotonic() + 15
for _ in range(12):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < until:
            if os.fork() == 0:
                os.setsid()
                time.sleep(0.05)
                os._exit(0)
            os.wait()
        os._exit(0)
print("up", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(
    "storm",
    [
        RELAY.format(escape="pass"),
        RELAY.format(escape="os.setpgid(0, 0)"),
        RELAY.format(escape="os.setsid()"),
        CROWD,
    ],
    ids=["a relay", "a relay over groups", "a relay over sessions", "a crowd"],
)
def test_they_cannot_fork_faster_than_they_are_killed(agent, storm):
    """In a relay each process lives only until it has made the next one."""
    ended = agent.stopped_when_up(python(storm), grace_s=0.1)
    assert (ended.code, ended.seconds < 12) == (-9, True)
    assert agent.alive == []


# The ladder


def test_the_first_rung_is_an_interrupt(agent):
    ended = agent.stopped_when_up(
        f"trap 'echo bye; exit 7' INT; trap 'exit 8' TERM; echo up; {FOR_EVER}", grace_s=NEVER_S
    )
    assert (ended.code, ended.stopped, agent.out) == (7, StopCause.INTERRUPTED, "up\nbye\n")


def test_the_second_rung_terminates_every_descendant(agent, tmp_path):
    child = f"trap 'touch tidy; exit' TERM; touch up; {FOR_EVER}"
    parent = f"{UNTIL_UP}; trap '' INT; trap 'exit 8' TERM; echo up; {FOR_EVER}"
    command = f'setsid sh -c "{child}" & {parent}'
    ended = agent.stopped_when_up(command, grace_s=4, cwd=str(tmp_path))
    assert ended.code == 8
    assert (tmp_path / "tidy").exists()


def test_the_last_rung_kills_and_the_pauses_are_as_long_as_the_grace(agent):
    ended = agent.stopped_when_up(f"{STUBBORN}; echo up; {FOR_EVER}", grace_s=0.5)
    assert (ended.code, agent.alive) == (-9, [])
    assert 0.9 < ended.seconds < 20


def test_a_pause_ends_when_all_have_gone(agent):
    ended = agent.stopped_when_up("echo up; exec sleep 60", grace_s=NEVER_S)
    assert (ended.code, ended.seconds < 20) == (-2, True)


def test_one_that_was_stopped_may_heed_the_interrupt(agent):
    seen: list[StopCause] = []

    def say() -> StopCause | None:
        if not seen and watch.out and is_stopped(int(watch.out)):
            seen.append(StopCause.OVER_BUDGET)
        return seen[0] if seen else None

    watch = Recorder(say=say)
    command = "trap 'exit 7' INT; echo $$; kill -STOP $$; sleep 60"
    ended = agent.run(command, bounds=Bounds(300, grace_s=NEVER_S), watch=watch)
    assert (ended.code, ended.stopped) == (7, StopCause.OVER_BUDGET)


def is_stopped(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    return stat.rpartition(b")")[2].split()[0] == b"T"


def test_one_that_stopped_itself_is_ended_by_the_wall_clock(agent):
    ended = agent.run("kill -STOP $$; sleep 60", bounds=Bounds(0.3, grace_s=0.3))
    assert ended.stopped is StopCause.TIMED_OUT
    assert agent.alive == []


def test_a_second_wish_to_stop_kills_at_once(agent):
    command = f"{STUBBORN}; setsid sleep 60 & echo up; {FOR_EVER}"
    ended = agent.stopped_when_up(command, grace_s=NEVER_S, times=2)
    assert (ended.code, ended.stopped, ended.seconds < 20) == (-9, StopCause.INTERRUPTED, True)
    assert agent.alive == []


def test_a_second_wish_cuts_a_ladder_short_that_has_begun(agent):
    stop = StopRequest()
    watch = Recorder(on_output=lambda chunk: stop.ask())
    loop = f"trap 'echo again' INT; trap '' TERM; echo up; {FOR_EVER}"
    ended = agent.run(loop, bounds=Bounds(300, grace_s=NEVER_S), watch=watch, stop=stop)
    assert (agent.out, stop.asked) == ("up\nagain\n", 2)
    assert (ended.code, ended.seconds < 20) == (-9, True)


def test_a_limit_that_passes_while_strays_are_ended_is_not_the_programs(agent, tmp_path):
    """It had ended by itself, and in time."""
    clock = FakeClock()

    def say() -> None:
        if watch.out and len(ticks) < 10:
            ticks.append(clock.advance(1))

    ticks: list[None] = []
    watch = Recorder(say=say)
    ended = agent.run(
        f"({STUBBORN}; touch up; exec setsid sleep 60) & {UNTIL_UP}; echo end; exit 3",
        cwd=str(tmp_path),
        bounds=Bounds(wall_s=8, grace_s=1),
        watch=watch,
        clock=clock,
    )
    assert ended.seconds > 8
    assert (ended.code, ended.stopped, ended.strays) == (3, StopCause.BY_ITSELF, 1)


# Idle


def test_one_that_is_silent_and_still_is_stalled(agent):
    ended = agent.run("echo; exec sleep 60", bounds=Bounds(30, idle_s=0.6))
    assert (ended.code, ended.stopped) == (-2, StopCause.STALLED)


@pytest.mark.parametrize(
    "silent",
    [
        "while :; do :; done",
        "setsid sh -c 'while :; do :; done' & wait",
        "while :; do sleep 0.1; done",
        "while :; do echo; sleep 0.5; done",
    ],
)
def test_cpu_time_children_and_output_are_activity(agent, silent):
    ended = agent.run(silent, bounds=Bounds(5, idle_s=2.5))
    assert ended.stopped is StopCause.TIMED_OUT


def test_a_changed_file_is_activity(agent, tmp_path):
    """It is asked for only when all else is still, and with the instant of the last activity."""
    asked = []

    def changed_since(ns: int) -> bool:
        asked.append(ns)
        return len(asked) < 3

    began_ns = time.time_ns()
    bounds = Bounds(30, idle_s=0.4)
    ended = agent.run(["sleep", "60"], bounds=bounds, changed_since=changed_since)
    assert ended.stopped is StopCause.STALLED
    assert ended.seconds >= 1.2
    assert len(asked) == 3
    assert began_ns <= asked[0] < asked[1] < asked[2]


# Threads


def test_several_threads_do_not_hold_each_others_pipes():
    """`cat` ends only when nobody else has the other end of its input."""
    wrong = []

    def work(number: int) -> None:
        for turn in range(8):
            text = f"{number} {turn}\n".encode() * 20_000
            agent = Marked()
            ended = agent.run(["cat"], stdin=text, bounds=Bounds(120))
            if (ended.code, ended.stopped, bytes(agent.watch.out)) != (
                0,
                StopCause.BY_ITSELF,
                text,
            ):
                wrong.append(ended)

    before = sorted(os.listdir("/proc/self/fd"))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    assert wrong == []
    assert sorted(os.listdir("/proc/self/fd")) == before


# The death of the shim and of the controller


def test_when_the_shim_is_killed_its_program_dies_and_we_do_not_wait(agent):
    """The stray lives on and holds our pipes: the marker will find it."""
    watch = Recorder(on_output=lambda chunk: os.kill(int(chunk), signal.SIGKILL))
    ended = agent.run("setsid sleep 60 & sleep 0.2; echo $PPID; exec sleep 50", watch=watch)
    assert (ended.code, ended.stopped, ended.seconds < 30) == (-9, StopCause.BY_ITSELF, True)
    wait_for(lambda: len(agent.alive) == 1)
    assert end_marked(agent.marker, clock=Clock()) == 1
    assert agent.alive == []


def test_a_shim_that_hangs_is_killed_with_its_program(agent):
    clock = FakeClock()

    def say() -> None:
        if watch.out and is_stopped(int(watch.out)):
            clock.advance(5)

    watch = Recorder(say=say)
    ended = agent.run(
        "echo $PPID; kill -STOP $PPID; exec sleep 60",
        watch=watch,
        clock=clock,
        bounds=Bounds(wall_s=10, grace_s=1),
    )
    assert (ended.code, ended.stopped) == (-9, StopCause.TIMED_OUT)
    wait_for(lambda: agent.alive == [])


@pytest.mark.parametrize("number", ["TERM", "INT", "HUP"])
def test_a_signal_to_the_shim_begins_the_ladder(agent, number):
    polite = f"trap 'exit 7' INT; kill -{number} $PPID; {FOR_EVER}"
    ended = agent.run(f"setsid sleep 60 & {polite}", bounds=Bounds(300, grace_s=NEVER_S))
    assert (ended.code, ended.stopped) == (7, StopCause.INTERRUPTED)
    assert agent.alive == []


def controller(
    agent: Marked, command: str, *, stop: str = "", grace_s: float = 1
) -> subprocess.Popen[str]:
    """A process of its own that supervises the command and prints how it ended."""
    name, _, text = agent.marker.partition("=")
    program = f"""
import json, os, signal
from ddx.base.clock import Clock
from ddx.agents.supervision import Bounds, StopRequest
from ddx.agents.supervision import supervise

class Watch:
    def output(self, chunk): pass
    def errors(self, chunk): pass
    def verdict(self): return None

stop = StopRequest()
{stop}
env = {{"PATH": os.environ["PATH"], {name!r}: {text!r}}}
ended = supervise({command!r}, cwd="/", env=env, bounds=Bounds(60, grace_s={grace_s}),
                  watch=Watch(), clock=Clock(), stop=stop)
print(json.dumps([ended.code, ended.stopped, ended.strays]))
"""
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_controller_is_killed_all_below_it_end(agent, number):
    command = f"setsid sleep 60 & ({STUBBORN}; exec setsid sleep 60) & {STUBBORN}; sleep 60; :"
    with controller(agent, command) as top:
        wait_for(lambda: len(agent.alive) == 4)
        below = [pid for pid, _ in read_tree(top.pid) if pid != top.pid]
        assert len(below) == 5  # the shim carries no marker
        top.send_signal(number)
        top.wait()
        wait_for(lambda: not any(is_alive(pid) for pid in below))
    assert agent.alive == []


def test_a_signal_handler_may_ask_and_the_terminal_reaches_only_us(agent, tmp_path):
    """As Ctrl-C does, the signal goes to the controller's whole group."""
    up = tmp_path / "up"
    counting = f"n=0; trap 'n=$((n+1))' INT; trap 'exit $n' TERM; touch {up}; {FOR_EVER}"
    handler = "signal.signal(signal.SIGINT, lambda *_: stop.ask())"
    with controller(agent, counting, stop=handler, grace_s=4) as top:
        wait_for(up.exists)
        os.killpg(top.pid, signal.SIGINT)
        said, _ = top.communicate(timeout=120)
    assert json.loads(said) == [1, "interrupted", 0]  # one interrupt, and that from the ladder
    assert agent.alive == []


def test_ctrl_c_without_a_handler_ends_all_before_we_go(agent):
    with controller(agent, f"{STUBBORN}; setsid sleep 60 & sleep 60; :") as top:
        wait_for(lambda: len(agent.alive) == 3)
        os.killpg(top.pid, signal.SIGINT)
        top.communicate(timeout=120)
        assert agent.alive == []
    assert top.returncode == -signal.SIGINT


# Without Linux


def test_without_a_subreaper_the_process_group_still_ends(agent, tmp_path):
    """As on a system without prctl: an interpreter that has no ctypes finds none."""
    blind = "import sys; sys.modules.update(_ctypes=None, ctypes=None); "
    run = f"sys.argv[1:2] = []; exec(compile(open({shim.__file__!r}).read(), 'shim', 'exec'))"
    leaves = "setsid sh -c 'touch up; exec sleep 60' & echo $!"
    command = f"({STUBBORN}; exec sleep 60) & {leaves}; {UNTIL_UP}; exit 3"
    name, _, text = agent.marker.partition("=")
    fields = [
        str(tmp_path),
        "3",
        "sh",
        "-c",
        command,
        f"PATH={os.environ['PATH']}",
        f"{name}={text}",
    ]
    order = "\0".join(fields).encode()
    its_control, control = os.pipe()
    status, its_status = os.pipe()
    words = (its_control, its_status, len(order), 0.3, "sh")
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", blind + run, "-", *map(str, words)],
        pass_fds=(its_control, its_status),
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        os.close(its_control)
        os.close(its_status)
        os.write(control, order)
        with open(status, "rb") as told:
            assert told.read() == b"ended 3 0 0\n"
        os.close(control)
        assert agent.alive == [int(process.stdout.readline())]  # it had left the group
