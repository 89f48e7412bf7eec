"""`ddx exec define`"""

from __future__ import annotations

from ddx.base import UsageError, dumps, require_clean
from ddx.cli.context import CLOCK, document_roots, load_documents, respond
from ddx.console import JSON, Argument, Command, Flag
from ddx.documents import DEFAULT_TIMEOUT_MS, create_document, define

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@Command.of(
    example='ddx exec define "Unit tests" --command "pytest -q" --required',
    arguments=(Argument("title", "what it is called; its number is the next free one"),),
    flags=(
        Flag("--command", "what to run, by sh", required=True),
        Flag("--cwd", "in which folder of the project; its root if not given"),
        Flag(
            "--timeout-ms",
            f"how long it may take; {DEFAULT_TIMEOUT_MS} if not given",
            kind="number",
        ),
        Flag("--required", "it must pass before work on what it proves lands", kind="switch"),
        Flag("--artifact", "a document that it proves; again for more", many=True),
        JSON,
    ),
    schema="exec-defined",
)
def run(
    *,
    title: str,
    command: str,
    cwd: str | None,
    timeout_ms: int | None,
    required: bool,
    artifact: tuple[str, ...],
    json: bool,
) -> int:
    """Write an execution document: a command, and what it proves."""
    project, graph = load_documents()
    proven = tuple(dict.fromkeys(graph.ids[graph.require(name)] for name in artifact))
    table = {
        "kind": "command",
        "command": require_clean(command, what="the command"),
        "cwd": require_clean(cwd or "", what="the folder"),
        "timeout_ms": str(DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms),
        "required": "true" if required else "false",
        "artifact_ids": list(proven),
    }
    _require_usable(table)
    created = create_document(
        project,
        document_roots(),
        graph,
        "exec",
        title,
        depends_on=proven,
        own_fields=_lines(table),
        clock=CLOCK,
    )
    row = {"id": created.id, "path": created.path}
    return respond(row, f"{created.id}  {created.path}", json=json)


def _require_usable(table: dict[str, Any]) -> None:
    """What nobody could run is not written."""
    for item in define({"it": ("", 1, table)}, {}).broken:
        raise UsageError(item.finding.what.partition(": ")[2])


def _lines(table: dict[str, Any]) -> Sequence[str]:
    """The table as YAML, whose quoted texts are those of JSON."""
    quoted = {**table, "command": dumps(table["command"]), "cwd": dumps(table["cwd"])}
    quoted["artifact_ids"] = dumps(table["artifact_ids"])
    if not table["cwd"]:
        del quoted["cwd"]
    return ("execution:", *(f"  {name}: {text}" for name, text in quoted.items()))
