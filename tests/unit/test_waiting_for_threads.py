"""Whoever waits for threads hears signals all the same (C-2)."""

from __future__ import annotations

import signal
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from traceback import walk_stack

from tests.support.tracker import wait_for

from helix.objective.threads import as_they_end


def test_a_signal_that_falls_to_another_thread_is_heard():  # S-21
    waiter, heard = threading.get_ident(), threading.Event()

    def is_waiting() -> bool:
        codes = [frame.f_code for frame, _ in walk_stack(sys._current_frames()[waiter])]
        return codes[0] is threading.Condition.wait.__code__ and wait.__code__ in codes

    def work() -> bool:
        wait_for(is_waiting)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return heard.wait(30)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.set())
    try:
        with ThreadPoolExecutor(1) as pool:
            (ended,) = as_they_end([pool.submit(work)])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended.result()


def test_they_come_as_they_end_and_each_of_them_once():
    ready: Future[str] = Future()
    ready.set_result("first")
    late: Future[str] = Future()
    ends = as_they_end([late, ready])
    assert next(ends) is ready
    late.set_result("last")
    assert list(ends) == [late]
