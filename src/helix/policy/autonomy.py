"""How often a person is asked before something is done (S-34, D-26). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ddx.values import value
from helix.policy.model import Action, Autonomy, Decision

if TYPE_CHECKING:
    from helix.policy.model import Gap

STARTS_SOMETHING = frozenset(
    {
        Action.BUILD,
        Action.REVIEW,
        Action.POLISH,
        Action.DESIGN,
        Action.EVOLVE,
        Action.ALIGN,
        Action.CHECK,
    }
)
"""The other actions only end a run or make it wait: there is nothing to confirm."""


@value
class Proceed:
    """Nobody has to be asked."""


@value
class Ask:
    """A person at the terminal says whether it may start."""

    question: str


@value
class Refuse:
    """A person would have to be asked, and none is there."""

    reason: str
    exit_code: int = 4


Permission: TypeAlias = Proceed | Ask | Refuse


def needs_confirmation(decision: Decision, autonomy: Autonomy) -> bool:
    """Low confirms each action before it starts; the other levels stop at gaps alone."""
    starts = decision.action in STARTS_SOMETHING and not decision.recovers
    return starts and autonomy is Autonomy.LOW


def permission(decision: Decision, autonomy: Autonomy, *, has_terminal: bool) -> Permission:
    """May this start now? Where nobody can answer, nothing is done and the run ends (S-34)."""
    if not needs_confirmation(decision, autonomy):
        return Proceed()
    what = " ".join(filter(None, (str(decision.action), *(decision.beads or (decision.target,)))))
    why = decision.least_power_explanation
    if has_terminal:
        return Ask(f"{what}? {why}" if why else f"{what}?")
    return Refuse(f"low autonomy confirms each action, and there is no terminal to ask: {what}")


def declined(decision: Decision) -> Decision:
    """A person said no: an orderly stop."""
    said = f"{decision.action} was not confirmed"
    return Decision(Action.STOP, target=decision.target, least_power_explanation=said)


def stops_at(gap: Gap, autonomy: Autonomy) -> bool:
    """High autonomy goes on where something is only unclear; nobody goes on against physics."""
    return not gap.is_ambiguity or gap.is_physics or autonomy is not Autonomy.HIGH
