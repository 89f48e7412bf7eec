"""What a command needs that only looks: the project's site, and a time to look back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK, stamp
from ddx.errors import UsageError
from ddx.instants import parse

if TYPE_CHECKING:
    from ddx.execution.site import Site
    from ddx.project import Project

_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LENGTH_OF_DATE = len("2026-03-27")


def open_to_look(project: Project, command: str) -> Site:
    """Nothing of the repository runs from here, so no trust is needed (X-22)."""
    from ddx.execution.site import Site
    from ddx.masking import Masker
    from ddx.settings import read_settings
    from ddx.supervision import StopRequest
    from ddx.tracker.store import Tracker

    return Site(
        project,
        read_settings(project, clock=SYSTEM_CLOCK),
        Tracker(project, clock=SYSTEM_CLOCK, command=command),
        SYSTEM_CLOCK,
        Masker({}),
        StopRequest(),
        lambda happening: None,
    )


def read_since(text: str | None, *, now_ns: int) -> str:
    """An instant as RFC 3339: one that was typed, a day of the local calendar, or so long ago."""
    given = (text or "").strip()
    if not given:
        return ""
    number, unit = given[:-1], given[-1:].lower()
    if number.isascii() and number.isdigit() and len(number) < 10 and unit in _SECONDS:
        ago_ns = int(number) * _SECONDS[unit] * 1_000_000_000
        return stamp(max(now_ns - ago_ns, 0))
    moment = parse(given)
    if moment is None:
        raise UsageError(
            f"--since wants a time, a day, or how long ago, not {text!r}",
            hint="for example: --since 7d, --since 24h, --since 2026-03-27",
        )
    if len(given) == _LENGTH_OF_DATE:
        moment = moment.replace(tzinfo=None).astimezone()  # midnight where the person is (C-4)
    return stamp(round(moment.timestamp()) * 1_000_000_000)
