"""What a statement says, taken apart: values that helix.policy.wording makes (I-5). Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ddx.values import value

if TYPE_CHECKING:
    from helix.policy.opposites import Side
    from helix.policy.quantities import Quantity


class Force(IntEnum):
    """How much a claim insists."""

    MAY = 1
    SHOULD = 2
    MUST = 3


@value
class Choice:
    """Technologies of one kind that a claim names."""

    kind: str
    names: frozenset[str]
    is_open: bool
    """Any one of them will do."""
    version: tuple[float, ...] = ()
    """Of a single name; with `at_least`, or any later one."""
    at_least: bool = False


@value
class Measure:
    """A quantity and what it is about."""

    quantity: Quantity
    about: frozenset[str]
    is_allowed: bool = False
    """So much may be; nobody says that it must."""


@value
class Claim:
    """One thing that a statement wants or bans."""

    words: frozenset[str]
    """What it is about: stems of the words that mean something, names of technologies."""
    is_ban: bool
    force: Force
    choices: tuple[Choice, ...] = ()
    measures: tuple[Measure, ...] = ()
    sides: tuple[Side, ...] = ()
    about: frozenset[str] = frozenset()
    """The words without those of its sides."""
    exceptions: frozenset[str] = frozenset()
    is_universal: bool = False
    is_only: bool = False
    is_offer: bool = False
    """It supports or accepts something, beside which there is room for more."""
    is_dropped: bool = False
    """What something else takes the place of."""
    is_said: bool = False
    """It is worded as a rule, not only as what is the case."""
    is_use: bool = False
    """It is about using something."""
    is_need: bool = False
    """It says what something needs."""
    is_without: bool = False
    """It says what something does without."""
    is_waived: bool = False
    """It says that something is not needed."""
    first: str = ""
    """The word it begins with, where it says who does it, not to whom it is done."""
    core: frozenset[str] = frozenset()
    """The words before the first preposition: what is done, and to what."""
    banned: frozenset[str] = frozenset()
    """Of a ban, the words after the negation."""
    only: frozenset[str] = frozenset()
    """Who alone may do it; nothing: it does not say."""
    subject: frozenset[str] = frozenset()
    """Of a choice: what uses it, as far as it is told before it."""
    negations: int = 0
    """All that its text holds, also where they say when or which."""
    is_vague: bool = False
    """It begins with a pronoun: what it is about stands somewhere else."""
    slots: frozenset[str] = frozenset()
    """Words that only say what kind of technology is meant."""

    @property
    def names(self) -> frozenset[str]:
        """The technologies that it names."""
        return frozenset(name for choice in self.choices for name in choice.names)
