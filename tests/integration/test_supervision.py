"""One supervised program: its words, its end, its limits (X-6)."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest
from tests.support.processes import Marked, Recorder, python
from tests.support.tracker import wait_for

from ddx.agents.harness import StopCause
from ddx.agents.process_tree import (
    _marked_in_proc,
    _tree_in_proc,
    end_marked,
    marked,
    marked_by_ps,
    tree_by_ps,
)
from ddx.agents.supervision import Bounds, StopRequest, TimeLimits, supervise
from ddx.base.clock import Clock
from ddx.base.errors import DdxError
from ddx.base.process import is_alive
from ddx.testing import FakeClock

S = 10**9


@pytest.fixture
def agent():
    agent = Marked()
    yield agent
    end_marked(agent.marker, clock=Clock())


# How it ends


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("exit 3", 3), ("exit 255", 255), ("kill -TERM $$", -15), ("kill -9 $$", -9)],
)
def test_the_exit_code_is_the_programs_own(agent, command, code):
    ended = agent.run(command)
    assert (ended.code, ended.stopped, ended.strays) == (code, StopCause.BY_ITSELF, 0)


def test_a_text_runs_by_the_shell_and_words_run_as_they_are(agent):
    ended = agent.run('echo "$WORD" | tr a-z A-Z; echo no >&2; pwd', env={"WORD": "yes"})
    assert (ended.code, ended.had_output) == (0, True)
    assert (agent.watch.out, agent.watch.err) == (b"YES\n/\n", b"no\n")
    agent.run(["echo", "$WORD | no"])
    assert agent.out == "$WORD | no\n"


def test_a_program_that_says_nothing_had_no_output(agent):
    assert not agent.run(["true"]).had_output
    assert agent.run("echo >&2").had_output


def test_its_time_is_taken_by_the_clock_that_is_given(agent):
    clock = FakeClock()
    watch = Recorder(on_output=lambda chunk: clock.advance(7))
    assert agent.run("echo", watch=watch, clock=clock).seconds == 7


# Starting


@pytest.mark.parametrize(
    ("command", "cwd", "complaint"),
    [
        (["no-such-program"], "/", "cannot start no-such-program: No such file or directory"),
        (["/no/such/program"], "/", "cannot start /no/such/program: No such file or directory"),
        (["/etc/passwd"], "/", "cannot start /etc/passwd: Permission denied"),
        (["/etc/passwd/x"], "/", "cannot start /etc/passwd/x: Not a directory"),
        (["true"], "/no/such/folder", "cannot start true in /no/such/folder: No such file"),
        (["true", "a\0b"], "/", "cannot start 'true': a zero byte"),
        (["true", "\ud800"], "/", "cannot start 'true': surrogates not allowed"),
        (["true", "x" * 3_000_000], "/", "cannot start true: Argument list too long"),
    ],
)
def test_what_cannot_start_is_an_error_that_names_it(agent, command, cwd, complaint):
    with pytest.raises(DdxError, match=complaint):
        agent.run(command, cwd=cwd)


def test_a_program_may_end_as_one_does_that_was_not_found(agent):
    """127 and 1 are answers, too; only the shim's own word says that the start failed."""
    assert agent.run("no-such-program").code == 127
    assert agent.run("exit 1").code == 1


