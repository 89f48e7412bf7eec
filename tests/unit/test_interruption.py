"""What Ctrl-C says, whatever the thread that hears it is doing (S-21)."""

from __future__ import annotations

import os
import signal
import threading

from ddx.agents import StopRequest
from ddx.attempts import StopControls
from ddx.console import Interruption


def test_ctrl_c_may_arrive_while_the_same_thread_prints() -> None:  # S-21
    stop = StopRequest()
    wishes = StopControls(stop)
    printing: list[int] = []
    entered_twice: list[str] = []
    told: list[str] = []

    def tell(sentence: str) -> None:
        me = threading.get_ident()
        if me in printing:
            entered_twice.append(sentence)
        printing.append(me)
        if sentence == "a question":
            os.kill(os.getpid(), signal.SIGINT)
        told.append(sentence)
        printing.remove(me)

    with Interruption(stop, wishes=wishes, tell=tell) as interruption:
        tell("a question")
    assert entered_twice == []
    assert wishes.winding_down
    assert interruption.code == 0
    assert sorted(told)[0] == "a question"
    assert any("finishing what is running" in sentence for sentence in told)
