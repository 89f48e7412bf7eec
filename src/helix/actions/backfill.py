"""backfill: documents for code that has none, as far as evidence reaches (A-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.actions.claims import names_report
from helix.actions.documents import EXIT_CODES, Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import dated_path, told
from helix.actions.scope import REPO, resolve_scope

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.desk import Desk

BACKFILL = "backfill"
ENDINGS = {
    "COMPLETE": Ended.DONE,
    "GUIDANCE_NEEDED": Ended.GUIDANCE,
    "BLOCKED": Ended.BLOCKED,
}
BACKFILL_EXIT_CODES = {**EXIT_CODES, Ended.GUIDANCE: 0}
"""Its questions stand in the report, so a pass that has some is done (A-3)."""


def backfill(desk: Desk, scope: str = REPO) -> Pass:
    return make_pass(desk, order_backfill(desk, scope))


def order_backfill(desk: Desk, scope: str = REPO) -> Order:
    place = resolve_scope(desk.site, scope)
    report = dated_path(desk, "06-iterate/backfill-reports", "BF", place)
    asked = told(desk, BACKFILL, place, f"Write the report to {report}.")
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (names_report("BACKFILL_REPORT"),),
        report_key="BACKFILL_REPORT",
        parent=asked.parent,
    )
