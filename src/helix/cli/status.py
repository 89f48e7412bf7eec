"""`helix status`: what needs a person first, then the run, then the queue (S-25)."""

from __future__ import annotations

import os
import sys

from ddx.base import Clock, Instant, UsageError, counted, in_words, shown
from ddx.console import (
    JSON,
    Command,
    Flag,
    StyledText,
    answer,
    bold,
    cut_to,
    dim,
    say,
    terminal_width,
    when,
    wrapped,
)
from ddx.project import find_project
from helix.status import read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helix.status import (
        ListedClaim,
        Need,
        ObjectiveStatus,
        ProjectStatus,
        QueueStatus,
        RecentAttempt,
        RunStatus,
        WaitingBead,
    )

_PAUSE_S = 1.0
_FRESH = StyledText("\x1b[H\x1b[J")
_LABEL = 10
_MOST_SHOWN, _MOST_NAMED = 8, 3
_NARROWEST = 20
_WHOLE = frozenset({"objective", "run", "cycles", "usage", "focus", "queue"})
"""Paragraphs that are broken where a line ends; of the others, lists, each entry is one line."""
_UNKNOWN_COST = "cost unknown"
_WENT_WELL = ("answered", "no_changes")


@Command.of(
    example="helix status",
    flags=(JSON, Flag("--watch", "show it again when it changes, until Ctrl-C", "switch")),
    schema="helix-status",
)
def run(*, json: bool, watch: bool) -> int:
    """Show what needs you, the run, the queue and what was done last."""
    if json and watch:
        raise UsageError("--json is one value; --watch goes on and on")
    project = find_project(os.getcwd())
    if watch:
        return _watch()
    status = read_status(project, clock=Clock())
    if json:
        from helix.status import status_row

        answer(status_row(status))
    else:
        for line in _lines(status):
            say(line)
    return 0


def _watch() -> int:
    """Drawn again whenever something has changed, at most once a second, until Ctrl-C."""
    shown: list[StyledText] = []
    try:
        while True:
            status = read_status(find_project(os.getcwd()), clock=Clock())
            lines = _lines(status)
            if lines != shown:
                _draw(lines)
            shown = lines
            Clock().sleep(_PAUSE_S)
    except KeyboardInterrupt:
        return 0


def _draw(lines: list[StyledText]) -> None:
    """On a terminal in the place of the last one, as far as it fits; else one below the other."""
    if terminal_width():
        try:
            height = os.get_terminal_size(1).lines
        except OSError:
            height = 24
        say(_FRESH, StyledText("\n".join(lines[: max(height - 1, 1)])))
    else:
        say(StyledText("\n".join([*lines, ""])))
    sys.stdout.flush()


def _lines(status: ProjectStatus) -> list[StyledText]:
    return frame(status, width=terminal_width())


# -- the snapshot as a person reads it -------------------------------------------------------


def frame(status: ProjectStatus, *, width: int) -> list[StyledText]:
    """Its lines, each at most `width` long; 0: as long as they are."""
    room = max(width, _NARROWEST) if width else 0
    lines = [*_needs(status.needs, room)]
    for label, texts in _paragraphs(status):
        lines += _labelled(label, texts, room)
    return lines


def _needs(needs: tuple[Need, ...], room: int) -> Iterator[StyledText]:
    if not needs:
        return
    yield bold("needs you")
    for need in needs[:_MOST_SHOWN]:
        first, *more = _wrapped(need.what, room - 4 if room else 0)
        yield StyledText(f"  ! {first}")
        yield from (StyledText(f"    {line}") for line in more)
        if need.next:
            for line in _wrapped(need.next, room - 6 if room else 0):
                yield StyledText(f"      {bold(line)}")
    if len(needs) > _MOST_SHOWN:
        rest = f"and {len(needs) - _MOST_SHOWN} more: helix status --json"
        yield from (StyledText(f"    {line}") for line in _wrapped(rest, room - 4 if room else 0))
    yield StyledText("")


