"""What earlier attempts on a bead have used (X-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.errors import NotFound
from ddx.execution.agent import earlier_attempts
from ddx.execution.record import USAGE, read_record
from ddx.harnesses.base import CostSource, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.execution.model import Bead
    from ddx.project import Project


def spent_on(project: Project, beads: Sequence[Bead]) -> Usage:
    """The sum over the attempts that the beads' events name; pruned records count nothing."""
    spent = Usage()
    for attempt in dict.fromkeys(it for bead in beads for it in earlier_attempts(bead)):
        try:
            spent += usage_of(read_record(project, attempt).file(USAGE))
        except NotFound:
            continue
    return spent


def usage_of(row: Mapping[str, Any]) -> Usage:
    """A usage as a record holds it."""
    cost = row.get("cost_usd")
    return Usage(
        input=int(row.get("input", 0)),
        cache_read=int(row.get("cache_read", 0)),
        cache_write=int(row.get("cache_write", 0)),
        output=int(row.get("output", 0)),
        cost_usd=None if cost is None else float(cost),
        cost_source=CostSource(row.get("cost_source", CostSource.UNKNOWN)),
    )
