"""`helix build`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import Argument, Command, Flag
from helix.cli.control import tell
from helix.cli.opening import ASKING, open_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.execution.model import Bead, Limits
    from helix.desk import Desk
    from helix.policy.model import Candidate
    from helix.supervisor.view import Look

FAILED = 1


def run(
    *,
    selector: tuple[str, ...],
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
) -> int:
    from ddx.errors import ChangedFirst
    from ddx.execution.model import Idle, is_completed
    from ddx.execution.results import result_row, spoken_outcome
    from ddx.execution.work import work_one
    from helix.actions.scope import resolve_scope
    from helix.supervisor.context import context_of
    from helix.supervisor.view import Look
    from helix.work import BuildPolicy, take_stock

    words = " ".join(selector)
    if dry_run:
        return _rehearse(words, agent=agent, model=model, effort=effort, json=json)
    with open_desk(agent=agent, model=model, effort=effort) as (desk, interruption):
        look = Look(desk, resolve_scope(desk.site))
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
            raise ChangedFirst(done.reason, hint="see what is free: ddx bead ready --execution")
        for remark in take_stock(desk, policy.injection, done):
            tell(remark)
    if json:
        answer(result_row(done))
    else:
        for line in spoken_outcome(done):
            say(line)
    return interruption.code or (0 if is_completed(done) else FAILED)


def _chosen(look: Look, words: str) -> Candidate:
    """The first ready bead that is meant; nothing else is ever built (S-2)."""
    from ddx.errors import NotFound
    from helix.policy.selector import meant

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


def _limits(desk: Desk, beads: Sequence[Bead]) -> Limits:
    """What is left of the beads' own budget (X-7)."""
    from ddx.execution.budget import spent_on
    from ddx.execution.orders import Orders, tightened
    from ddx.harnesses.base import Usage

    budget = desk.site.settings.budget
    return tightened(
        Orders(desk.builder.harness, limits=desk.limits),
        Usage(),
        spent=spent_on(desk.site.project, beads),
        usd=budget.bead_usd or 0,
        tokens=budget.bead_tokens or 0,
    )


def _rehearse(
    words: str, *, agent: str | None, model: str | None, effort: str | None, json: bool
) -> int:
    """The same choice and the whole prompt, and not a byte is written (S-31)."""
    from helix.actions.scope import resolve_scope
    from helix.cli.opening import untouched_desk
    from helix.cli.run_rehearsal import show
    from helix.policy.model import Action, Decision
    from helix.supervisor.rehearsal import rehearse_decision
    from helix.supervisor.view import Look

    desk = untouched_desk(agent=agent, model=model, effort=effort)
    scope = resolve_scope(desk.site)
    look = Look(desk, scope)
    bead = _chosen(look, words)
    decision = Decision(Action.BUILD, bead.id, (bead.id,), "somebody asks for it by hand")
    show(rehearse_decision(desk, scope, decision, look), json=json)
    return 0


COMMAND = Command(
    "build",
    "Hand one ready bead to an agent: one attempt, proven and landed (exit 1 if it is not).",
    run,
    "helix build app-1a2b3c4d --agent claude",
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