def _paragraphs(status: ProjectStatus) -> Iterator[tuple[str, list[str]]]:
    run, now = status.run, status.at
    if status.objective is not None:
        yield "objective", [*_objective_lines(status.objective)]
    if run is None:
        yield "run", [] if status.objective else ["none yet; begin: helix run"]
    else:
        yield "run", [*_run_lines(run, now)]
        yield "cycles", [_cycles(run, now)]
        yield "usage", [_usage(run)]
        if focus := run.text("focused_epic"):
            yield "focus", [focus]
    if status.queue is not None:
        yield "queue", [*_queue_lines(status.queue)]
    yield "claims", _some(map(_claim_line, status.claims))
    yield "blocked", _some(f"{held.id}  {held.title}: {held.reason}" for held in status.blocked)
    yield "parked", _some([*_harness_parked(run, now), *(_parked(it, now) for it in status.parked)])
    yield "decided", _some(_decision(row, now) for row in status.decisions)
    yield "attempts", _some(_attempt(attempt, now) for attempt in status.attempts)
    yield (
        "exec",
        _some(
            f"{_ago(it.finished_at, now)}  {it.definition}: {it.status.replace('_', ' ')}"
            for it in status.executions
        ),
    )


def _objective_lines(objective: ObjectiveStatus) -> Iterator[str]:
    spent = in_words(objective.elapsed_s) if objective.elapsed_s is not None else "some time"
    yield f"{objective.state}: {objective.text or objective.id}"
    wishes = (
        "paused"
        if objective.is_paused and wish == "pause"
        else f"asked to {wish} at the next boundary"
        for wish in objective.asked
    )
    yield ", ".join((f"at work for {spent}, pid {objective.pid}", *wishes))


def _run_lines(run: RunStatus, now: str) -> Iterator[str]:
    spent = in_words(run.elapsed_s) if run.elapsed_s is not None else "some time"
    doing = " ".join(filter(None, (run.text("phase"), run.text("current_bead"))))
    attempt = f", attempt {run.text('current_attempt')}" if run.text("current_attempt") else ""
    match run.state:
        case "running":
            yield f"running for {spent}: {doing}{attempt}"
        case "died":
            yield f"died after {spent}: {doing}{attempt}"
        case _:
            ago = _ago(run.text("updated_at"), now)
            code = run.row.get("exit_code")
            ending = f" (exit {code})" if isinstance(code, int) else ""
            yield f"none; the last one ended {ago} after {spent}{ending}"
            yield f"stopped because: {run.text('stop_reason') or 'it does not say'}"
    setting = [
        f"pid {run.row.get('pid')}" if run.state == "running" else "",
        run.text("agent"),
        f"autonomy {run.text('autonomy')}" if run.text("autonomy") else "",
        f"scope {run.text('scope')}" if run.text("scope") not in ("", "repo") else "",
        *(f"asked to {wish} at the next boundary" for wish in run.asked),
    ]
    yield ", ".join(filter(None, setting))
    for row in run.rows("attempts")[1:]:
        yield f"beside it: {_listed(row.get('beads'))}, attempt {row.get('attempt')}"
    if owed := run.text("pending_review"):
        yield f"a review is owed: attempt {owed}"
    if skipped := run.table("skipped"):
        named = [f"{bead_id} ({why})" for bead_id, why in skipped.items()]
        more = len(named) - _MOST_NAMED
        rest = f" and {more} more" if more > 0 else ""
        yield f"left alone: {', '.join(named[:_MOST_NAMED])}{rest}"


