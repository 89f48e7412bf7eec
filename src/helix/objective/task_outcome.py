"""What an attempt on a task comes to, and what its builder says of it (O-2, O-4, O-8). Pure.

The checks decide, not the builder's words: those only say what was delivered, which memories helped
and which bead is which. A mark stands at the beginning of a line, in capitals, with or without
emphasis around it; of several equal marks the last one counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.attempts import Landed, NoChanges
from ddx.base import MarkdownText, cut, listed, shown, value
from helix.objective.model import TaskResult
from helix.run import AwaitLanding, BlockBead, Completed, Guide, Park, Retry, StopRun, follow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ddx.attempts import Outcome
    from helix.run import RoutingRules


MOST_DISTURBANCES = 3
"""So often a task is begun again for a reason that is not its own."""
LONGEST_OUTPUT = 1 << 20
LONGEST_SUMMARY = 200
NOTHING_SAID = "the output says neither DELIVERED, nor PARTIAL, nor BLOCKED"

_LONGEST_REASON = 600
_LONGEST_TEXT = 2000
_MOST_NAMES = 200
_MARK = re.compile(
    r"[ \t]{0,3}(?:#{1,6}[ \t]+|[-*+][ \t]+)?[*_`]*"
    r"(DELIVERED|PARTIAL|BLOCKED|TRIED|ERROR|UTILIZED|TASK_MAPPING)"
    r"[*_`]*[ \t]*:[*_`]*[ \t]*(.*)"
)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(.*)")
_MAPPED = re.compile(r"\s*(?:[-*+•]\s+)?[*_`]*([\w.-]+)[*_`]*\s*(?:->|→|=>)\s*[*_`]*([\w.-]+)")
_NAME = re.compile(r"[*_`\"']*([\w.-]+)[*_`\"']*")


@value
class Delivered:
    summary: str
    needs_review: bool


@value
class RetryTask:
    """Once it has rested; `is_disturbance`: no failure of the task's, so nothing counts it."""

    reason: str
    after_s: float = 0.0
    is_disturbance: bool = False


@value
class GivenUp:
    """It ends like this, and what is known of why."""

    result: TaskResult
    reason: str
    told: Mapping[str, Any] = {}


@value
class TaskAwaitsLanding:
    """Proven; the operator's own edits are in the way (X-13)."""

    reason: str


@value
class Interrupted:
    pass


Verdict: TypeAlias = Delivered | RetryTask | GivenUp | TaskAwaitsLanding | Interrupted


def judge_outcome(
    outcome: Outcome,
    *,
    tries: int,
    disturbances: int,
    rules: RoutingRules,
    outside: tuple[str, ...] = (),
) -> Verdict:
    """`tries` counts the attempts that failed, this one included; `outside` what left the delta."""
    if outside:
        reason = f"it changed files outside of its delta: {listed(outside[:5])}"
        if tries >= rules.max_attempts:
            return GivenUp(TaskResult.BLOCKED, reason, {"check": "delta", "error": "outside"})
        return RetryTask(reason)
    left_open = outcome.left_open if isinstance(outcome, Landed | NoChanges) else ""
    followed = follow(outcome.status, tries, rules, left_open=left_open, documents_drifted=False)
    match followed:
        case Completed(needs_review=needs_review):
            return Delivered(summary_of(outcome), needs_review)
        case Retry(reason=reason, after_s=after_s):
            return RetryTask(reason, after_s)
        case BlockBead(reason=reason) | Guide(reason=reason):
            return GivenUp(TaskResult.BLOCKED, _why(reason, outcome), failure_of(outcome))
        case AwaitLanding(reason=reason):
            return TaskAwaitsLanding(reason)
        case StopRun():
            return Interrupted()
        case Park(reason=reason):
            return RetryTask(_why(reason, outcome), is_disturbance=True)
    if left_open:
        return GivenUp(TaskResult.PARTIAL, followed.reason, {"reason": left_open})
    if disturbances >= MOST_DISTURBANCES:
        return GivenUp(TaskResult.BLOCKED, _why(followed.reason, outcome), failure_of(outcome))
    return RetryTask(followed.reason, is_disturbance=True)


def summary_of(outcome: Outcome) -> str:
    """What was delivered: in the builder's words where it found some, else in ours."""
    reply = outcome.facts.reply
    said = read_output(reply.text).summary if reply else ""
    return cut(shown(said or outcome.facts.reason or "delivered", one_line=True), LONGEST_SUMMARY)


