"""What a `ddx doc` command needs: the project and its graph."""

from __future__ import annotations

from ddx.cli.place import CLOCK, here, settings
from ddx.graph.cache import load_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.graph import Graph
    from ddx.project import Project


def document_roots(project: Project) -> tuple[str, ...]:
    return settings(project).document_roots


def load() -> tuple[Project, Graph]:
    """The project we stand in, and its graph as the files are now."""
    project = here()
    return project, load_graph(project, document_roots(project), clock=CLOCK)
