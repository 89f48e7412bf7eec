"""`helix task detect-cycles`"""

from __future__ import annotations

from typing import Any

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command
from ddx.errors import UsageError
from helix.cli.task.parse_output import said


def run(*, dependencies: str, json: bool) -> int:
    from helix.objective import detect_cycles

    cycles = detect_cycles(_read(said(dependencies)))
    if json:
        answer({"cycles": cycles, "has_cycles": bool(cycles)})
    elif cycles:
        for ring in cycles:
            say(" -> ".join(ring))
    else:
        say("no task waits for itself")
    return 0


def _read(text: str) -> dict[str, list[str]]:
    from ddx.fastjson import loads

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


COMMAND = Command(
    "task detect-cycles",
    "The rings in which tasks wait for each other.",
    run,
    """helix task detect-cycles '{"a": ["b"], "b": ["a"]}' --json""",
    arguments=(Argument("dependencies", "what each waits for, as JSON; `-` reads it from stdin"),),
    flags=(JSON,),
    schema="task-cycles",
)