def failure_of(outcome: Outcome) -> dict[str, Any]:
    """The check that failed, how, and with which words: what makes two failures the same (O-4)."""
    failed = next((check for check in outcome.facts.checks if not check.passed), None)
    if failed is None:
        return {"check": str(outcome.status), "error": cut(outcome.facts.reason, _LONGEST_REASON)}
    lines = [line.strip() for line in failed.output_tail.splitlines() if line.strip()]
    complaint = cut(lines[-1] if lines else failed.reason, _LONGEST_REASON)
    return {"check": failed.name, "exit_code": failed.exit_code, "error": complaint}


def _why(reason: str, outcome: Outcome) -> str:
    more = outcome.facts.reason
    return cut(f"{reason}: {more}" if more else reason, _LONGEST_REASON)


# -- the builder's words ---------------------------------------------------------------------


@value
class BuilderOutput:
    """A builder's last words."""

    status: TaskResult
    summary: str = ""
    tried: str = ""
    error: str = ""
    utilized: tuple[str, ...] = ()
    is_known: bool = True
    """False: it did not say how it ended, so it counts as blocked."""

    def as_row(self) -> dict[str, Any]:
        return {**self.__dict__, "status": str(self.status), "utilized": list(self.utilized)}


def parse_output(text: str) -> dict[str, Any]:
    """{status, summary, tried, error, utilized, is_known} of what a builder said."""
    return read_output(text).as_row()


def read_output(text: str) -> BuilderOutput:
    """How a builder says that it ended; saying nothing of it is being blocked (O-2)."""
    lines = _lines(text)
    said: dict[str, str] = {}
    ended = ""
    for line in lines:
        if found := _MARK.match(line):
            key = found[1]
            said[key] = cut(_closed(found[2].strip()), _LONGEST_TEXT)
            if key in ("DELIVERED", "PARTIAL", "BLOCKED"):
                ended = key
    return BuilderOutput(
        TaskResult(ended.lower()) if ended else TaskResult.BLOCKED,
        said.get(ended, ""),
        said.get("TRIED", ""),
        error=said.get("ERROR", "") or ("" if ended else NOTHING_SAID),
        utilized=_utilized(lines),
        is_known=bool(ended),
    )


def _closed(text: str) -> str:
    """Without the emphasis at its end that closes what was opened before the mark."""
    bare = text.rstrip("*_`")
    marks = text.removeprefix(bare)
    return bare if marks and text.count(marks) % 2 else text


def extract_mapping(text: str) -> dict[str, str]:
    """`001 -> app-1f2e` below TASK_MAPPING, as a dictionary."""
    return {
        found[1]: found[2]
        for line in _below("TASK_MAPPING", _lines(text), goes_on=_MAPPED)
        if (found := _MAPPED.match(line))
    }


def _utilized(lines: list[str]) -> tuple[str, ...]:
    """Names in the mark's own line, or one below the other with a reason each."""
    marks = (found for line in lines if (found := _MARK.match(line)))
    inline = [found[2] for found in marks if found[1] == "UTILIZED"][-1:]
    names = _names(it for text in inline for it in text.strip("[] ").split(","))
    below = _below("UTILIZED", lines, goes_on=_BULLET)
    names += _names(found[1] for line in below if (found := _BULLET.match(line)))
    return tuple(name for name in dict.fromkeys(names) if name.lower() != "none")[:_MOST_NAMES]


def _names(given: Iterable[str]) -> list[str]:
    """The word before the colon; prose is no name."""
    heads = (text.partition(":")[0].strip() for text in given)
    return [found[1] for head in heads if (found := _NAME.fullmatch(head))]


def _below(mark: str, lines: list[str], *, goes_on: re.Pattern[str]) -> list[str]:
    """The lines that belong to the last such mark: until one at the margin that does not fit."""
    starts = [n for n, line in enumerate(lines) if (it := _MARK.match(line)) and it[1] == mark]
    found: list[str] = []
    for line in lines[starts[-1] + 1 :] if starts else ():
        is_fitting = goes_on.match(line)
        if (line.strip() and not line[0].isspace() and not is_fitting) or _MARK.match(line):
            break
        if is_fitting:
            found.append(line)
    return found


def _lines(text: str) -> list[str]:
    return MarkdownText(text[-LONGEST_OUTPUT:].strip()).unfenced_lines()
