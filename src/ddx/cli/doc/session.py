"""What a `ddx doc` command needs: the checkout we stand in, and the graph of its documents."""

from __future__ import annotations

import os

from ddx.cli.place import CLOCK, here, settings
from ddx.graph.cache import load_graph
from ddx.project import find_checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.graph import Graph
    from ddx.project import Project


def document_roots() -> tuple[str, ...]:
    return settings(here()).document_roots


def load() -> tuple[Project, Graph]:
    """The copy of the project that we stand in, and its graph as the files are now.

    An agent in its workspace sees the documents that it is editing, and so does a check.
    """
    checkout = find_checkout(os.getcwd())
    return checkout, load_graph(checkout, document_roots(), clock=CLOCK)
