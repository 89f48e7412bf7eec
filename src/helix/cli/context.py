"""Opening the desk for one action by hand: who is asked, what a person hears, what Ctrl-C means."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial

from ddx.base import Clock, UsageError, changed, cut, listed, shown
from ddx.console import JSON, Argument, Flag, answer, bold, dim, notice, say
from ddx.project import find_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ddx.agents import StopRequest
    from ddx.attempts import AttemptContext, AttemptEvent, StopControls
    from ddx.console import Interruption
    from ddx.project import Project
    from helix.intake import Question
    from helix.project import HelixSettings, PassContext

SCOPE = Argument(
    "scope", "a bead, an epic, a document, a label, a path, or repo (the default)", required=False
)
AGENT = Flag("--agent", "which agent program; without it the configured or only one")
MODEL = Flag("--model", "the model, or smart or cheap as configured")
EFFORT = Flag("--effort", "how hard the model thinks, in the harness's own words")
DRY_RUN = Flag("--dry-run", "show the command and the prompt; start and write nothing", "switch")
ON_LIMIT = Flag(
    "--on-limit",
    "at a usage limit wait for its end, stop, or switch to limits.alternate",
    "choice",
    choices=("wait", "stop", "switch"),
)
ASKING = (AGENT, MODEL, EFFORT, JSON)
REHEARSABLE = (AGENT, MODEL, EFFORT, DRY_RUN, JSON)
_QUIET = frozenset({"agent-said", "agent-tool", "agent-notice", "agent-usage", "agent-started"})
_WIDTH = 100
_POLL_S = 0.2


@contextmanager
def open_desk(
    *, agent: str | None, model: str | None, effort: str | None, reviews: bool = False
) -> Iterator[tuple[PassContext, Interruption]]:
    """Inside, Ctrl-C and SIGTERM stop the agent; what earlier attempts left is seen to first."""
    import gc

    from ddx.agents import StopRequest
    from ddx.attempts import open_site, reconcile
    from ddx.console import Interruption
    from helix.passes import file_unfiled, land_waiting
    from helix.project import read_helix_settings

    gc.enable()  # quick commands do without; an agent may take an hour
    stop = StopRequest()
    project = find_project(os.getcwd())
    settings = read_helix_settings(project, clock=Clock())
    site = open_site(project, hear, stop=stop, clock=Clock(), tell=tell)
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
) -> PassContext:
    """The same for a rehearsal: nothing is written from it, caches included (S-31)."""
    from ddx.attempts import open_site
    from helix.project import read_helix_settings
    from helix.run import ReadOnlyProject

    found = find_project(os.getcwd())
    project = ReadOnlyProject(found.root, found.repository)
    settings = read_helix_settings(project, clock=Clock(), keep=False)
    site = open_site(project, lambda happening: None, clock=Clock(), tell=tell)
    desk = make_desk(site, settings, agent=agent, model=model, effort=effort, reviews=reviews)
    return changed(desk, dry_run=True)


def make_desk(
    site: AttemptContext,
    settings: HelixSettings,
    *,
    agent: str | None = None,
    model: str | None,
    effort: str | None,
    reviews: bool = False,
) -> PassContext:
    """Who builds and who reviews; the one that `reviews` for a person is the one they asked for."""
    from ddx.agents import Harnesses
    from ddx.attempts import Limits
    from helix.passes import find_pages
    from helix.project import Agent, PassContext

    other = settings.review_agent
    wanted = agent or (other if reviews else "") or settings.agent
    name = Harnesses(site.settings).choose(wanted or None)
    asked = Harnesses(site.settings).model(name, model or "", root=os.getcwd())
    builder = reviewer = Agent(name, asked, effort or "")
    if other and other != name and not reviews:
        Harnesses(site.settings).find(other)
        reviewer = Agent(other)  # the builder's model never leaks (S-15)
    own = site.settings.harnesses.get(name)
    wall_s = (own.timeout_s if own else None) or site.settings.agent_timeout_s
    idle_s = (own.idle_s if own else None) or Limits().idle_s
    return PassContext(
        site=site,
        settings=settings,
        pages=find_pages(site.project),
        builder=builder,
        reviewer=reviewer,
        limits=Limits(float(wall_s), float(idle_s)),
        on_call=lambda action, reply: None,
    )


def show_question(
    desk: PassContext, action: str, scope: str, prompt: str, *, json: bool, reads: bool
) -> None:
    """What would be asked, and how the agent would be started (S-31)."""
    from shlex import join

    from helix.run import command_for

    agent = desk.reviewer if action == "review" else desk.builder
    command = command_for(desk, agent, action, prompt, read_only=reads) if prompt else ()
    if json:
        answer({"action": action, "scope": scope, "command": list(command), "prompt": prompt})
    elif prompt:
        say(bold("Command: "), join(command))
        say(bold("Prompt:"))
        say(prompt)


def read_dollars(given: str | None) -> float | None:
    """What was typed after --max-cost; None: nothing was."""
    try:
        return None if given is None else float(given)
    except ValueError:
        raise UsageError(f"--max-cost must be a number of US dollars, not {given!r}") from None


def read_wishes(project: Project, stop: StopRequest) -> StopControls:
    """What a second terminal asks of this run, read when the engine wants to know."""
    from ddx.attempts import StopControls
    from helix.run import ControlRequest, is_asked

    return StopControls(
        stop,
        stop_asked=lambda: is_asked(project, ControlRequest.STOP),
        pause_asked=lambda: is_asked(project, ControlRequest.PAUSE),
    )


def typed_line(is_over: Callable[[], bool]) -> str:
    """What a person types; nothing at the end of input, or once all of it is to end (S-21)."""
    from select import select

    while not select([sys.stdin], [], [], _POLL_S)[0]:
        if is_over():
            return ""
    return sys.stdin.readline()


def hear(happening: AttemptEvent) -> None:
    if happening.kind in _QUIET or not happening.text:
        return
    text = cut(shown(happening.text, one_line=True), _WIDTH)
    said = f"{happening.kind.replace('-', ' ')}: {text}"
    print(dim(f"{happening.at[11:19]} {happening.attempt[-6:]}"), said, file=sys.stderr)


def controlled_project() -> Project:
    """The one we stand in; an agent has no say over the run that started it (A-10)."""
    project = find_project(os.getcwd())
    project.refuse_inside_an_attempt(what="starting and stopping runs", instead="")
    return project


tell = partial(notice, "helix")


def present(row: object, lines: Iterable[str], *, json: bool) -> int:
    """The result as one JSON value, or in lines for a person (C-1); the exit code is 0."""
    if json:
        answer(row)
    else:
        for line in lines:
            say(line)
    return 0


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}


class Dialogue:
    """Question after question; who closes the input has said no to this one and to all others."""

    def __init__(self) -> None:
        self._is_over = False

    def ask(self, question: Question) -> bool:
        if self._is_over:
            return False
        _show(question)
        while True:
            line = _typed("  [Y/n] " if question.default else "  [y/N] ")
            if not line:
                self._is_over = True
                print(file=sys.stderr)
                return False
            word = line.strip().lower()
            if not word:
                return question.default
            if word in _ANSWERS:
                return _ANSWERS[word]
            print("  please answer yes or no", file=sys.stderr)


def _typed(prompt: str) -> str:
    """One line of the person's; Ctrl-C ends it all, and they hear what that means."""
    try:
        print(prompt, end="", file=sys.stderr, flush=True)
        return sys.stdin.readline()
    except KeyboardInterrupt:
        print("\n  nothing was filed for it", file=sys.stderr)
        raise


def _show(question: Question) -> None:
    print(file=sys.stderr)
    print(shown(question.what), file=sys.stderr)
    for name in ("why", "yes", "no"):
        print(shown(f"  {name:4} {getattr(question, name)}"), file=sys.stderr)
