"""What a command needs that only looks: the project's site, and a time to look back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.base import Clock, Instant, UsageError

if TYPE_CHECKING:
    from ddx.attempts import AttemptContext
    from ddx.project import Project

_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LENGTH_OF_DATE = len("2026-03-27")


def open_to_look(project: Project, command: str) -> AttemptContext:
    """Nothing of the repository runs from here, so no trust is needed (X-22)."""
    from ddx.agents import StopRequest
    from ddx.attempts import AttemptContext
    from ddx.base import Masker
    from ddx.project import read_settings
    from ddx.tracker import Tracker

    return AttemptContext(
        project=project,
        settings=read_settings(project, clock=Clock()),
        tracker=Tracker(project, clock=Clock(), command=command),
        clock=Clock(),
        masker=Masker({}),
        stop=StopRequest(),
        on_event=lambda happening: None,
    )


def read_since(text: str | None, *, now_ns: int) -> str:
    """An instant as RFC 3339: one that was typed, a day of the local calendar, or so long ago."""
    given = (text or "").strip()
    if not given:
        return ""
    number, unit = given[:-1], given[-1:].lower()
    if number.isascii() and number.isdigit() and len(number) < 10 and unit in _SECONDS:
        ago_ns = int(number) * _SECONDS[unit] * 1_000_000_000
        return Instant.at(max(now_ns - ago_ns, 0)).text
    moment = Instant(given).moment
    if moment is None:
        raise UsageError(
            f"--since wants a time, a day, or how long ago, not {text!r}",
            hint="for example: --since 7d, --since 24h, --since 2026-03-27",
        )
    if len(given) == _LENGTH_OF_DATE:
        moment = moment.replace(tzinfo=None).astimezone()  # midnight where the person is (C-4)
    return Instant.at(round(moment.timestamp()) * 1_000_000_000).text
