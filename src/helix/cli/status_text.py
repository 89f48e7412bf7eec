"""The snapshot as a person reads it: what needs them first, then the run, then the queue (S-25)."""

from __future__ import annotations

from ddx.console.columns import cut_to, wrapped
from ddx.console.screen import Styled, bold, dim, when
from ddx.instants import in_words, seconds_between
from ddx.text import counted, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helix.status.model import Attempt, Claim, Held, Need, Objective, Queue, Run, Status

_LABEL = 10
_MOST_SHOWN, _MOST_NAMED = 8, 3
_NARROWEST = 20
_WHOLE = frozenset({"objective", "run", "cycles", "usage", "focus", "queue"})
"""Paragraphs that are broken where a line ends; of the others, lists, each entry is one line."""
_UNKNOWN_COST = "cost unknown"
_WENT_WELL = ("answered", "no_changes")


def frame(status: Status, *, width: int) -> list[Styled]:
    """Its lines, each at most `width` long; 0: as long as they are."""
    room = max(width, _NARROWEST) if width else 0
    lines = [*_needs(status.needs, room)]
    for label, texts in _paragraphs(status):
        lines += _labelled(label, texts, room)
    return lines


def _needs(needs: tuple[Need, ...], room: int) -> Iterator[Styled]:
    if not needs:
        return
    yield bold("needs you")
    for need in needs[:_MOST_SHOWN]:
        first, *more = _wrapped(need.what, room - 4 if room else 0)
        yield Styled(f"  ! {first}")
        yield from (Styled(f"    {line}") for line in more)
        if need.next:
            for line in _wrapped(need.next, room - 6 if room else 0):
                yield Styled(f"      {bold(line)}")
    if len(needs) > _MOST_SHOWN:
        rest = f"and {len(needs) - _MOST_SHOWN} more: helix status --json"
        yield from (Styled(f"    {line}") for line in _wrapped(rest, room - 4 if room else 0))
    yield Styled("")


def _paragraphs(status: Status) -> Iterator[tuple[str, list[str]]]:
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


def _objective_lines(objective: Objective) -> Iterator[str]:
    spent = in_words(objective.elapsed_s) if objective.elapsed_s is not None else "some time"
    yield f"{objective.state}: {objective.text or objective.id}"
    wishes = (
        "paused"
        if objective.is_paused and wish == "pause"
        else f"asked to {wish} at the next boundary"
        for wish in objective.asked
    )
    yield ", ".join((f"at work for {spent}, pid {objective.pid}", *wishes))


def _run_lines(run: Run, now: str) -> Iterator[str]:
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


def _cycles(run: Run, now: str) -> str:
    live = run.rows("attempts") if run.state == "running" else []
    this_s = seconds_between(str(live[0].get("since", "")), now) if live else None
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


def _usage(run: Run) -> str:
    """Unknown is not 0."""
    cost = run.number("total_cost_usd")
    spoken = f"${cost:,.2f}" if cost is not None else _UNKNOWN_COST
    return f"{run.count('total_tokens'):,} tokens, {spoken}"


def _queue_lines(queue: Queue) -> Iterator[str]:
    counts = ", ".join(f"{count} {word}" for word, count in queue.statuses.items())
    yield f"{counted(queue.total, 'bead')}{f': {counts}' if counts else ''}"
    yield f"ready: {queue.ready}, for execution: {queue.ready_for_execution}"
    if queue.not_ready:
        kinds = ", ".join(f"{count} {kind}" for kind, count in queue.not_ready.items())
        yield f"not ready: {kinds}"


def _claim_line(claim: Claim) -> str:
    age = f", {in_words(claim.age_s)} old" if claim.age_s is not None else ""
    gone = ", its process is gone" if claim.is_orphaned else ""
    return f"{claim.id}  {claim.holder.partition(' since ')[0]}{age}{gone}: {claim.title}"


def _harness_parked(run: Run | None, now: str) -> Iterator[str]:
    until = run.text("parked_until") if run is not None and run.state == "running" else ""
    if until:
        yield f"{run.text('agent') if run else ''} has reached its limit, until {_at(until, now)}"


def _parked(held: Held, now: str) -> str:
    until = f"until {_at(held.until, now)}" if held.until else "and names no time"
    return f"{held.id}  rests {until}: {held.title}"


def _decision(row: object, now: str) -> str:
    if not isinstance(row, dict):
        return ""
    what = " ".join(filter(None, (str(row.get("action", "")), str(row.get("target", "")))))
    return f"{_ago(str(row.get('at', '')), now)}  {what}: {row.get('least_power_explanation', '')}"


def _attempt(attempt: Attempt, now: str) -> str:
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
    elapsed_s = seconds_between(at, now)
    return f"{in_words(elapsed_s)} ago" if elapsed_s is not None else "at an unknown time"


def _at(until: str, now: str) -> str:
    """A time to come: local, and how far off."""
    left_s = seconds_between(now, until)
    far = f" (in {in_words(left_s)})" if left_s is not None and left_s > 0 else ""
    return f"{when(until, now=now)}{far}"


def _some(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    more = len(found) - _MOST_SHOWN
    return [*found[:_MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _labelled(label: str, texts: list[str], room: int) -> Iterator[Styled]:
    """The label stands beside the first line; a paragraph without text is left out."""
    left = room - _LABEL if room else 0
    lines = [
        line
        for text in filter(None, texts)
        for line in (_wrapped(text, left) if label in _WHOLE else [_short(text, left)])
    ]
    for number, line in enumerate(lines):
        head = dim(f"{label:<{_LABEL}}") if not number else " " * _LABEL
        yield Styled(f"{head}{line}")


def _short(text: str, room: int) -> str:
    line = shown_on_one_line(text)
    return cut_to(line, room) if room else line


def _wrapped(text: str, room: int) -> list[str]:
    line = shown_on_one_line(text)
    return wrapped(line, room) if room else [line]
