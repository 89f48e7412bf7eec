"""`ddx doc history`"""

from __future__ import annotations

from ddx.cli.doc.closures import ID
from ddx.cli.doc.session import load
from ddx.cli.place import CLOCK
from ddx.console.screen import answer, bold, say, table, when
from ddx.console.spec import JSON, Command
from ddx.git import commits_of
from ddx.graph import reviews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.git import Commit
    from ddx.graph.stale import Stamp


def run(*, id: str, json: bool) -> int:
    project, graph = load()
    n = graph.require(id)
    stamps = [item for item in reviews.history(project) if item.id == graph.ids[n]]
    commits = commits_of(project.root, graph.paths[n])
    if json:
        answer(
            {
                "id": graph.ids[n],
                "path": graph.paths[n],
                "reviews": [
                    {"at": item.at, "by": item.by, "against": item.deps} for item in stamps
                ],
                "commits": [item.__dict__ for item in commits],
            }
        )
        return 0
    say(bold(graph.ids[n]), f"  {graph.titles[n]}")
    say(graph.paths[n], "\n")
    _print(stamps, commits)
    return 0


def _print(stamps: Sequence[Stamp], commits: Sequence[Commit]) -> None:
    now = CLOCK.stamp()
    if stamps:
        table(
            ("reviewed", "by", "against"),
            [(when(item.at, now=now), item.by, ", ".join(item.deps)) for item in reversed(stamps)],
        )
    else:
        say("never reviewed")
    say()
    if commits:
        table(
            ("commit", "when", "by", "what"),
            [
                (item.commit[:12], when(item.at, now=now), item.author, item.subject)
                for item in commits
            ],
        )
    else:
        say("never committed")


COMMAND = Command(
    "doc history",
    "Show a document's reviews, and the commits that touched its file.",
    run,
    "ddx doc history TD-001",
    arguments=(ID,),
    flags=(JSON,),
    schema="doc-history",
)
