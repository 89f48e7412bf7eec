"""What the commands share whose passes write documents: their flags, and one way to be made."""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.errors import UsageError
from ddx.text import listed
from helix.cli.opening import REHEARSABLE, open_desk, show_question, untouched_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from helix.actions.documents import Order
    from helix.actions.model import Ended, Pass
    from helix.desk import Desk

FLAGS = REHEARSABLE
MOST_ROUNDS = 50


def require_rounds(given: int | None, *, usual: int) -> int:
    """How often an agent goes over the same thing in one pass; without end is no answer."""
    rounds = usual if given is None else given
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds must be from 1 to {MOST_ROUNDS}, not {rounds}")
    return rounds


def carry_out(
    action: Callable[[Desk], Order],
    make: Callable[[Desk, Order], Pass] | None = None,
    exit_codes: Mapping[Ended, int] | None = None,
    *,
    dry_run: bool,
    json: bool,
    **asked: Any,
) -> int:
    """One pass from the command line: the same as inside a run (A-6)."""
    from helix.actions.documents import EXIT_CODES, make_pass

    if dry_run:
        desk = untouched_desk(**asked)
        order = action(desk)
        subject = order.subject
        show_question(desk, subject.action, subject.scope, order.prompt, json=json, reads=False)
        return 0
    with open_desk(**asked) as (desk, interruption):
        done = (make or make_pass)(desk, action(desk))
    if json:
        answer(pass_row(done))
    else:
        _print(done)
    return interruption.code or (exit_codes or EXIT_CODES)[done.ended]


def pass_row(done: Pass) -> dict[str, object]:
    return {
        **done.__dict__,
        "ended": str(done.ended),
        "created": list(done.created),
        "updated": list(done.updated),
        "values": dict(done.values),
    }


def _print(done: Pass) -> None:
    word = f", {done.word}" if done.word else ""
    say(f"{done.action}: {done.ended}{word}")
    if done.reason:
        say(f"  {done.reason}")
    for name, text in done.values.items():
        say(f"  {name}: {text}")
    if done.commit:
        say(f"  landed as {done.commit[:12]}")
    if done.created:
        say(f"  filed {listed(done.created)}")
