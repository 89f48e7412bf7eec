"""Opening the desk for one action by hand: who is asked, what a person hears, what Ctrl-C means."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from ddx.console.screen import answer, bold, dim, say
from ddx.console.spec import JSON, Argument, Flag
from ddx.text import cut, listed, shown_on_one_line
from helix.cli.control import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.execution.model import Happening
    from ddx.execution.work import Site
    from ddx.supervision import StopRequest
    from helix.desk import Desk
    from helix.settings import HelixSettings

SCOPE = Argument(
    "scope", "a bead, an epic, a document, a label, a path, or repo (the default)", required=False
)
AGENT = Flag("--agent", "which agent program; without it the configured or only one")
MODEL = Flag("--model", "the model, or smart or cheap as configured")
EFFORT = Flag("--effort", "how hard the model thinks, in the harness's own words")
DRY_RUN = Flag(
    "--dry-run", "show the command and the prompt; start and write nothing", kind="switch"
)
ASKING = (AGENT, MODEL, EFFORT, JSON)
REHEARSABLE = (AGENT, MODEL, EFFORT, DRY_RUN, JSON)

_SIGINT, _INTERRUPTED, _TERMINATED = 2, 130, 143
_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
_WIDTH = 100
_POLL_S = 0.2


@contextmanager
def open_desk(
    *, agent: str | None, model: str | None, effort: str | None, reviews: bool = False
) -> Iterator[tuple[Desk, Interruption]]:
    """Inside, Ctrl-C and SIGTERM stop the agent; what earlier attempts left is seen to first."""
    import gc
    import os

    from ddx.clock import SYSTEM_CLOCK
    from ddx.execution.reconciling import reconcile
    from ddx.execution.work import open_site
    from ddx.project import find_project
    from ddx.supervision import StopRequest
    from helix.actions.documents import land_waiting
    from helix.actions.unfiled import file_unfiled
    from helix.settings import read_helix_settings

    gc.enable()  # quick commands do without; an agent may take an hour
    stop = StopRequest()
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=SYSTEM_CLOCK)
    site = open_site(project, hear, stop=stop, clock=SYSTEM_CLOCK, tell=tell)
    desk = make_desk(site, settings, agent=agent, model=model, effort=effort, reviews=reviews)
    interruption = Interruption(stop)
    with interruption:
        for done in reconcile(site):
            tell(done.sentence)
        for landed in land_waiting(site):
            tell(f"{listed(landed.facts.beads)} had waited to land: {landed.status}")
        for sentence in file_unfiled(desk):
            tell(sentence)
        yield desk, interruption


def untouched_desk(
    *, agent: str | None, model: str | None, effort: str | None, reviews: bool = False
) -> Desk:
    """The same for a rehearsal: nothing is written from it, caches included (S-31)."""
    import os

    from ddx.clock import SYSTEM_CLOCK
    from ddx.execution.work import open_site
    from ddx.project import find_project
    from ddx.values import changed
    from helix.settings import read_helix_settings
    from helix.supervisor.rehearsal import Untouched

    found = find_project(os.getcwd())
    project = Untouched(found.root, found.repository)
    settings = read_helix_settings(project, clock=SYSTEM_CLOCK, keep=False)
    site = open_site(project, lambda happening: None, clock=SYSTEM_CLOCK, tell=tell)
    desk = make_desk(site, settings, agent=agent, model=model, effort=effort, reviews=reviews)
    return changed(desk, dry_run=True)


def make_desk(
    site: Site,
    settings: HelixSettings,
    *,
    agent: str | None = None,
    model: str | None,
    effort: str | None,
    reviews: bool = False,
) -> Desk:
    """Who builds and who reviews; the one that `reviews` for a person is the one they asked for."""
    import os

    from ddx.execution.model import Limits
    from ddx.harnesses.registry import choose_harness, find_harness, resolve_model
    from helix.desk import Agent, Desk
    from helix.prompts import find_pages

    other = settings.review_agent
    wanted = agent or (other if reviews else "") or settings.agent
    name = choose_harness(wanted or None, site.settings)
    asked = resolve_model(name, model or "", site.settings, root=os.getcwd())
    builder = reviewer = Agent(name, asked, effort or "")
    if other and other != name and not reviews:
        find_harness(other, site.settings)
        reviewer = Agent(other)  # the builder's model never leaks (S-15)
    own = site.settings.harnesses.get(name)
    wall_s = (own.timeout_s if own else None) or site.settings.agent_timeout_s
    idle_s = (own.idle_s if own else None) or Limits().idle_s
    return Desk(
        site,
        settings,
        find_pages(site.project),
        builder,
        reviewer,
        Limits(float(wall_s), float(idle_s)),
        on_call=lambda action, reply: None,
    )


def show_question(
    desk: Desk, action: str, scope: str, prompt: str, *, json: bool, reads: bool
) -> None:
    """What would be asked, and how the agent would be started (S-31)."""
    from shlex import join

    from helix.supervisor.rehearsal import command_for

    agent = desk.reviewer if action == "review" else desk.builder
    command = command_for(desk, agent, action, prompt, read_only=reads) if prompt else ()
    if json:
        answer({"action": action, "scope": scope, "command": list(command), "prompt": prompt})
    elif prompt:
        say(bold("Command: "), join(command))
        say(bold("Prompt:"))
        say(prompt)


class Interruption:
    """Our meaning of Ctrl-C and SIGTERM inside, the usual one again outside; `code` says which."""

    def __init__(self, stop: StopRequest) -> None:
        self._stop = stop
        self._before: dict[int, object] = {}
        self.code = 0

    def __enter__(self) -> Interruption:
        import signal

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *ended: object) -> None:
        import signal

        for number, old in self._before.items():
            signal.signal(number, old)  # type: ignore[arg-type]

    def _ask(self, number: int, frame: object) -> None:
        self.code = _INTERRUPTED if number == _SIGINT else _TERMINATED
        self._stop.ask()


def typed_line(is_over: Callable[[], bool]) -> str:
    """What a person types; nothing at the end of input, or once all of it is to end (S-21)."""
    from select import select

    while not select([sys.stdin], [], [], _POLL_S)[0]:
        if is_over():
            return ""
    return sys.stdin.readline()


def hear(happening: Happening) -> None:
    if happening.kind in _QUIET or not happening.text:
        return
    text = cut(shown_on_one_line(happening.text), _WIDTH)
    said = f"{happening.kind.replace('-', ' ')}: {text}"
    print(dim(f"{happening.at[11:19]} {happening.attempt[-6:]}"), said, file=sys.stderr)
