"""Which claims are orphaned (S-18, D-23): a judgement on what is known of the holder. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.instants import in_words, seconds_between
from ddx.tracker.model import RUNNER, Row, status_of, text_of
from ddx.values import value

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_PID = 9


@value
class Claim:
    """A bead in progress and who holds it, as the tracker has it."""

    bead: str
    owner: str = ""
    claim_id: str = ""
    claimed_at: str = ""
    updated_at: str = ""
    machine: str = ""
    pid: int = 0
    pid_start: str = ""


@value
class Release:
    """Nobody works on it any more, and why we know."""

    reason: str


@value
class Leave:
    """It is not ours to free, or not yet."""

    reason: str


Judgement: TypeAlias = Release | Leave


def claim_of(row: Row) -> Claim | None:
    """The claim on a bead; None if it is not in progress."""
    if status_of(row) != "in_progress":
        return None
    pid = text_of(row, "claimed-pid").strip()
    is_pid = pid.isascii() and pid.isdigit() and len(pid) <= _LONGEST_PID
    return Claim(
        text_of(row, "id"),
        text_of(row, "owner") or text_of(row, "assignee"),
        text_of(row, "claim-id"),
        text_of(row, "claimed-at"),
        text_of(row, "updated_at"),
        text_of(row, "claimed-machine"),
        int(pid) if is_pid else 0,
        text_of(row, "claimed-pid-start"),
    )


def judge_claim(
    claim: Claim,
    *,
    now: str,
    threshold_s: float,
    machine: str,
    is_alive: Callable[[int, str], bool],
    is_worked_on: bool = False,
    is_ours_and_dead: bool = False,
    is_asked_for: bool = False,
) -> Judgement:
    """A dead holder is not enough: the claim must be old as well, proven dead, or asked for.

    `is_alive` knows a process by pid and start, so a reused pid is dead. `is_worked_on` and
    `is_ours_and_dead` come from our own attempt records: a live attempt has the bead, or the
    attempt that claimed it died on this machine. `is_asked_for` is a person's own request.
    """
    if claim.owner != RUNNER:
        return Leave(f"it is held by {claim.owner or 'someone'}, not by a runner")
    if is_worked_on:
        return Leave("a running attempt works on it")
    if is_ours_and_dead:
        return Release("the attempt that claimed it is dead, as its record proves")
    is_here = claim.machine in ("", machine)
    if is_here and claim.pid and is_alive(claim.pid, claim.pid_start):
        return Leave(f"its process {claim.pid} is alive")
    holder = _holder(claim, is_here=is_here)
    if is_asked_for:
        return Release(f"{holder}, and its release was asked for")
    return _by_age(claim, holder, now=now, threshold_s=threshold_s)


def _by_age(claim: Claim, holder: str, *, now: str, threshold_s: float) -> Judgement:
    age_s = seconds_between(claim.claimed_at, now)
    if age_s is None:
        age_s = seconds_between(claim.updated_at, now)
    if age_s is None:
        return Leave(f"{holder}, but nothing says since when it is held")
    if age_s < threshold_s:
        return Leave(f"{holder}, but it has been held for {in_words(age_s)} only")
    return Release(f"{holder}, and it has been held for {in_words(age_s)}")


def _holder(claim: Claim, *, is_here: bool) -> str:
    if not is_here:
        return f"its holder is on {claim.machine}"
    return f"its process {claim.pid} is gone" if claim.pid else "it names no process"
