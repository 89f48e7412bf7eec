"""`ddx agent execute-loop`"""

from __future__ import annotations

from ddx.cli.agent.drain_flags import (
    EFFORT,
    HARNESS,
    MAX_COST,
    MAX_TOKENS,
    MODEL,
    PREFACE,
    TIMEOUT,
    read_orders,
)
from ddx.cli.place import here, settings
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import UsageError

MOST_WORKERS = 32


def run(
    *,
    once: bool,
    max: int | None,
    workers: int | None,
    watch: bool,
    harness: str | None,
    model: str | None,
    effort: str | None,
    timeout: str | None,
    preface: str | None,
    max_cost: str | None,
    max_tokens: int | None,
    on_limit: str | None,
    json: bool,
) -> int:
    from ddx.cli.agent.drain_session import drain
    from ddx.values import changed

    project = here()
    if once and (max is not None or watch):
        raise UsageError("--once is one attempt: it goes with neither --max nor --watch")
    if max is not None and max < 1:
        raise UsageError(f"--max must be at least 1, not {max}")
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"--workers must be from 1 to {MOST_WORKERS}, not {workers}")
    limits = settings(project).limits
    orders = changed(
        read_orders(
            project,
            harness=harness,
            model=model,
            effort=effort,
            timeout=timeout,
            preface=preface,
            max_cost=max_cost,
            max_tokens=max_tokens,
        ),
        most=1 if once else max or 0,
        workers=1 if once else workers or 1,
        watch=watch,
        on_limit=on_limit or limits.on_limit,
        alternate=limits.alternate,
    )
    return drain(project, orders, json=json)


COMMAND = Command(
    "agent execute-loop",
    "Hand ready beads to an agent, one after the other, until none is left.",
    run,
    "ddx agent execute-loop --once --harness claude",
    flags=(
        Flag("--once", "one attempt, then stop", kind="switch"),
        Flag("--max", "at most so many attempts", kind="number"),
        Flag("--workers", "so many attempts at once (1); they land one at a time", kind="number"),
        Flag("--watch", "go on waiting for work when none is ready", kind="switch"),
        HARNESS,
        MODEL,
        EFFORT,
        TIMEOUT,
        PREFACE,
        MAX_COST,
        MAX_TOKENS,
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
