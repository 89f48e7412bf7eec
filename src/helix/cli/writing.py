"""What the commands share whose passes write documents: flags, the desk, the answer."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ddx.clock import SYSTEM_CLOCK
from ddx.console.screen import answer, dim, say
from ddx.console.spec import JSON, Argument, Flag
from ddx.execution.model import Limits
from ddx.execution.reconciling import reconcile
from ddx.execution.relanding import land_pending
from ddx.execution.work import open_site
from ddx.harnesses.registry import choose_harness, resolve_model
from ddx.project import find_project
from ddx.supervision import StopRequest
from ddx.text import cut, listed, shown, shown_on_one_line
from helix.actions.documents import EXIT_CODES, make_pass
from helix.actions.model import Ended
from helix.desk import Agent, Desk
from helix.prompts import find_pages
from helix.settings import read_helix_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ddx.execution.model import Happening
    from helix.actions.documents import Order
    from helix.actions.model import Pass

SCOPE = Argument(
    "scope", "a bead, a document, a label, a path, or repo (the default)", required=False
)
FLAGS = (
    Flag("--agent", "which agent program; without it the configured or only one"),
    Flag("--model", "the model, or smart or cheap as configured"),
    Flag("--effort", "how hard the model thinks, in the harness's own words"),
    Flag("--dry-run", "print the prompt, and neither ask nor write anything", kind="switch"),
    JSON,
)

_INTERRUPTED, _TERMINATED = 130, 143
_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
_WIDTH = 100


def carry_out(
    action: Callable[[Desk], Order],
    *,
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
    make: Callable[[Desk, Order], Pass] = make_pass,
    exit_codes: Mapping[Ended, int] = EXIT_CODES,
) -> int:
    """One pass from the command line: the same as inside a run (A-6)."""
    stop = StopRequest()
    desk = _open_desk(stop, agent=agent, model=model, effort=effort, dry_run=dry_run)
    order = action(desk)
    if dry_run:
        _show_prompt(order, json=json)
        return 0
    gc.enable()  # quick commands do without; an agent may take an hour
    with _interruptible(stop) as ended_by:
        for done in reconcile(desk.site):
            _tell(done.sentence)
        for landed in land_pending(desk.site):
            _tell(f"{listed(landed.facts.beads)} had waited to land")
        result = make(desk, order)
    if json:
        answer(pass_row(result))
    else:
        _print(result)
    return ended_by[0] if ended_by else exit_codes[result.ended]


def pass_row(done: Pass) -> dict[str, object]:
    return {
        **done.__dict__,
        "ended": str(done.ended),
        "created": list(done.created),
        "updated": list(done.updated),
        "values": dict(done.values),
    }


def _open_desk(
    stop: StopRequest, *, agent: str | None, model: str | None, effort: str | None, dry_run: bool
) -> Desk:
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=SYSTEM_CLOCK, keep=not dry_run)
    site = open_site(project, _hear, stop=stop, clock=SYSTEM_CLOCK, tell=_tell)
    name = choose_harness(agent or settings.agent or None, site.settings)
    configured = site.settings.harnesses.get(name)
    wall_s = (configured.timeout_s if configured else None) or site.settings.agent_timeout_s
    idle_s = (configured.idle_s if configured else None) or Limits().idle_s
    builder = Agent(name, resolve_model(name, model or "", site.settings), effort or "")
    return Desk(
        site,
        settings,
        find_pages(project),
        builder,
        Agent(settings.review_agent or name),
        Limits(float(wall_s), float(idle_s)),
        on_call=lambda action, reply: None,
        dry_run=dry_run,
    )


@contextmanager
def _interruptible(stop: StopRequest) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM stop the agent and keep its work; inside, the list says by which."""
    ended_by: list[int] = []

    def ask(number: int, frame: object) -> None:
        ended_by.append(_INTERRUPTED if number == signal.SIGINT else _TERMINATED)
        stop.ask()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended_by
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _hear(happening: Happening) -> None:
    if happening.kind in _QUIET or not happening.text:
        return
    text = cut(shown_on_one_line(happening.text), _WIDTH)
    said = f"{happening.kind.replace('-', ' ')}: {text}"
    print(dim(f"{happening.at[11:19]} {happening.attempt[-6:]}"), said, file=sys.stderr)


def _tell(sentence: str) -> None:
    print(shown(f"helix: {sentence}"), file=sys.stderr)


def _show_prompt(order: Order, *, json: bool) -> None:
    if json:
        answer(
            {"action": order.subject.action, "scope": order.subject.scope, "prompt": order.prompt}
        )
    else:
        say(order.prompt)


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
