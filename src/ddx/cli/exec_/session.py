"""What `ddx exec` and `ddx metric` need: the project, what it defines, what was run."""

from __future__ import annotations

from ddx.cli.doc.session import document_roots, load
from ddx.cli.place import tell
from ddx.graph.proof.catalog import read_definitions
from ddx.graph.proof.records import read_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.records import History
    from ddx.project import Project


def load_definitions() -> tuple[Project, Definitions]:
    project, graph = load()
    return project, read_definitions(project.root, document_roots(project), graph)


def load_history(project: Project) -> History:
    """The runs that can be read; the others are named."""
    found = read_history(project)
    for path in found.unreadable:
        tell(f"{path} is no record of a run any more and is left out")
    return found


def tell_broken(definitions: Definitions, kind: str) -> bool:
    """One bad definition must not hide the good ones, nor be hidden; False: there is none."""
    broken = [item.finding for item in definitions.broken if item.kind == kind]
    for finding in broken:
        tell(f"{finding.path}:{finding.line}: {finding.what}")
    return bool(broken)
