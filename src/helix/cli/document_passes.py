"""The commands whose pass writes documents: a table of them, and one way to carry each out."""

from __future__ import annotations

from functools import partial

from ddx.base import UsageError, changed, listed
from ddx.console import Argument, Command, Flag
from helix.cli.context import REHEARSABLE, SCOPE, open_desk, present, show_question, untouched_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from helix.passes import PassEnd, PassOrder, PassResult
    from helix.project import PassContext

MOST_ROUNDS = 50


def require_rounds(given: int | None, *, usual: int) -> int:
    """How often an agent goes over the same thing in one pass; without end is no answer."""
    rounds = usual if given is None else given
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds must be from 1 to {MOST_ROUNDS}, not {rounds}")
    return rounds


def carry_out(
    order: Callable[[PassContext], PassOrder],
    exit_codes: Mapping[PassEnd, int] | None = None,
    *,
    dry_run: bool,
    json: bool,
    **asked: Any,
) -> int:
    """One pass from the command line: the same as inside a run (A-6)."""
    from helix.passes import EXIT_CODES, make_pass

    if dry_run:
        desk = untouched_desk(**asked)
        made = order(desk)
        subject = made.subject
        show_question(desk, subject.action, subject.scope, made.prompt, json=json, reads=False)
        return 0
    with open_desk(**asked) as (desk, interruption):
        done = make_pass(desk, order(desk))
    present(
        {**done.__dict__, "ended": str(done.ended), "values": dict(done.values)},
        _lines(done),
        json=json,
    )
    return interruption.code or (exit_codes or EXIT_CODES)[done.ended]


def _lines(done: PassResult) -> Iterator[str]:
    yield f"{done.action}: {done.ended}{f', {done.word}' if done.word else ''}"
    if done.reason:
        yield f"  {done.reason}"
    for name, text in done.values.items():
        yield f"  {name}: {text}"
    if done.commit:
        yield f"  landed as {done.commit[:12]}"
    if done.created:
        yield f"  filed {listed(done.created)}"


# -- the passes ------------------------------------------------------------------------------

_command = partial(Command.of, arguments=(SCOPE,), flags=REHEARSABLE, schema="helix-pass")


@_command(example="helix align FEAT-003")
def align(*, scope: str | None, **given: Any) -> int:
    """Look for drift between documents and code; gaps become beads."""
    from helix.passes import REPO, order_pass

    return carry_out(lambda desk: order_pass(desk, "align", scope or REPO), **given)


@_command(example="helix backfill src/export")
def backfill(*, scope: str | None, **given: Any) -> int:
    """Reconstruct missing documents from the code, as far as evidence reaches."""
    from helix.passes import BACKFILL_EXIT_CODES, REPO, order_pass

    return carry_out(
        lambda desk: order_pass(desk, "backfill", scope or REPO),
        exit_codes=BACKFILL_EXIT_CODES,
        **given,
    )


@_command(
    example="helix design --rounds 3 FEAT-003",
    flags=(Flag("--rounds", "rounds at most (5)", "number"), *REHEARSABLE),
)
def design(*, scope: str | None, rounds: int | None, **given: Any) -> int:
    """Work out how something is to be built, in rounds, and land the plan."""
    from helix.passes import DESIGN_ROUNDS, REPO, order_pass

    most = require_rounds(rounds, usual=DESIGN_ROUNDS)
    return carry_out(lambda desk: order_pass(desk, "design", scope or REPO, rounds=most), **given)


@_command(
    example='helix evolve --artifact FEAT-003 "exports carry their time zone"',
    arguments=(Argument("requirement", "what shall hold from now on", many=True),),
    flags=(
        Flag("--scope", "a bead, a document, a label, a path, or repo (the default)"),
        Flag("--artifact", "the document to begin with"),
        *REHEARSABLE,
    ),
)
def evolve(
    *, requirement: tuple[str, ...], scope: str | None, artifact: str | None, **given: Any
) -> int:
    """Carry a requirement through all documents that it touches."""
    from helix.passes import REPO, order_pass

    words = " ".join(requirement)
    return carry_out(
        lambda desk: order_pass(
            desk, "evolve", scope or REPO, words=words, artifact=artifact or ""
        ),
        **given,
    )


@_command(
    example='helix experiment "the start-up takes less than 50 ms"',
    arguments=(Argument("goal", "a bead, a document, or the goal in words", many=True),),
    flags=(Flag("--close", "end the session: sum it up", "switch"), *REHEARSABLE),
)
def experiment(*, goal: tuple[str, ...], close: bool, **given: Any) -> int:
    """One bounded iteration towards a number; refuses uncommitted changes."""
    from helix.passes import order_pass

    words = " ".join(goal)
    return carry_out(lambda desk: order_pass(desk, "experiment", words=words, close=close), **given)


@_command(example="helix frame")
def frame(*, scope: str | None, **given: Any) -> int:
    """Write the documents that say what is wanted: vision, requirements, features."""
    from helix.passes import REPO, order_pass

    return carry_out(lambda desk: order_pass(desk, "frame", scope or REPO), **given)


PLAN = changed(
    design,
    summary="Another name for `helix design`.",
    example="helix plan --rounds 3 FEAT-003",
)
