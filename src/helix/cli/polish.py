"""`helix polish`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import Command, Flag
from ddx.text import listed
from helix.cli.control import tell
from helix.cli.opening import REHEARSABLE, SCOPE, open_desk, show_question, untouched_desk
from helix.cli.writing import require_rounds

FAILED = 1


def run(
    *,
    scope: str | None,
    rounds: int | None,
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
) -> int:
    from helix.actions.polish import ROUNDS, polish, polish_prompt
    from helix.actions.scope import resolve_scope

    most = require_rounds(rounds, usual=ROUNDS)
    if dry_run:
        desk = untouched_desk(agent=agent, model=model, effort=effort)
        about = resolve_scope(desk.site, scope or "")
        prompt = polish_prompt(desk, about, rounds=most)
        if not prompt:
            tell("there is no bead to polish: no agent is asked")
        show_question(desk, "polish", about.text, prompt, json=json, reads=True)
        return 0
    with open_desk(agent=agent, model=model, effort=effort) as (desk, interruption):
        done = polish(desk, scope or "", rounds=most)
    if json:
        answer(
            {
                "ended": str(done.ended),
                "status": done.values.get("POLISH_STATUS", ""),
                "reason": done.reason,
                "created": list(done.created),
                "updated": list(done.updated),
                "has_changed": done.has_changed,
                "attempt": done.attempt,
            }
        )
    else:
        say(f"polish: {done.values.get('POLISH_STATUS') or done.ended}")
        for what, ids in (("changed", done.updated), ("filed", done.created)):
            if ids:
                say(f"  {what} {listed(ids)}")
        if done.reason:
            say(f"  {done.reason}")
    return interruption.code or (0 if done.ok else FAILED)


COMMAND = Command(
    "polish",
    "Bring beads in line with their documents and make them fit to be built.",
    run,
    "helix polish FEAT-003 --rounds 3",
    arguments=(SCOPE,),
    flags=(
        Flag("--rounds", "how often the agent goes over the beads at most (6)", kind="number"),
        *REHEARSABLE,
    ),
    schema="helix-polished",
)
