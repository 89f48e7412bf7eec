"""`ddx doc stamp`"""

from __future__ import annotations

from ddx import environment
from ddx.cli.doc.rendering import in_authority_order
from ddx.cli.doc.session import load
from ddx.cli.place import CLOCK, here
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.environment import refuse_inside_an_attempt
from ddx.errors import Refused, UsageError
from ddx.git import user_name
from ddx.graph.reviews import record
from ddx.graph.stale import is_reviewable, stamp_for
from ddx.text import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.graph.graph import Graph
    from ddx.project import Project

_UPSTREAM_SHOWN = 8


def run(*, id: tuple[str, ...], all: bool, json: bool) -> int:
    if bool(id) == all:
        raise UsageError(
            "name the documents that you reviewed, or say --all",
            hint="for example: ddx doc stamp TD-001",
        )
    project, graph = load()
    refuse_inside_an_attempt(here(), what="recording a review")
    places = _reviewable(graph) if all else _required(graph, id)
    by, at = _reviewer(project), CLOCK.stamp()
    stamps = [stamp_for(graph, n, at=at, by=by) for n in places]
    record(project, stamps)
    if json:
        answer([{"id": item.id, "at": at, "by": by, "against": item.deps} for item in stamps])
        return 0
    for item in stamps:
        upstream = list(item.deps)[:_UPSTREAM_SHOWN]
        upstream += [f"{more} more"] if (more := len(item.deps) - _UPSTREAM_SHOWN) > 0 else []
        say(f"{item.id}: reviewed by {by}, against {listed(upstream) or 'nothing upstream'}")
    return 0


def _reviewable(graph: Graph) -> list[int]:
    return in_authority_order(graph, (n for n in range(len(graph)) if is_reviewable(graph, n)))


def _required(graph: Graph, names: Sequence[str]) -> list[int]:
    """All of them or none."""
    places = list(dict.fromkeys(graph.require(name) for name in names))
    for n in places:
        if not is_reviewable(graph, n):
            what = graph.statuses[n] or f"of type {graph.types[n]}"
            raise Refused(
                f"{graph.ids[n]} is {what}: it is not reviewed, and nothing was stamped",
                hint=f"ddx doc show {graph.ids[n]}",
            )
    return places


def _reviewer(project: Project) -> str:
    """An agent by its own name, a person by git's."""
    agent = environment.variable("DDX_AGENT_NAME")
    return agent or user_name(project.root) or environment.login() or "someone"


COMMAND = Command(
    "doc stamp",
    "Record that you reviewed documents against their upstream as it is now.",
    run,
    "ddx doc stamp TD-001 TP-001",
    arguments=(Argument("id", "documents that you reviewed", many=True, required=False),),
    flags=(Flag("--all", "every document that can be reviewed", kind="switch"), JSON),
    schema="doc-stamped",
)
