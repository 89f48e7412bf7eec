"""What commands share: where we are, what holds here, who asks, and how an answer is given."""

from __future__ import annotations

import os
import sys

from ddx.base import Clock, login, variable
from ddx.console import answer, notice, say
from ddx.project import Project, Settings, find_checkout, find_project, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.documents import Graph
    from ddx.tracker import Claimant, Tracker

CLOCK = Clock()


def here() -> Project:
    return find_project(os.getcwd())


def settings(project: Project) -> Settings:
    return read_settings(project, clock=CLOCK)


def tell(sentence: str) -> None:
    """For the person; stdout is for the result (C-1)."""
    notice("ddx", sentence)


def respond(result: object, *lines: str, json: bool) -> int:
    """The result as JSON, or in lines for a person; the exit code is that of success."""
    if json:
        answer(result)
    else:
        for line in lines:
            say(line)
    return 0


def actor() -> str:
    return variable("DDX_AGENT_NAME") or login()


def open_tracker(project: Project | None = None) -> Tracker:
    """The tracker of the project that we stand in."""
    from ddx.tracker import open_tracker as open_tracker_of

    command = " ".join(["ddx", *sys.argv[1:4]])
    return open_tracker_of(project or here(), command=command, tell=tell, clock=CLOCK)


def claimant(owner: str | None, project: Project) -> Claimant:
    """Who claims; we are gone in a moment, so a runner is the process that called us."""
    from ddx.tracker import claimant as claimant_of

    return claimant_of(owner or "", project, actor=actor(), runner_pid=os.getppid())


def document_roots() -> tuple[str, ...]:
    return settings(here()).document_roots


def load_documents() -> tuple[Project, Graph]:
    """The copy of the project that we stand in, and the graph of its documents as they are now.

    An agent in its workspace sees the documents that it is editing, and so does a check.
    """
    from ddx.documents import load_graph

    checkout = find_checkout(os.getcwd())
    return checkout, load_graph(checkout, document_roots(), clock=CLOCK)
