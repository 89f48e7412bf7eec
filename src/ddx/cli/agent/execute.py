"""`ddx agent execute-bead` and `ddx agent execute-loop`: what is typed, read before work begins."""

from __future__ import annotations

import sys

from ddx.base import NotFound, UsageError
from ddx.cli.context import here, settings
from ddx.console import JSON, Argument, Command, Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.attempts import EngineOptions
    from ddx.project import Project

AGENT_FLAGS = (
    Flag("--harness", "which agent program; without it the only one configured or installed"),
    Flag("--model", "the model, smart or cheap as configured, or the script harness's file"),
    Flag("--effort", "how hard the model thinks, in the harness's own words"),
    Flag("--timeout", "seconds that the agent may take (2700)"),
)
"""Which agent works, and how; `read_orders` says what they mean."""

MOST_WORKERS = 32
_PREFACE = Flag("--preface", "a file with text to put before the bead in the prompt")
_LONGEST_PREFACE = 200_000


@Command.of(
    example="ddx agent execute-bead app-1a2b3c4d --harness claude",
    arguments=(Argument("id", "the beads; several are one attempt and one commit", many=True),),
    flags=(
        Flag("--from", "start from this commit instead of the branch's tip"),
        Flag("--no-merge", "keep the result at a ref and do not land it", kind="switch"),
        *AGENT_FLAGS,
        _PREFACE,
        Flag("--manifest", "a JSON file to keep with the attempt's record"),
        JSON,
    ),
    schema="agent-outcome",
)
def execute_bead(*, id: tuple[str, ...], no_merge: bool, json: bool, **typed: Any) -> int:
    """Hand these beads to an agent as one attempt: prove, land, close
    (exit 1 if it does not land).
    """
    from ddx.base import changed
    from ddx.cli.agent.execution import execute, read_manifest

    project = here()
    orders = changed(
        read_orders(project, typed), from_rev=typed["from"] or "", merge=not no_merge, most=1
    )
    manifest = read_manifest(typed["manifest"])
    return execute(project, tuple(dict.fromkeys(id)), orders, manifest, json=json)


@Command.of(
    example="ddx agent execute-loop --once --harness claude",
    flags=(
        Flag("--once", "one attempt, then stop", kind="switch"),
        Flag("--max", "at most so many attempts", kind="number"),
        Flag("--workers", "so many attempts at once (1); they land one at a time", kind="number"),
        Flag("--watch", "go on waiting for work when none is ready", kind="switch"),
        *AGENT_FLAGS,
        _PREFACE,
        Flag("--max-cost", "US dollars for the whole run"),
        Flag("--max-tokens", "tokens for the whole run", kind="number"),
        Flag(
            "--on-limit",
            "at a usage limit wait for its end, stop, or switch to limits.alternate",
            kind="choice",
            choices=("wait", "stop", "switch"),
        ),
        JSON,
    ),
    schema="agent-drained",
)
def execute_loop(
    *,
    once: bool,
    max: int | None,
    workers: int | None,
    watch: bool,
    on_limit: str | None,
    json: bool,
    **typed: Any,
) -> int:
    """Hand ready beads to an agent, one after the other, until none is left."""
    from ddx.base import changed
    from ddx.cli.agent.execution import drain

    project = here()
    if once and (max is not None or watch):
        raise UsageError("--once is one attempt: it goes with neither --max nor --watch")
    if max is not None and max < 1:
        raise UsageError(f"--max must be at least 1, not {max}")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"--workers must be from 1 to {MOST_WORKERS}, not {workers}")
    limits = settings(project).limits
    orders = changed(
        read_orders(project, typed),
        most=1 if once else max or 0,
        workers=1 if once else workers or 1,
        watch=watch,
        on_limit=on_limit or limits.on_limit,
        alternate=limits.alternate,
    )
    return drain(project, orders, json=json)


def read_orders(project: Project, typed: dict[str, Any]) -> EngineOptions:
    """What was typed, checked before anything is read or written; a flag may be missing."""
    from ddx.agents import Harnesses
    from ddx.attempts import EngineOptions, Limits

    found = settings(project)
    name = Harnesses(found).choose(typed["harness"])
    own = found.harnesses.get(name)
    timeout_s = _number(typed.get("timeout"), flag="--timeout", unit="seconds")
    wall_s = timeout_s or (own.timeout_s if own else None) or found.agent_timeout_s
    idle_s = (own.idle_s if own else None) or Limits().idle_s
    max_cost = _number(typed.get("max_cost"), flag="--max-cost", unit="US dollars")
    max_tokens = typed.get("max_tokens")
    if max_tokens is not None and max_tokens < 1:
        raise UsageError(f"--max-tokens must be above 0, not {max_tokens}")
    path = typed.get("preface")
    return EngineOptions(
        name,
        typed.get("model") or "",
        typed.get("effort") or "",
        limits=Limits(float(wall_s), float(idle_s)),
        max_cost_usd=max_cost,
        max_tokens=max_tokens,
        preface=read_text(path, flag="--preface", longest=_LONGEST_PREFACE) if path else "",
    )


def _number(text: str | None, *, flag: str, unit: str) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise UsageError(f"{flag} must be a number of {unit} above 0, not {text!r}")
    return number


def read_text(
    path: str, *, flag: str, longest: int, hint: str = "", may_be_piped: bool = False
) -> str:
    """The text of the file that a flag names, or what is piped in."""
    try:
        if may_be_piped and path == "-":
            text = sys.stdin.read(longest + 1)
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read(longest + 1)
    except OSError as problem:
        raise NotFound(f"{flag} {path}: {problem.strerror}", hint=hint) from None
    except UnicodeDecodeError:
        raise UsageError(f"{flag} {path} is not UTF-8 text") from None
    if len(text) > longest:
        raise UsageError(f"{flag} {path} has more than {longest:,} characters")
    return text
