"""`ddx doc new`"""

from __future__ import annotations

from ddx.cli.doc.session import document_roots, load
from ddx.cli.place import CLOCK
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.graph.creation import create_document


def run(*, type: str, title: str, depends_on: tuple[str, ...], json: bool) -> int:
    project, graph = load()
    wanted = [name.strip() for given in depends_on for name in given.split(",") if name.strip()]
    created = create_document(
        project,
        document_roots(),
        graph,
        type,
        title,
        depends_on=wanted,
        clock=CLOCK,
    )
    if json:
        answer({"id": created.id, "type": created.type, "path": created.path})
    else:
        say(f"{created.id}  {created.path}")
    return 0


COMMAND = Command(
    "doc new",
    "Begin a document: next free number, right folder, front matter and sections.",
    run,
    'ddx doc new feat "Search that forgives typos" --depends-on prd',
    arguments=(
        Argument("type", "feat, us, adr, sd, td, tp, prd ... or a word for one of them"),
        Argument("title", "its heading"),
    ),
    flags=(
        Flag("--depends-on", "a document that it follows from; again or with commas", many=True),
        JSON,
    ),
    schema="doc-new",
)
