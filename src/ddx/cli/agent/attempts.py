"""`ddx agent attempts`"""

from __future__ import annotations

from ddx.cli.place import CLOCK, here
from ddx.console.screen import answer, dim, on_terminal, say, screen_width, table
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.cli.agent.finding import Attempt

LIMIT = 20
_COMMANDS = ("show", "land", "drop", "log")


def run(*, id: str | None, limit: int | None, json: bool) -> int:
    from itertools import islice

    from ddx.cli.agent.finding import read_attempts
    from ddx.cli.agent.rendering import attempt_row

    if id in _COMMANDS:
        raise UsageError(
            f"{id!r} is no bead but a command", hint=f"for example: ddx agent {id} last"
        )
    project = here()
    wanted = read_attempts(project, bead=id or "")
    found = list(islice(wanted, LIMIT if limit is None else limit))
    if id and not found:
        _require_bead(id)
    if json:
        answer([attempt_row(attempt, project) for attempt in found])
    elif found:
        _print(found)
    else:
        say(f"no attempt on {id} yet" if id else "no attempt yet: ddx agent execute-loop --once")
    return 0


def _require_bead(bead_id: str) -> None:
    """A name that nobody knows is a mistake, and no answer."""
    from ddx.cli.session import open_tracker

    open_tracker().snapshot().row(bead_id)


def _print(found: list[Attempt]) -> None:
    from ddx.cli.agent.rendering import attempt_columns, fitting

    columns = attempt_columns(found, now=CLOCK.stamp())
    chosen = fitting(columns, screen_width()) if on_terminal() else columns
    heads = [column.head for column in chosen]
    table(heads, list(zip(*(column.cells for column in chosen), strict=True)))
    if len(chosen) < len(columns):
        say(dim(f"all of one: ddx agent show {found[0].id}"))


COMMAND = Command(
    "agent attempts",
    "List attempts, newest first: how each ended, what it took, what is kept of it.",
    run,
    "ddx agent attempts app-1a2b3c4d --limit 5",
    arguments=(Argument("id", "only those on this bead", required=False),),
    flags=(Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"), JSON),
    schema="agent-attempts",
)
