"""experiment: one bounded iteration towards a number, written down whatever came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import Refused, UsageError
from ddx.git import uncommitted
from ddx.text import listed
from helix.actions.claims import has_word, quotes_metric
from helix.actions.documents import Order, make_pass
from helix.actions.model import Ended
from helix.actions.ordering import session_path, told
from helix.actions.scope import REPO, resolve_scope
from helix.policy.drafts import clean_text

if TYPE_CHECKING:
    from helix.actions.model import Pass
    from helix.actions.scope import Scope
    from helix.desk import Desk

EXPERIMENT = "experiment"
ENDINGS = {
    "CONVERGED": Ended.DONE,
    "ITERATION_COMPLETE": Ended.UNFINISHED,
    "NO_IMPROVEMENT": Ended.UNFINISHED,
    "CLOSED": Ended.DONE,
}
CLOSED = "CLOSED"
_MOST_NAMED = 5
_LOGS = ".helix-logs/"


def experiment(desk: Desk, goal: str, *, close: bool = False) -> Pass:
    """`goal` is a bead's or a document's id, or the goal in words."""
    return make_experiment(desk, order_experiment(desk, goal, close=close))


def make_experiment(desk: Desk, order: Order) -> Pass:
    """A number says something only of a state that can be had again (A-3)."""
    edited = [path for path in uncommitted(desk.site.project.root) if not path.startswith(_LOGS)]
    if edited:
        some = [*edited[:_MOST_NAMED], *(["more"] if len(edited) > _MOST_NAMED else [])]
        raise Refused(
            f"there are uncommitted changes, so nothing can be measured: {listed(some)}",
            hint="commit or stash them first: git status",
        )
    return make_pass(desk, order)


def order_experiment(desk: Desk, goal: str, *, close: bool = False) -> Order:
    request = clean_text(goal)
    if not request:
        raise UsageError("an experiment needs a goal", hint='helix experiment "start in 50 ms"')
    asked = told(
        desk,
        EXPERIMENT,
        _scope(desk, request),
        f"The session document is {session_path(desk, request)}; make it if it is not there.",
        "End the session now: sum it up, and measure nothing new." if close else "",
        request=request,
        request_title="The goal",
    )
    words = tuple(word for word in ENDINGS if (word == CLOSED) is close)
    return Order(
        asked.subject,
        asked.sections,
        ENDINGS,
        (has_word("EXPERIMENT_STATUS", words), quotes_metric("EXPERIMENT_BEST")),
        parent=asked.parent,
        may_repeat=True,
    )


def _scope(desk: Desk, goal: str) -> Scope:
    """What the goal names, if it is a name; a goal in words is about the whole repository."""
    try:
        return resolve_scope(desk.site, goal)
    except UsageError:
        return resolve_scope(desk.site, REPO)
