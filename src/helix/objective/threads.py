"""Waiting for other threads without going deaf to signals.

The kernel may hand Ctrl-C to any thread, but Python's handlers run in the main one, and that one
sleeps on in an endless wait. So it wakes up now and then, and hears.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

T = TypeVar("T")

_HEARING_S = 0.2


def as_they_end(futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Each of them once it has ended, the first one first."""
    running = set(futures)
    while running:
        ended, running = wait(running, _HEARING_S, return_when=FIRST_COMPLETED)
        yield from ended
