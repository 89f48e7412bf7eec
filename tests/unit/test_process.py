"""Starting programs and knowing whether a process still lives (D-5, X-6)."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from tests.support.tracker import wait_for

from ddx.base.errors import DdxError
from ddx.base.process import is_alive, read_answer, run, started_at, started_by_ps

SOON_S = 1.5
"""Enough for a shell to say its first word, on a busy machine."""


def shell(script: str, *, timeout_s: float = 20, stdin: bytes = b"", **env: str):
    variables = {"PATH": os.environ["PATH"], **env}
    return run(["sh", "-c", script], cwd="/", env=variables, timeout_s=timeout_s, stdin=stdin)


def test_a_program_gets_its_input_and_its_words_are_kept_apart():
    done = shell('cat; echo "said $WORD" >&2; pwd; exit 3', stdin=b"given\n", WORD="this")
    assert (done.code, done.stdout, done.stderr) == (3, b"given\n/\n", b"said this\n")
    assert not done.ok
    assert done.complaint == "said this"
    assert done.text == "given\n/\n"


def test_a_program_that_succeeds_is_ok_and_may_ignore_its_input():
    done = shell("echo fine", stdin=b"x" * 300_000)
    assert done.ok
    assert done.complaint == "fine"


def test_a_program_sees_our_environment_without_what_redirects_git(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("OURS", "that")
    seen = shell("env", MORE="this").text.splitlines()
    assert {"OURS=that", "MORE=this"} <= set(seen)
    assert not [line for line in seen if line.startswith("GIT_DIR=")]


def test_a_program_that_does_not_exist_is_named():
    with pytest.raises(DdxError, match="cannot start no-such-program: No such file"):
        run(["no-such-program"], cwd="/", env={"PATH": "/usr/bin"}, timeout_s=5)


def test_a_program_past_its_limit_dies_with_its_children():
    done = shell("sleep 60 & echo $!; wait", timeout_s=SOON_S)
    assert done.timed_out
    assert not done.ok
    wait_for(lambda: not is_alive(int(done.text)))


def test_a_stray_child_that_holds_the_pipe_cannot_hang_us():
    script = f"setsid {sys.executable} -c 'import time; time.sleep(60)' & echo $!; sleep 60"
    done = shell(script, timeout_s=SOON_S)
    stray = int(done.text)
    assert done.timed_out
    assert is_alive(stray)
    os.kill(stray, 9)


def test_an_answer_is_what_a_program_prints_and_nothing_if_it_fails():
    env = {"PATH": os.environ["PATH"]}
    assert read_answer(["sh", "-c", "echo '  yes '; echo no >&2"], env=env) == "yes"
    assert read_answer(["sh", "-c", "echo yes; exit 1"], env=env) == ""
    assert read_answer(["no-such-program"], env=env) == ""
    assert read_answer(["cat"], env=env) == ""


# Who lives (D-5)


def test_we_live_and_our_mark_stays_the_same():  # D-5
    me = os.getpid()
    assert started_at(me)
    assert started_at(me) == started_at(me)
    assert is_alive(me)
    assert is_alive(me, started_at(me))
    assert not is_alive(me, "another-mark")


def test_without_proc_a_mark_is_the_second_of_the_start_wherever_we_are(monkeypatch):  # D-5
    me = os.getpid()
    mark = started_by_ps(me)
    assert re.fullmatch(r"[A-Z][a-z]{2}-[A-Z][a-z]{2}-\d+-\d\d:\d\d:\d\d-\d{4}", mark)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert started_by_ps(me) == mark


@pytest.mark.parametrize("pid", [0, -1, 4_194_999, 10**30])
def test_what_is_no_process_is_dead(pid):  # D-5
    assert not is_alive(pid)
    assert started_at(pid) == started_by_ps(pid) == ""


def test_a_zombie_is_dead():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert is_alive(child.pid)
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(child.pid)
    assert not is_alive(child.pid)
