"""`ddx doc new`"""

from __future__ import annotations

from ddx.cli.context import CLOCK, document_roots, load_documents, respond
from ddx.console import JSON, Argument, Command, Flag
from ddx.documents import create_document


@Command.of(
    example='ddx doc new feat "Search that forgives typos" --depends-on prd',
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
def run(*, type: str, title: str, depends_on: tuple[str, ...], json: bool) -> int:
    """Begin a document: next free number, right folder, front matter and sections."""
    project, graph = load_documents()
    wanted = [name.strip() for given in depends_on for name in given.split(",") if name.strip()]
    created = create_document(
        project, document_roots(), graph, type, title, depends_on=wanted, clock=CLOCK
    )
    row = {"id": created.id, "type": created.type, "path": created.path}
    return respond(row, f"{created.id}  {created.path}", json=json)
