"""Opening the desk for one action by hand: who is asked, what a person hears, what Ctrl-C means."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from ddx.console.screen import dim
from ddx.console.spec import JSON, Argument, Flag
from ddx.text import cut, shown, shown_on_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.model import Happening
    from ddx.supervision import StopRequest
    from helix.desk import Desk

SCOPE = Argument(
    "scope", "a bead, an epic, a document, a label, a path, or repo (the default)", required=False
)
AGENT = Flag("--agent", "which agent program; without it the configured or only one")
MODEL = Flag("--model", "the model, or smart or cheap as configured")
EFFORT = Flag("--effort", "how hard the model thinks, in the harness's own words")
ASKING = (AGENT, MODEL, EFFORT, JSON)

_SIGINT, _INTERRUPTED, _TERMINATED = 2, 130, 143
_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
_WIDTH = 100


@contextmanager
def open_desk(
    *, agent: str | None, model: str | None, effort: str | None, reviews: bool = False
) -> Iterator[tuple[Desk, Interruption]]:
    """Inside, Ctrl-C and SIGTERM stop the agent; what dead attempts left is cleaned up first."""
    import gc
    import os

    from ddx.clock import SYSTEM_CLOCK
    from ddx.execution.model import Limits
    from ddx.execution.reconciling import reconcile
    from ddx.execution.work import open_site
    from ddx.harnesses.registry import choose_harness, resolve_model
    from ddx.project import find_project
    from ddx.supervision import StopRequest
    from helix.desk import Agent, Desk
    from helix.prompts import find_pages
    from helix.settings import read_helix_settings

    gc.enable()  # quick commands do without; an agent may take an hour
    stop = StopRequest()
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=SYSTEM_CLOCK)
    site = open_site(project, hear, stop=stop, clock=SYSTEM_CLOCK, tell=tell)
    wanted = (settings.review_agent if reviews else "") or settings.agent
    name = choose_harness(agent or wanted or None, site.settings)
    asked = Agent(name, resolve_model(name, model or "", site.settings), effort or "")
    configured = site.settings.harnesses.get(name)
    wall_s = (configured.timeout_s if configured else None) or site.settings.agent_timeout_s
    idle_s = (configured.idle_s if configured else None) or Limits().idle_s
    desk = Desk(
        site,
        settings,
        find_pages(project),
        asked,
        asked,
        Limits(float(wall_s), float(idle_s)),
        on_call=lambda action, reply: None,
    )
    interruption = Interruption(stop)
    with interruption:
        for done in reconcile(site):
            tell(done.sentence)
        yield desk, interruption


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


def hear(happening: Happening) -> None:
    if happening.kind in _QUIET or not happening.text:
        return
    text = cut(shown_on_one_line(happening.text), _WIDTH)
    said = f"{happening.kind.replace('-', ' ')}: {text}"
    print(dim(f"{happening.at[11:19]} {happening.attempt[-6:]}"), said, file=sys.stderr)


def tell(sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    print(shown(f"helix: {sentence}"), file=sys.stderr)
