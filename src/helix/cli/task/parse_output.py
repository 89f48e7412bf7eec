"""`helix task parse-output`"""

from __future__ import annotations

import sys

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command

TEXT = Argument("text", "what the agent said; `-` reads it from stdin")


def run(*, text: str, json: bool) -> int:
    from helix.objective import parse_output

    row = parse_output(said(text))
    if json:
        answer(row)
        return 0
    say(f"{row['status']}: {row['summary']}" if row["is_known"] else str(row["status"]))
    for name in ("tried", "error"):
        if row[name]:
            say(f"{name}: {row[name]}")
    if row["utilized"]:
        say(f"utilized: {', '.join(row['utilized'])}")
    return 0


def said(text: str) -> str:
    """The text itself, or as much of stdin as is ever looked at."""
    if text != "-":
        return text
    from helix.objective.outputs import LONGEST_OUTPUT

    return sys.stdin.buffer.read(4 * LONGEST_OUTPUT).decode("utf-8", "replace")


COMMAND = Command(
    "task parse-output",
    "What a builder's last words come to: delivered, partial or blocked.",
    run,
    "helix task parse-output 'DELIVERED: logins are throttled' --json",
    arguments=(TEXT,),
    flags=(JSON,),
    schema="task-output",
)
