"""`helix task`: the words that builders and planners answer in, read for agents."""

from __future__ import annotations

import sys
from typing import Any

from ddx.base import UsageError, loads
from ddx.console import JSON, Argument, Command
from helix.cli.context import present

TEXT = Argument("text", "what the agent said; `-` reads it from stdin")


@Command.of(
    example="helix task parse-output 'DELIVERED: logins are throttled' --json",
    arguments=(TEXT,),
    flags=(JSON,),
    schema="task-output",
)
def parse_output(*, text: str, json: bool) -> int:
    """What a builder's last words come to: delivered, partial or blocked."""
    from helix.objective import parse_output

    row = parse_output(_said(text))
    lines = [f"{row['status']}: {row['summary']}" if row["is_known"] else str(row["status"])]
    lines += [f"{name}: {row[name]}" for name in ("tried", "error") if row[name]]
    lines += [f"utilized: {', '.join(row['utilized'])}"] if row["utilized"] else []
    return present(row, lines, json=json)


def _said(text: str) -> str:
    """The text itself, or as much of stdin as is ever looked at."""
    if text != "-":
        return text
    from helix.objective import LONGEST_OUTPUT

    return sys.stdin.buffer.read(4 * LONGEST_OUTPUT).decode("utf-8", "replace")


@Command.of(
    example="""helix task detect-cycles '{"a": ["b"], "b": ["a"]}' --json""",
    arguments=(Argument("dependencies", "what each waits for, as JSON; `-` reads it from stdin"),),
    flags=(JSON,),
    schema="task-cycles",
)
def detect_cycles(*, dependencies: str, json: bool) -> int:
    """The rings in which tasks wait for each other."""
    from helix.objective import detect_cycles

    cycles = detect_cycles(_read(_said(dependencies)))
    lines = [" -> ".join(ring) for ring in cycles] or ["no task waits for itself"]
    return present({"cycles": cycles, "has_cycles": bool(cycles)}, lines, json=json)


def _read(text: str) -> dict[str, list[str]]:
    try:
        found: Any = loads(text)
    except ValueError as problem:
        raise UsageError(f"the dependencies are {problem}") from None
    fits = isinstance(found, dict) and all(
        isinstance(waits, list) and all(isinstance(it, str) for it in waits)
        for waits in found.values()
    )
    if not fits:
        raise UsageError(
            "the dependencies are an object of lists", hint='for example: {"b": ["a"], "a": []}'
        )
    rows: dict[str, list[str]] = found
    return rows


@Command.of(
    example="helix task extract-mapping 'TASK_MAPPING: see plan.md' --json",
    arguments=(TEXT,),
    flags=(JSON,),
    schema="task-mapping",
)
def extract_mapping(*, text: str, json: bool) -> int:
    """Which task is which bead, as a planner says it below TASK_MAPPING."""
    from helix.objective import extract_mapping

    found = extract_mapping(_said(text))
    return present(found, (f"{seq} -> {bead}" for seq, bead in found.items()), json=json)
