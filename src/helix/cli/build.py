"""`helix build`, and the same by its older name, `helix implement`."""

from __future__ import annotations

from ddx.base import changed
from ddx.console import Argument, Command, Flag
from helix.cli.context import ASKING, open_desk, present, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ddx.attempts import Limits
    from ddx.tracker import Bead
    from helix.project import PassContext
    from helix.run import BuildCandidate, ProjectSnapshot

FAILED = 1


@Command.of(
    example="helix build app-1a2b3c4d --agent claude",
    arguments=(
        Argument(
            "selector",
            "an id, a parent, a document, a label, or words of the title; without it the next one",
            many=True,
            required=False,
        ),
    ),
    flags=(
        Flag("--dry-run", "show the choice and the prompt; start and write nothing", "switch"),
        *ASKING,
    ),
    schema="helix-built",
)
def build(*, selector: tuple[str, ...], dry_run: bool, json: bool, **asked: Any) -> int:
    """Hand one ready bead to an agent: one attempt, proven and landed (exit 1 if it is not)."""
    from ddx.attempts import Idle, work_one
    from ddx.base import ConcurrentChange
    from helix.passes import resolve_scope
    from helix.run import BuildPolicy, ProjectSnapshot, context_of, take_stock

    words = " ".join(selector)
    if dry_run:
        return _rehearse(words, json=json, **asked)
    with open_desk(**asked) as (desk, interruption):
        look = ProjectSnapshot(desk, resolve_scope(desk.site))
        bead = _chosen(look, words)
        policy = BuildPolicy(
            desk,
            (bead.id,),
            desk.builder,
            limits=lambda beads: _limits(desk, beads),
            context=context_of(look),
        )
        done = work_one(desk.site, policy)
        if isinstance(done, Idle):
            raise ConcurrentChange(done.reason, hint="see what is free: ddx bead ready --execution")
        for remark in take_stock(desk, policy.injection, done):
            tell(remark)
    present(done.as_row(), done.in_words(), json=json)
    return interruption.code or (0 if done.is_completed else FAILED)


def _chosen(look: ProjectSnapshot, words: str) -> BuildCandidate:
    """The first ready bead that is meant; nothing else is ever built (S-2)."""
    from ddx.base import NotFound
    from helix.run import meant

    found = meant(words, tuple(look.ready()))
    if found:
        if len(found) > 1 and words:
            tell(f"{len(found)} ready beads are meant by that; {found[0].id} is first in the queue")
        return found[0]
    if words in look.snapshot:
        raise NotFound(f"{words} is not ready to be built", hint=f"helix explain {words}")
    raise NotFound(
        f"no ready bead is meant by {words!r}" if words else "no bead is ready to be built",
        hint="see what is ready: ddx bead ready --execution; why not: helix explain BEAD",
    )


def _limits(desk: PassContext, beads: Sequence[Bead]) -> Limits:
    """What is left of the beads' own budget (X-7)."""
    from ddx.attempts import EngineOptions, UsageMeter

    orders = EngineOptions(desk.builder.harness, limits=desk.limits)
    return UsageMeter(orders, desk.site.clock).limits(desk.site, beads)


def _rehearse(words: str, *, json: bool, **asked: Any) -> int:
    """The same choice and the whole prompt, and not a byte is written (S-31)."""
    from helix.cli.context import untouched_desk
    from helix.cli.run_setup import show_dry_run
    from helix.passes import resolve_scope
    from helix.run import Action, Decision, ProjectSnapshot, rehearse_decision

    desk = untouched_desk(**asked)
    scope = resolve_scope(desk.site)
    look = ProjectSnapshot(desk, scope)
    bead = _chosen(look, words)
    decision = Decision(
        Action.BUILD, bead.id, (bead.id,), least_power_explanation="somebody asks for it by hand"
    )
    show_dry_run(rehearse_decision(desk, scope, decision, look), json=json)
    return 0


IMPLEMENT = changed(
    build,
    summary="Another name for `helix build`.",
    example="helix implement area:parser",
)
