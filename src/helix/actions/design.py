"""design: a plan, gone over in rounds until a round finds nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.actions.claims import is_within, names_report
from helix.actions.documents import Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import dated_path, told
from helix.actions.scope import REPO, resolve_scope

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.desk import Desk

DESIGN = "design"
ROUNDS = 5
ENDINGS = {
    "CONVERGED": Ended.DONE,
    "IN_PROGRESS": Ended.UNFINISHED,
    "GUIDANCE_NEEDED": Ended.GUIDANCE,
}


def design(desk: Desk, scope: str = REPO, *, rounds: int = ROUNDS) -> Pass:
    return make_pass(desk, order_design(desk, scope, rounds=rounds))


def order_design(desk: Desk, scope: str = REPO, *, rounds: int = ROUNDS) -> Order:
    place = resolve_scope(desk.site, scope)
    plan = dated_path(desk, "02-design", "plan", place)
    asked = told(
        desk,
        DESIGN,
        place,
        f"Write the plan to {plan}, unless the scope has one already: then go on with that one.",
        f"Make {rounds} rounds at most.",
    )
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (names_report("PLAN_DOCUMENT"), is_within("PLAN_ROUNDS", rounds)),
        report_key="PLAN_DOCUMENT",
        parent=asked.parent,
    )
