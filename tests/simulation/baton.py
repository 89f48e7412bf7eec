"""Real threads that take turns: only one runs at a time, and chance alone says which.

A thread hands on the baton at every boundary and wherever it would wait: for an event, for another
thread, for work. So a story with several workers is told the same way every time.
"""

from __future__ import annotations

import _thread
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from random import Random
from typing import Any
from unittest.mock import patch

MOST_TURNS = 30
"""So many turns others have at most while somebody waits for a while."""


class Crash(BaseException):
    """The process is gone, here and now."""


class Deadlock(AssertionError):
    """Everybody waits for somebody else."""


class _Seat:
    """One thread's place in the round."""

    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        self.ready: Callable[[], bool] | None = None
        """None: it can go on at any time."""
        self.until: int | None = None
        """The turn at which it has waited long enough."""
        self.is_over = False


class Baton:
    """Who runs now."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._seats: dict[int, _Seat] = {}
        self._turns = 0
        self._numbers = count(1)
        self._starting = False

    @property
    def others(self) -> int:
        return max(len(self._seats) - 1, 0)

    def seat(self) -> _Seat | None:
        """Our own; None for a thread that has nothing to do with the story."""
        return None if self._starting else self._seats.get(threading.get_ident())

    # -- handing it on -----------------------------------------------------------------------

    def hand_on(
        self,
        *,
        ready: Callable[[], bool] | None = None,
        turns: int | None = None,
        to_others: bool = False,
    ) -> None:
        """Let chance choose who goes on; we do so once it is our turn and we are `ready`."""
        seat = self._seats[threading.get_ident()]
        seat.ready, seat.until = ready, None if turns is None else self._turns + turns
        chosen = self._choose(besides=seat if to_others else None)
        if chosen is not seat:
            chosen.lock.release()
            seat.lock.acquire()
        seat.ready = seat.until = None

    def _choose(self, besides: _Seat | None = None) -> _Seat:
        self._turns += 1
        able = [it for it in self._seats.values() if it is not besides and self._is_able(it)]
        if not able and besides is not None and self._is_able(besides):
            return besides
        if not able:  # time passes until the first has waited long enough
            able = [it for it in self._seats.values() if it.until is not None]
            able = [min(able, key=lambda it: it.until or 0)] if able else []
        if not able:
            raise Deadlock(f"{len(self._seats)} threads wait for each other")
        return able[0] if len(able) == 1 else self._rng.choice(able)

    def _is_able(self, seat: _Seat) -> bool:
        if seat.until is not None and self._turns >= seat.until:
            return True
        return seat.ready is None or seat.ready()

    # -- threads of the story ----------------------------------------------------------------

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside, this thread and all that it starts take turns."""
        mine = threading.get_ident()
        self._seats[mine] = _Seat()
        with (
            patch.object(threading.Thread, "start", self._start),
            patch.object(threading.Thread, "join", self._join),
            patch.object(threading.Thread, "__hash__", _number_of),
            patch.object(threading.Event, "wait", self._wait),
            patch.object(Future, "__init__", self._begin_future),
            patch.object(Future, "__hash__", _number_of),
            patch.object(queue, "SimpleQueue", lambda: _Queue(self)),
        ):
            try:
                yield
            finally:
                del self._seats[mine]

    @property
    def _start(self) -> Any:
        real = threading.Thread.start

        def start(thread: threading.Thread) -> None:
            if self.seat() is None:
                return real(thread)
            seat = _Seat()
            run = thread.run

            def in_turn() -> None:
                seat.lock.acquire()
                try:
                    run()
                except Crash:
                    pass
                finally:
                    seat.is_over = True
                    del self._seats[threading.get_ident()]
                    self._choose().lock.release()

            thread.run = in_turn  # type: ignore[method-assign]
            thread.seat = seat  # type: ignore[attr-defined]
            thread.number = next(self._numbers)  # type: ignore[attr-defined]
            self._starting = True
            try:
                real(thread)
            finally:
                self._starting = False
            self._seats[thread.ident or 0] = seat
            return None

        return start

    @property
    def _join(self) -> Any:
        real = threading.Thread.join

        def join(thread: threading.Thread, timeout: float | None = None) -> None:
            its: _Seat | None = getattr(thread, "seat", None)
            if self.seat() is not None and its is not None:
                self.wait_until(lambda: its.is_over, None)
            real(thread, timeout)

        return join

    @property
    def _wait(self) -> Any:
        real = threading.Event.wait

        def wait(event: threading.Event, timeout: float | None = None) -> bool:
            if self.seat() is None:
                return real(event, timeout)
            self.wait_until(event.is_set, timeout)
            return event.is_set()

        return wait

    def wait_until(self, ready: Callable[[], bool], timeout: float | None) -> None:
        if not ready():
            turns = None if timeout is None else self._rng.randint(1, MOST_TURNS)
            self.hand_on(ready=ready, turns=turns, to_others=True)

    @property
    def _begin_future(self) -> Any:
        real = Future.__init__

        def begin(future: Any) -> None:
            future.number = next(self._numbers)
            real(future)

        return begin


def _number_of(thing: Any) -> int:
    """In the order in which they were made: sets of them are the same every time."""
    return int(getattr(thing, "number", 0)) or object.__hash__(thing)


class _Queue:
    """What threads get their work, or the results of others, from."""

    def __init__(self, baton: Baton) -> None:
        self._baton = baton
        self._items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._items and block:
            self._baton.wait_until(lambda: bool(self._items), timeout)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self._items:
            raise queue.Empty
        return self._items.popleft()

    def qsize(self) -> int:
        return len(self._items)

    def empty(self) -> bool:
        return not self._items
