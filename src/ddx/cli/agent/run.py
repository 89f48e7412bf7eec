"""`ddx agent run`"""

from __future__ import annotations

import sys

from ddx.cli.agent.drain_flags import EFFORT, HARNESS, MODEL, TIMEOUT, read_orders
from ddx.cli.place import CLOCK, here, tell
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import NotFound, UsageError
from ddx.text import listed
from ddx.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.cli.agent.watching import Narrator
    from ddx.execution.model import Happening
    from ddx.harnesses.base import Reply

FAILED, INTERRUPTED = 1, 130
_LONGEST_PROMPT = 1_000_000


def run(
    *,
    prompt: str,
    read_only: bool,
    harness: str | None,
    model: str | None,
    effort: str | None,
    timeout: str | None,
    json: bool,
) -> int:
    from ddx.cli.agent.drain_session import clean_up
    from ddx.cli.agent.watching import Narrator, interruptible
    from ddx.execution.prompting import ask_once
    from ddx.execution.work import open_site
    from ddx.harnesses.base import End
    from ddx.harnesses.registry import resolve_model
    from ddx.supervision import StopRequest

    project = here()
    orders = read_orders(
        project, harness=harness, model=model, effort=effort, timeout=timeout, preface=None
    )
    text = _read_prompt(prompt)
    stop, ear = StopRequest(), _Ear(Narrator())
    site = open_site(project, ear.hear, stop=stop, clock=CLOCK, tell=tell)
    clean_up(site)
    with interruptible(stop) as interruption:
        reply = ask_once(
            site,
            prompt=text,
            harness=orders.harness,
            model=resolve_model(orders.harness, orders.model, site.settings),
            effort=orders.effort,
            limits=orders.limits,
            read_only=read_only,
        )
    reply = changed(reply, text=site.masker.mask(reply.text))
    _report(reply, ear, harness=orders.harness, json=json)
    if reply.end is End.COMPLETED:
        return 0
    stopped = INTERRUPTED if reply.end is End.INTERRUPTED else FAILED
    return interruption.code or stopped


class _Ear:
    """Hears which attempt it is, and what it threw away; the rest is the narrator's."""

    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator
        self.attempt = ""
        self.thrown_away: tuple[str, ...] = ()

    def hear(self, happening: Happening) -> None:
        from ddx.execution.prompting import THROWN_AWAY

        self.attempt = happening.attempt
        if happening.kind == THROWN_AWAY:
            self.thrown_away = tuple(happening.data.get("paths", ()))
        else:
            self._narrator.hear(happening)


def _report(reply: Reply, ear: _Ear, *, harness: str, json: bool) -> None:
    from ddx.cli.agent.rendering import spoken, usage_row
    from ddx.execution.orders import spoken_usage

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
    tell(f"{ended}; {spoken_usage(reply.usage)}; the story: ddx agent log {ear.attempt}")


def _read_prompt(path: str) -> str:
    try:
        if path == "-":
            text = sys.stdin.read(_LONGEST_PROMPT + 1)
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read(_LONGEST_PROMPT + 1)
    except UnicodeDecodeError:
        raise UsageError(f"--prompt {path} is not UTF-8 text") from None
    except OSError as problem:
        raise NotFound(
            f"--prompt {path}: {problem.strerror}", hint="for what you type: --prompt -"
        ) from None
    if not text.strip():
        raise UsageError(
            f"--prompt {path} is empty", hint="echo 'What is here?' | ddx agent run --prompt -"
        )
    if len(text) > _LONGEST_PROMPT:
        raise UsageError(f"--prompt {path} has more than {_LONGEST_PROMPT:,} characters")
    return text


COMMAND = Command(
    "agent run",
    "Ask an agent one thing in a throw-away workspace: no bead, no landing, only its answer.",
    run,
    "ddx agent run --prompt question.md --read-only --harness claude",
    flags=(
        Flag("--prompt", "the file with the prompt; - reads what is piped in", required=True),
        Flag("--read-only", "the agent may look but not change anything", kind="switch"),
        HARNESS,
        MODEL,
        EFFORT,
        TIMEOUT,
        JSON,
    ),
    schema="agent-asked",
)
