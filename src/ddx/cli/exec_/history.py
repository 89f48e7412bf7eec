"""`ddx exec history`"""

from __future__ import annotations

from ddx.cli.exec_.rendering import ago, outcome, run_row, spoken_status, took
from ddx.cli.exec_.session import load_definitions, load_history
from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Argument, Command, Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.graph.proof.definitions import Definitions
    from ddx.graph.proof.records import History

LIMIT = 20


def run(*, id: str | None, limit: int | None, json: bool) -> int:
    project, definitions = load_definitions()
    history = load_history(project)
    records = history.of(_definition_id(history, definitions, id)) if id else history.records
    records = tuple(reversed(records))[: LIMIT if limit is None else limit]
    if json:
        answer([run_row(project, record) for record in records])
    elif records:
        table(
            ("run", "definition", "status", "when", "took", "outcome"),
            [
                (
                    record.run_id,
                    record.definition_id,
                    spoken_status(record),
                    ago(record),
                    took(record),
                    outcome(record, definitions),
                )
                for record in records
            ],
        )
    else:
        say(f"{id} was never run" if id else "nothing was run here yet")
    return 0


def _definition_id(history: History, definitions: Definitions, name: str) -> str:
    """What a document left is found even when the document is gone."""
    known = {record.definition_id.casefold(): record.definition_id for record in history.records}
    if name.casefold() in known:
        return known[name.casefold()]
    if name in definitions.runs:
        return definitions.runs[name].id
    return definitions.execution(name).id


COMMAND = Command(
    "exec history",
    "List what was run, newest first.",
    run,
    "ddx exec history EXEC-001 --limit 5",
    arguments=(Argument("id", "only this document or metric", required=False),),
    flags=(Flag("--limit", f"at most this many; {LIMIT} if not given", kind="number"), JSON),
    schema="exec-history",
)
