"""Where a run meets git and agents: everything that it does besides looking, deciding and telling.

The simulation brings a bench of its own, so that the true loop can be run thousands of times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.execution.reconciling import reconcile
from ddx.execution.results import result_row
from ddx.execution.work import work_one
from ddx.git import commit_id
from helix.actions.align import align
from helix.actions.check import check
from helix.actions.design import design
from helix.actions.documents import land_waiting
from helix.actions.evolve import evolve
from helix.actions.polish import polish
from helix.actions.review import review, scope_subject
from helix.actions.scope import resolve_scope
from helix.actions.unfiled import file_unfiled
from helix.supervisor.reviews import find_landed
from helix.supervisor.view import edited_in
from helix.work import review_failure, review_landed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ddx.execution.model import Idle, Outcome
    from ddx.execution.reconciling import Reconciled
    from ddx.execution.work import Site
    from helix.actions.model import Pass
    from helix.actions.scope import Scope
    from helix.desk import Desk
    from helix.policy.model import Checked
    from helix.policy.review import Verdict
    from helix.policy.trailers import Unreadable
    from helix.slider import Slider
    from helix.verification.measure import Measured
    from helix.work import BuildPolicy, ReviewOf


class Bench:
    """The true one: managed attempts and the actions, each through its one function (A-6)."""

    # -- the repository ----------------------------------------------------------------------

    def edited(self, root: str) -> Collection[str]:
        """Files whose edits no commit holds."""
        return edited_in(root)

    def head(self, root: str) -> str:
        return commit_id(root, "HEAD")

    # -- attempts ----------------------------------------------------------------------------

    def reconcile(self, site: Site) -> Sequence[Reconciled]:
        return reconcile(site)

    def land_waiting(self, site: Site) -> Sequence[Outcome]:
        return land_waiting(site)

    def landed(self, site: Site, attempt: str) -> Mapping[str, Any] | None:
        """The result of an attempt that has landed, now or later; None: it has not."""
        return find_landed(site.project, attempt)

    def file_unfiled(self, desk: Desk) -> Iterable[str]:
        """Drafts of passes over documents that have landed since; a sentence for each."""
        return file_unfiled(desk)

    def build(self, site: Site, policy: BuildPolicy) -> Outcome | Idle:
        return work_one(site, policy)

    def measure(
        self, site: Site, slider: Slider, scope: str, *, beads: Sequence[str] = ()
    ) -> Measured:
        from helix.verification.measure import measure

        return measure(site, slider, resolve_scope(site, scope), beads=beads)

    # -- passes ------------------------------------------------------------------------------

    def check(self, desk: Desk, scope: Scope, *, always_ask: bool) -> Checked | Unreadable:
        return check(desk, scope, always_ask=always_ask)

    def review_landed(self, desk: Desk, attempt: str) -> ReviewOf:
        """NotFound: nobody can tell any more what it landed."""
        return review_landed(desk, attempt)

    def review_scope(self, desk: Desk, scope: str) -> Verdict:
        return review(desk, scope_subject(desk.site, scope))

    def review_failure(self, desk: Desk, outcome: Outcome) -> tuple[str, ...]:
        return review_failure(desk, result_row(outcome))

    def align(self, desk: Desk, scope: str) -> Pass:
        return align(desk, scope)

    def polish(self, desk: Desk, scope: str, beads: Sequence[str]) -> Pass:
        return polish(desk, scope, beads=beads)

    def design(self, desk: Desk, scope: str) -> Pass:
        return design(desk, scope)

    def evolve(self, desk: Desk, requirement: str, *, artifact: str) -> Pass:
        return evolve(desk, requirement, artifact=artifact)
