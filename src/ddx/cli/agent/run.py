"""`ddx agent run`"""

from __future__ import annotations

from ddx.base import UsageError, listed
from ddx.cli.agent.execute import AGENT_FLAGS, read_orders, read_text
from ddx.cli.context import CLOCK, here, tell
from ddx.console import JSON, Command, Flag, answer, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ddx.agents import Reply
    from ddx.attempts import AttemptEvent
    from ddx.cli.agent.execution import Narrator

FAILED, INTERRUPTED = 1, 130
_LONGEST_PROMPT = 1_000_000


@Command.of(
    example="ddx agent run --prompt question.md --read-only --harness claude",
    flags=(
        Flag("--prompt", "the file with the prompt; - reads what is piped in", required=True),
        Flag("--read-only", "the agent may look but not change anything", kind="switch"),
        *AGENT_FLAGS,
        JSON,
    ),
    schema="agent-asked",
)
def run(*, prompt: str, read_only: bool, json: bool, **typed: Any) -> int:
    """Ask an agent one thing in a throw-away workspace: no bead, no landing, only its answer."""
    from ddx.agents import CallEnd, StopRequest
    from ddx.attempts import open_site
    from ddx.cli.agent.execution import Narrator, ask_agent, clean_up
    from ddx.console import Interruption

    project = here()
    orders = read_orders(project, typed)
    text = _read_prompt(prompt)
    stop, ear = StopRequest(), _Ear(Narrator())
    site = open_site(project, ear.hear, stop=stop, clock=CLOCK, tell=tell)
    clean_up(site)
    with Interruption(stop) as interruption:
        reply = ask_agent(site, text, orders, read_only=read_only)
    _report(reply, ear, harness=orders.harness, json=json)
    if reply.end is CallEnd.COMPLETED:
        return 0
    stopped = INTERRUPTED if reply.end is CallEnd.INTERRUPTED else FAILED
    return interruption.code or stopped


class _Ear:
    """Hears which attempt it is, and what it threw away; the rest is the narrator's."""

    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator
        self.attempt = ""
        self.thrown_away: tuple[str, ...] = ()

    def hear(self, happening: AttemptEvent) -> None:
        from ddx.attempts import THROWN_AWAY

        self.attempt = happening.attempt
        if happening.kind == THROWN_AWAY:
            self.thrown_away = tuple(happening.data.get("paths", ()))
        else:
            self._narrator.hear(happening)


def _report(reply: Reply, ear: _Ear, *, harness: str, json: bool) -> None:
    from ddx.cli.agent.output import spoken, usage_row

    if ear.thrown_away:
        tell(f"changed in the workspace and thrown away with it: {listed(ear.thrown_away)}")
    if reply.text and not json:
        say(reply.text)
    if json:
        answer(
            {
                "attempt": ear.attempt,
                "harness": harness,
                "end": str(reply.end),
                "text": reply.text,
                "reason": reply.reason,
                "until": reply.until,
                "denied": list(reply.denied),
                "usage": usage_row(reply.usage.as_row()),
                "thrown_away": list(ear.thrown_away),
            }
        )
    ended = f"{spoken(reply.end)}{f', {reply.reason}' if reply.reason else ''}"
    tell(f"{ended}; {reply.usage.in_words}; the story: ddx agent log {ear.attempt}")


def _read_prompt(path: str) -> str:
    text = read_text(
        path,
        flag="--prompt",
        longest=_LONGEST_PROMPT,
        hint="for what you type: --prompt -",
        may_be_piped=True,
    )
    if not text.strip():
        raise UsageError(
            f"--prompt {path} is empty", hint="echo 'What is here?' | ddx agent run --prompt -"
        )
    return text