def test_a_file_that_is_no_program_is_named(agent, tmp_path):
    for name, text in (("garbled", "\x7fELF"), ("lost", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(DdxError, match=r"cannot start \./garbled: Exec format error"):
        agent.run(["./garbled"], cwd=str(tmp_path))
    with pytest.raises(DdxError, match=r"cannot start \./lost: No such file"):
        agent.run(["./lost"], cwd=str(tmp_path))


def test_a_program_is_looked_for_in_the_path_it_is_given(agent, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho found\n")
    with pytest.raises(DdxError, match="cannot start tool: Permission denied"):
        agent.run(["tool"], env={"PATH": f"/no/such/folder:{tmp_path}:/usr/bin"})
    tool.chmod(0o755)
    agent.run(["tool"], env={"PATH": f"/no/such/folder:{tmp_path}"})
    assert agent.out == "found\n"
    agent.run(["tool"], cwd=str(tmp_path), env={"PATH": ""})
    assert agent.out == "found\n"


def test_it_sees_the_environment_it_is_given_and_nothing_else():
    """No locale of the shim's, either: an interpreter that finds none sets one for itself."""
    watch = Recorder()
    given = {"EMPTY": "", "LINES": "a\nb=c", "RAW": os.fsdecode(b"\xff\xfe")}
    bounds = Bounds(wall_s=30)
    argv = ["/usr/bin/env", "-0"]
    supervise(argv, cwd="/", env=given, bounds=bounds, watch=watch, clock=Clock())
    assert watch.out == b"EMPTY=\0LINES=a\nb=c\0RAW=\xff\xfe\0"


def test_no_signal_is_ignored_or_blocked_in_it_because_it_is_so_in_us(agent):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        agent.run(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR2, before)
    assert agent.out == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"


def test_it_holds_no_file_but_its_three_streams(agent):
    agent.run(python("import os; print(sorted(os.listdir('/proc/self/fd')))"))
    assert agent.out == "['0', '1', '2', '3']\n"  # the last one is the folder that it lists


def test_it_has_a_session_of_its_own_that_no_terminal_reaches(agent):
    agent.run(python("import os; print(os.getpid(), os.getsid(0), os.getsid(os.getppid()))"))
    pid, session, session_of_the_shim = map(int, agent.out.split())
    assert pid == session
    assert len({session, session_of_the_shim, os.getsid(0)}) == 3


# Its input and its output


def test_without_input_it_waits_for_none(agent):
    agent.run("cat; echo end")
    assert agent.out == "end\n"
    agent.run("cat; echo end", stdin=b"")
    assert agent.out == "end\n"


def test_a_long_input_comes_whole(agent):
    text = os.urandom(1 << 16) * 40
    agent.run(["cat"], stdin=text)
    assert agent.watch.out == text


def test_a_long_input_that_nobody_reads_holds_nobody_up(agent):
    assert agent.run("exit 4", stdin=b"x" * 5_000_000).code == 4
    assert agent.run("head -c 3; exec <&-; exit 5", stdin=b"x" * 5_000_000).code == 5
    assert agent.out == "xxx"
    stopped = agent.run("sleep 60", stdin=b"x" * 5_000_000, bounds=Bounds(0.3)).stopped
    assert stopped is StopCause.TIMED_OUT


def test_much_output_on_both_streams_comes_whole(agent):
    agent.run("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2")
    assert (len(agent.watch.out), len(agent.watch.err)) == (3_000_000, 2_000_000)


def test_what_it_says_last_is_not_lost(agent):
    """The pipe holds a megabyte, and we read on only when the program has long gone."""
    burst = "import fcntl, os; fcntl.fcntl(1, 1031, 1 << 20); os.write(1, b'x' * 1_000_000)"
    watch = Recorder(on_output=lambda chunk: wait_for(lambda: agent.alive == []))
    agent.run(python(burst), watch=watch)
    assert len(watch.out) == 1_000_000


def test_output_comes_while_it_still_runs(agent, tmp_path):
    """It goes on only once we made the file, and that only once its word came."""
    go = tmp_path / "go"
    watch = Recorder(on_output=lambda chunk: go.touch())
    assert agent.run(f"echo ready; until test -e {go}; do sleep 0.01; done", watch=watch).code == 0


def test_a_program_that_closed_its_output_is_still_waited_for(agent):
    assert agent.run("exec >&- 2>&-; sleep 0.1; exit 5").code == 5


# What goes wrong above it


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_all_have_ended_before_an_error_of_the_watch_goes_on(agent, problem):
    def refuse(chunk: bytes) -> None:
        raise problem

    with pytest.raises(type(problem)):
        agent.run("setsid sleep 60 & echo some; sleep 60", watch=Recorder(on_output=refuse))
    assert agent.alive == []


def test_all_have_ended_before_an_error_of_the_verdict_goes_on(agent):
    def judge() -> StopCause | None:
        raise DdxError("no")

    with pytest.raises(DdxError, match="no"):
        agent.run("sleep 60", watch=Recorder(say=judge))
    assert agent.alive == []


def test_no_file_stays_open_and_no_zombie_stays_behind(agent):
    def refuse(chunk: bytes) -> None:
        raise OSError

    agent.run(["true"])
    files = sorted(os.listdir("/proc/self/fd"))
    children = _tree_in_proc(os.getpid()).keys()
    for _ in range(5):
        agent.run("cat; exit 1", stdin=b"x" * 100_000)
        agent.run("setsid sleep 60 &")
        agent.run("sleep 60", bounds=Bounds(wall_s=0.05))
        with pytest.raises(DdxError):
            agent.run(["no-such-program"])
        with pytest.raises(DdxError):
            agent.run(["true", "\0"])
        with pytest.raises(OSError):
            agent.run("echo", watch=Recorder(on_output=refuse))
    assert sorted(os.listdir("/proc/self/fd")) == files
    assert _tree_in_proc(os.getpid()).keys() == children


# Stop requests and verdicts


def test_a_stop_request_interrupts_and_is_shared_by_threads(agent):
    stop = StopRequest()
    assert stop.asked == 0
    ends = []

    def work() -> None:
        ends.append(agent.run(["sleep", "60"], stop=stop))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(agent.alive) == 2)
    stop.ask()
    for thread in threads:
        thread.join(120)
    assert [(end.code, end.stopped) for end in ends] == [(-2, StopCause.INTERRUPTED)] * 2
    assert stop.asked == 1


def test_a_budget_that_is_used_up_stops_at_once(agent):
    watch = Recorder()
    watch.verdict = lambda: StopCause.OVER_BUDGET if watch.out else None
    ended = agent.run("echo expensive; exec sleep 60", watch=watch)
    assert (ended.code, ended.stopped) == (-2, StopCause.OVER_BUDGET)


def test_one_that_goes_after_its_last_word_ended_by_itself(agent):
    watch = Recorder(say=lambda: StopCause.AFTER_RESULT)
    ended = agent.run("sleep 0.1; exit 6", watch=watch)
    assert (ended.code, ended.stopped) == (6, StopCause.BY_ITSELF)


def test_one_that_stays_after_its_last_word_is_ended(agent):
    clock = FakeClock()

    def say() -> StopCause | None:
        clock.advance(1)
        return StopCause.AFTER_RESULT

    bounds = Bounds(wall_s=1000, result_grace_s=10)
    ended = agent.run(["sleep", "60"], watch=Recorder(say=say), clock=clock, bounds=bounds)
    assert (ended.code, ended.stopped) == (-2, StopCause.AFTER_RESULT)


def test_the_wall_clock_ends_even_a_busy_one(agent):
    clock = FakeClock()
    watch = Recorder(on_output=lambda chunk: clock.advance(1))
    ended = agent.run(["yes"], bounds=Bounds(wall_s=20, idle_s=60), watch=watch, clock=clock)
    assert (ended.code, ended.stopped, ended.had_output) == (-2, StopCause.TIMED_OUT, True)


# Patience, without any process


def stillness(**bounds: float) -> TimeLimits:
    return TimeLimits(Bounds(**{"wall_s": 2700, **bounds}), 0)


def judged(patience: TimeLimits, at_s: float, word: StopCause | None = None, asked: int = 0):
    return patience.judge(round(at_s * S), asked=asked, word=word)


def test_the_wall_clock_holds_to_the_second():
    patience = stillness(wall_s=10)
    assert judged(patience, 9.99) is None
    assert judged(patience, 10) is StopCause.TIMED_OUT


def test_the_first_reason_stands():
    patience = stillness(wall_s=10)
    assert judged(patience, 1, StopCause.OVER_BUDGET) is StopCause.OVER_BUDGET
    assert judged(patience, 99, asked=1) is StopCause.OVER_BUDGET


def test_a_persons_wish_comes_before_every_limit():
    assert judged(stillness(wall_s=10), 99, asked=1) is StopCause.INTERRUPTED


def test_the_grace_after_a_result_begins_anew_if_it_was_not_the_last_word():
    patience = stillness(result_grace_s=10)
    assert judged(patience, 1, StopCause.AFTER_RESULT) is None
    assert judged(patience, 10.9, StopCause.AFTER_RESULT) is None
    assert judged(patience, 10.95) is None
    assert judged(patience, 12, StopCause.AFTER_RESULT) is None
    assert judged(patience, 21.9, StopCause.AFTER_RESULT) is None
    assert judged(patience, 22, StopCause.AFTER_RESULT) is StopCause.AFTER_RESULT


def test_without_an_idle_limit_nobody_looks_and_nobody_stalls():
    patience = stillness()
    assert not patience.wants_a_look(2000 * S)
    assert judged(patience, 2000) is None


def test_output_keeps_it_from_stalling():
    patience = stillness(idle_s=900)
    patience.stirred(500 * S)
    assert judged(patience, 1399) is None
    assert judged(patience, 1400) is StopCause.STALLED


@pytest.mark.parametrize(("idle_s", "between_s"), [(900, 5), (25, 5), (10, 2), (1, 0.2)])
def test_it_is_looked_at_every_five_seconds_or_five_times_within_the_limit(idle_s, between_s):
    patience = stillness(idle_s=idle_s)
    assert not patience.wants_a_look(round(between_s * S) - 1)
    assert patience.wants_a_look(round(between_s * S))
    patience.look({}, round(between_s * S))
    assert not patience.wants_a_look(round(between_s * S) + 1)


def test_there_is_a_last_look_before_it_counts_as_stalled():
    patience = stillness(idle_s=5)
    patience.look({}, round(4.9 * S))
    assert patience.wants_a_look(5 * S)


@pytest.mark.parametrize(("worked_s", "is_active"), [(0.0, False), (0.4, False), (0.6, True)])
def test_cpu_time_counts_from_a_tenth_of_a_core(worked_s, is_active):
    """A program that hangs may tick: codex uses 4 % of a core."""
    patience = stillness(idle_s=900)
    patience.look({(7, "a"): 3.0}, 5 * S)
    patience.look({(7, "a"): 3.0 + worked_s}, 10 * S)
    assert patience.still_since_ns == (10 * S if is_active else 0)


@pytest.mark.parametrize("later", [{(7, "a"): 1.0, (8, "b"): 0.0}, {}, {(7, "another start"): 1.0}])
def test_a_process_that_came_or_went_is_activity(later):
    patience = stillness(idle_s=900)
    patience.look({(7, "a"): 1.0}, 5 * S)
    patience.look(later, 10 * S)
    assert patience.still_since_ns == 10 * S


def test_the_first_look_is_no_activity():
    patience = stillness(idle_s=900)
    patience.look({(7, "a"): 1.0}, 5 * S)
    assert patience.still_since_ns == 0


def test_a_shim_that_does_not_answer_is_not_waited_for_for_ever():
    patience = stillness(wall_s=10, grace_s=5)
    assert not patience.has_waited_in_vain(9999 * S)
    judged(patience, 10)
    assert not patience.has_waited_in_vain(39 * S)
    assert patience.has_waited_in_vain(40 * S)


# Marked processes


def test_marked_are_those_with_exactly_that_variable_and_never_ourselves(agent):
    name, _, text = agent.marker.partition("=")
    sleep = ["sleep", "60"]
    with (
        subprocess.Popen(sleep, env={"A": "b", name: text, "C": "d"}) as ours,
        subprocess.Popen(sleep, env={name: f"{text}9"}) as longer,
        subprocess.Popen(sleep, env={f"X{name}": text, "Y": agent.marker}) as other,
        subprocess.Popen(["sh", "-c", "sleep 60; :", agent.marker], env={}) as speaking,
    ):
        wait_for(lambda: marked(agent.marker) == [ours.pid])
        assert marked_by_ps(agent.marker) == [ours.pid]
        assert _marked_in_proc(f"{name}={text}9") == [longer.pid]
        ours.kill()
        os.waitid(os.P_PID, ours.pid, os.WEXITED | os.WNOWAIT)
        assert marked(agent.marker) == []  # a zombie is dead
        assert end_marked(agent.marker, clock=Clock()) == 0
        assert is_alive(longer.pid)
        for each in (longer, other, speaking):
            each.kill()


def test_the_marked_may_tidy_up_and_the_deaf_are_killed(agent, tmp_path):
    name, _, text = agent.marker.partition("=")
    env = {"PATH": os.environ["PATH"], name: text}
    tidy = "trap 'touch tidy; exit' TERM; touch first; kill -STOP $$; sleep 60"
    deaf = "trap '' TERM; touch second; exec sleep 60"
    with (
        subprocess.Popen(["sh", "-c", tidy], env=env, cwd=tmp_path),
        subprocess.Popen(["sh", "-c", deaf], env=env, cwd=tmp_path) as last,
    ):
        wait_for(lambda: (tmp_path / "first").exists() and (tmp_path / "second").exists())
        assert end_marked(agent.marker, clock=Clock()) >= 2
        assert agent.alive == []
    assert (tmp_path / "tidy").exists()
    assert last.returncode == -signal.SIGKILL


def test_our_own_mark_is_not_found():
    with open("/proc/self/environ", "rb") as file:
        ours = os.fsdecode(file.read().split(b"\0")[0])
    assert os.getpid() not in marked(ours)


@pytest.mark.parametrize("marker", ["", "=", "DDX_ATTEMPT_ID", "DDX_ATTEMPT_ID=", "=x"])
def test_what_marks_nothing_ends_nobody(marker):
    with pytest.raises(ValueError, match="marks nothing"):
        end_marked(marker, clock=Clock())


def test_the_tree_holds_a_process_and_all_below_it_with_their_cpu_time(agent):
    busy = "sh -c 'i=0; while test $i -lt 100000; do i=$((i+1)); done' ; sleep 60 & sleep 60"
    with subprocess.Popen(["sh", "-c", busy]) as top:
        wait_for(lambda: len(_tree_in_proc(top.pid)) == 3)
        tree = _tree_in_proc(top.pid)
        assert top.pid in {pid for pid, _ in tree}
        assert sum(tree.values()) > 0  # of a child that has ended
        assert {pid for pid, _ in tree_by_ps(top.pid)} == {pid for pid, _ in tree}
        for pid, _ in tree:
            os.kill(pid, signal.SIGKILL)
    assert _tree_in_proc(top.pid) == tree_by_ps(top.pid) == {}
