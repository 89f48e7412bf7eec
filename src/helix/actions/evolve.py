"""evolve: a requirement carried through all documents that it touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import UsageError
from helix.actions.claims import counts_changed
from helix.actions.documents import Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import told
from helix.actions.scope import REPO, resolve_scope
from helix.policy.drafts import clean_text

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.desk import Desk

EVOLVE = "evolve"
ENDINGS = {
    "COMPLETE": Ended.DONE,
    "CONFLICTS": Ended.GUIDANCE,
    "BLOCKED": Ended.BLOCKED,
}


def evolve(desk: Desk, requirement: str, *, scope: str = REPO, artifact: str = "") -> Pass:
    return make_pass(desk, order_evolve(desk, requirement, scope=scope, artifact=artifact))


def order_evolve(desk: Desk, requirement: str, *, scope: str = REPO, artifact: str = "") -> Order:
    """`artifact` is the document to begin with; it is the scope where no other is named."""
    request = clean_text(requirement)
    if not request:
        raise UsageError("a requirement needs words", hint='helix evolve "exports are in UTC"')
    document = _document(desk, artifact) if artifact else ""
    asked = told(
        desk,
        EVOLVE,
        resolve_scope(desk.site, document if document and scope == REPO else scope),
        f"Begin with the document {document}." if document else "",
        request=request,
        request_title="The requirement",
        document=document,
    )
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (counts_changed("ARTIFACTS_UPDATED"),),
        parent=asked.parent,
    )


def _document(desk: Desk, artifact: str) -> str:
    found = resolve_scope(desk.site, artifact).document
    if not found:
        raise UsageError(f"--artifact {artifact} is no document", hint="see: ddx doc list")
    return found
