"""`helix cost`"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ddx.console.screen import answer, say, table
from ddx.console.spec import JSON, Command, Flag
from ddx.errors import CorruptFile, NotFound
from ddx.project import find_project
from ddx.text import shown
from helix.verification.spending import Spent, local_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.execution.record import Kept
    from ddx.project import Project

BY = ("bead", "day", "model")


def run(*, by: str, json: bool) -> int:
    project = find_project(os.getcwd())
    total = Spent("total")
    found: dict[str, Spent] = {}
    for record in _records(project):
        usage = _usage(record)
        key = _key(record, by)
        found[key] = found.get(key, Spent(key)).plus(usage)
        total = total.plus(usage)
    rows = sorted(found.values(), key=lambda it: it.key, reverse=by == "day")
    if by != "day":
        rows.sort(key=lambda it: (-(it.cost_usd or 0.0), -it.tokens))
    if json:
        answer({"by": by, "rows": [it.row for it in rows], "total": total.row})
    elif not rows:
        say("no agent was asked yet")
    else:
        _print(by, rows, total)
    return 0


def _records(project: Project) -> Iterator[Kept]:
    from ddx.execution.record import attempts, read_record

    for name in attempts(project):
        try:
            record = read_record(project, name)
            if record.intent.get("harness"):  # nobody was asked for a measure
                yield record
        except NotFound:
            continue  # pruned a moment ago
        except CorruptFile as problem:
            print(shown(f"helix: {problem.message}; it is left out"), file=sys.stderr)


def _usage(record: Kept) -> dict[str, Any]:
    from ddx.execution.record import USAGE

    found = record.result.get("usage")
    return found if isinstance(found, dict) else record.file(USAGE)


def _key(record: Kept, by: str) -> str:
    if by == "bead":
        return ", ".join(map(str, record.beads)) or f"({record.intent.get('action') or 'prompt'})"
    if by == "day":
        return local_day(str(record.intent.get("at") or ""))
    harness = str(record.result.get("harness") or record.intent.get("harness") or "unknown")
    model = str(record.result.get("model") or record.intent.get("model") or "")
    return f"{harness} {model}".strip()


def _print(by: str, rows: list[Spent], total: Spent) -> None:
    cells = [
        [it.key, str(it.calls), f"{it.tokens:,}", f"{it.output:,}", it.spoken_cost]
        for it in (*rows, total)
    ]
    table([by, "calls", "tokens", "of them output", "cost"], cells)
    if total.unknown:
        say(f"{total.unknown} of {total.calls} calls did not say what they cost")


COMMAND = Command(
    "cost",
    "Sum up what agents have used, by bead, day or model.",
    run,
    "helix cost --by day",
    flags=(
        Flag("--by", "bead, day or model", kind="choice", choices=BY, default="bead"),
        JSON,
    ),
    schema="helix-cost",
)
