"""Commands whose output is handed on as it comes (X-6)."""

from __future__ import annotations

import os
import sys

import pytest
from tests.support.tracker import wait_for

from ddx.base.errors import DdxError
from ddx.base.process import ProcessResult, is_alive, run


class Ran:
    def __init__(self, command, *, timeout_s: float = 20, **env: str) -> None:
        self.out = bytearray()
        self.ending = run(
            shell(command) if isinstance(command, str) else command,
            cwd="/",
            env=env,
            timeout_s=timeout_s,
            output=self.out.extend,
        )


def shell(command: str) -> list[str]:
    return ["sh", "-c", command]


def ended(code: int) -> ProcessResult:
    return ProcessResult(code, b"", b"")


def test_both_streams_are_handed_on_and_words_run_as_they_are():
    ran = Ran('echo "$WORD" | tr a-z A-Z; echo no >&2; pwd; exit 3', WORD="yes")
    assert ran.ending == ended(3)
    assert sorted(ran.out.split()) == [b"/", b"YES", b"no"]
    ran = Ran(["echo", "$WORD | no"], WORD="yes")
    assert (ran.ending, bytes(ran.out)) == (ended(0), b"$WORD | no\n")


def test_much_output_on_both_streams_comes_whole():
    ran = Ran("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2")
    assert len(ran.out) == 5_000_000


def test_output_comes_while_the_command_still_runs(tmp_path):
    """The command goes on only once we made the file, and that only once its word came."""
    go = tmp_path / "go"
    run(
        shell(f"echo ready; while ! test -e {go}; do sleep 0.01; done"),
        cwd="/",
        timeout_s=20,
        output=lambda chunk: go.touch(),
    )


def test_it_gets_no_input_and_does_not_wait_for_any():
    assert Ran("cat; echo end").out == b"end\n"


def test_at_the_limit_the_whole_group_ends():
    ran = Ran("sleep 60 & echo $!; wait", timeout_s=2)
    assert ran.ending.timed_out
    wait_for(lambda: not is_alive(int(ran.out)))


def test_what_a_command_leaves_in_its_group_ends_with_it():
    ran = Ran("sleep 60 & echo $!")
    assert ran.ending == ended(0)
    wait_for(lambda: not is_alive(int(ran.out)))


def test_a_command_that_closed_its_output_is_still_waited_for():
    assert Ran("exec >&- 2>&-; sleep 0.1; exit 5").ending == ended(5)


def test_a_stray_that_left_the_group_cannot_hang_us():
    stray = f"setsid {sys.executable} -c 'import time; time.sleep(60)' & echo $!"
    ran = Ran(stray)
    assert not ran.ending.timed_out
    os.kill(int(ran.out), 9)


def test_the_group_ends_when_the_output_cannot_be_kept():
    def refuse(chunk: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run(shell("echo some; sleep 60"), cwd="/", timeout_s=30, output=refuse)


def test_what_cannot_start_is_named():
    with pytest.raises(DdxError, match="cannot start no-such-program"):
        Ran(["no-such-program"])
