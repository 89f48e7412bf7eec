"""What `ddx exec` and `ddx metric` need: the project, what it defines, what was run."""

from __future__ import annotations

import os

from ddx.cli.doc.session import document_roots, load
from ddx.cli.place import here, tell
from ddx.graph.proof.catalog import read_definitions
from ddx.graph.proof.records import read_history
from ddx.graph.proof.running import Place
from ddx.project import find_checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.records import History
    from ddx.project import Project


def load_definitions() -> tuple[Project, Definitions]:
    """What can be run here; its records are the project's, whichever copy we stand in."""
    checkout, graph = load()
    return here(), read_definitions(checkout.root, document_roots(), graph)


def this_checkout() -> Place:
    return Place(find_checkout(os.getcwd()).root)


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
