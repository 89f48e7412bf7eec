"""`helix check`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import Command, Flag
from ddx.values import changed
from helix.cli.control import tell
from helix.cli.opening import REHEARSABLE, SCOPE, open_desk, show_question, untouched_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.harnesses.base import Reply
    from helix.desk import Desk

UNREADABLE = 1
AUTO, ALWAYS = "auto", "always-agent"


def run(
    *,
    scope: str | None,
    check: str,
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
) -> int:
    from helix.actions.check import check as look
    from helix.actions.scope import resolve_scope
    from helix.policy.model import EXIT_CODES, Action
    from helix.policy.trailers import Unreadable

    if dry_run:
        desk = untouched_desk(agent=agent, model=model, effort=effort)
        return _rehearse(desk, scope or "", always_ask=check == ALWAYS, json=json)
    calls: list[Reply] = []
    with open_desk(agent=agent, model=model, effort=effort) as (desk, interruption):
        desk = changed(desk, on_call=lambda action, reply: calls.append(reply))
        about = resolve_scope(desk.site, scope or "")
        found = look(desk, about, always_ask=check == ALWAYS)
    if isinstance(found, Unreadable):
        tell(f"the answer cannot be read: {found.reason}")
        if json:
            answer({"readable": False, "reason": found.reason, "asked": len(calls)})
        return interruption.code or UNREADABLE
    if json:
        answer(
            {
                "readable": True,
                "next_action": str(found.answer),
                "reason": found.reason,
                "question": found.question,
                "scope": about.text,
                "state": found.state,
                "asked": len(calls),
            }
        )
    else:
        say(f"{found.answer}: {found.reason}" if found.reason else str(found.answer))
        if found.question:
            say(f"  {found.question}")
    if not calls:
        tell("no agent was asked: the state alone tells, or it was asked about before")
    return EXIT_CODES.get(Action(found.answer.lower()), 0)


def _rehearse(desk: Desk, word: str, *, always_ask: bool, json: bool) -> int:
    """What would be asked, unless it is known already; not a byte is written (S-31)."""
    from helix.actions.check import check_prompt, known_answer
    from helix.actions.scope import resolve_scope

    scope = resolve_scope(desk.site, word)
    known = None if always_ask else known_answer(desk, scope)
    if known:
        tell(f"nobody would be asked: {known.answer}, {known.reason}")
    prompt = "" if known else check_prompt(desk, scope)
    show_question(desk, "check", scope.text, prompt, json=json, reads=True)
    return 0


COMMAND = Command(
    "check",
    "Ask what the project needs next; one agent call a state, then from memory.",
    run,
    "helix check FEAT-003",
    arguments=(SCOPE,),
    flags=(
        Flag(
            "--check",
            "auto asks once a state, always-agent asks in any case",
            kind="choice",
            choices=(AUTO, ALWAYS),
            default=AUTO,
        ),
        *REHEARSABLE,
    ),
    schema="helix-checked",
)
