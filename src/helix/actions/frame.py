"""frame: from an idea to the documents that others build on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.actions.claims import counts_created
from helix.actions.documents import Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import told
from helix.actions.scope import REPO, resolve_scope

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.desk import Desk

FRAME = "frame"
ENDINGS = {"COMPLETE": Ended.DONE, "GUIDANCE_NEEDED": Ended.GUIDANCE}


def frame(desk: Desk, scope: str = REPO) -> Pass:
    return make_pass(desk, order_frame(desk, scope))


def order_frame(desk: Desk, scope: str = REPO) -> Order:
    place = resolve_scope(desk.site, scope)
    asked = told(desk, FRAME, place)
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (counts_created("ARTIFACTS_CREATED"),),
        parent=asked.parent,
    )