def _cycles(run: RunStatus, now: str) -> str:
    live = run.rows("attempts") if run.state == "running" else []
    this_s = Instant(str(live[0].get("since", ""))).seconds_until(now) if live else None
    faults = run.count("harness_faults")
    duration = run.number("cycle_duration")
    done, tried = run.count("completed_cycles"), run.count("attempted_cycles")
    parts = [
        f"{done} completed of {tried} attempted",
        f"{faults} harness fault{'s' if faults != 1 else ''}" if faults else "",
        f"the last took {in_words(duration)}" if duration is not None else "",
        f"this one goes on for {in_words(this_s)}" if this_s is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _usage(run: RunStatus) -> str:
    """Unknown is not 0."""
    cost = run.number("total_cost_usd")
    spoken = f"${cost:,.2f}" if cost is not None else _UNKNOWN_COST
    return f"{run.count('total_tokens'):,} tokens, {spoken}"


def _queue_lines(queue: QueueStatus) -> Iterator[str]:
    counts = ", ".join(f"{count} {word}" for word, count in queue.statuses.items())
    yield f"{counted(queue.total, 'bead')}{f': {counts}' if counts else ''}"
    yield f"ready: {queue.ready}, for execution: {queue.ready_for_execution}"
    if queue.not_ready:
        kinds = ", ".join(f"{count} {kind}" for kind, count in queue.not_ready.items())
        yield f"not ready: {kinds}"


def _claim_line(claim: ListedClaim) -> str:
    age = f", {in_words(claim.age_s)} old" if claim.age_s is not None else ""
    gone = ", its process is gone" if claim.is_orphaned else ""
    return f"{claim.id}  {claim.holder.partition(' since ')[0]}{age}{gone}: {claim.title}"


def _harness_parked(run: RunStatus | None, now: str) -> Iterator[str]:
    until = run.text("parked_until") if run is not None and run.state == "running" else ""
    if until:
        yield f"{run.text('agent') if run else ''} has reached its limit, until {_at(until, now)}"


def _parked(held: WaitingBead, now: str) -> str:
    until = f"until {_at(held.until, now)}" if held.until else "and names no time"
    return f"{held.id}  rests {until}: {held.title}"


def _decision(row: object, now: str) -> str:
    if not isinstance(row, dict):
        return ""
    what = " ".join(filter(None, (str(row.get("action", "")), str(row.get("target", "")))))
    return f"{_ago(str(row.get('at', '')), now)}  {what}: {row.get('least_power_explanation', '')}"


def _attempt(attempt: RecentAttempt, now: str) -> str:
    """Of a bead, what became of it; of a pass, that it was made."""
    how = attempt.outcome.replace("_", " ")
    why = f": {attempt.reason}" if attempt.reason and attempt.outcome != "landed" else ""
    by = f" by {attempt.harness}" if attempt.harness else ""
    action = attempt.action or ("build" if attempt.beads else "prompt")
    if attempt.beads:
        said = f"{', '.join(attempt.beads)} {how} ({action}{by}){why}"
    elif attempt.outcome in _WENT_WELL:
        said = f"{action}{by}"
    else:
        said = f"{action}{by}: {how}{why}"
    return f"{_ago(attempt.began_at, now)}  {said}"


def _listed(given: object) -> str:
    return ", ".join(map(str, given)) if isinstance(given, list) else ""


def _ago(at: str, now: str) -> str:
    elapsed_s = Instant(at).seconds_until(now)
    return f"{in_words(elapsed_s)} ago" if elapsed_s is not None else "at an unknown time"


def _at(until: str, now: str) -> str:
    """A time to come: local, and how far off."""
    left_s = Instant(now).seconds_until(until)
    far = f" (in {in_words(left_s)})" if left_s is not None and left_s > 0 else ""
    return f"{when(until, now=now)}{far}"


def _some(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    more = len(found) - _MOST_SHOWN
    return [*found[:_MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _labelled(label: str, texts: list[str], room: int) -> Iterator[StyledText]:
    """The label stands beside the first line; a paragraph without text is left out."""
    left = room - _LABEL if room else 0
    lines = [
        line
        for text in filter(None, texts)
        for line in (_wrapped(text, left) if label in _WHOLE else [_short(text, left)])
    ]
    for number, line in enumerate(lines):
        head = dim(f"{label:<{_LABEL}}") if not number else " " * _LABEL
        yield StyledText(f"{head}{line}")


def _short(text: str, room: int) -> str:
    line = shown(text, one_line=True)
    return cut_to(line, room) if room else line


def _wrapped(text: str, room: int) -> list[str]:
    line = shown(text, one_line=True)
    return wrapped(line, room) if room else [line]
