"""What a statement says, taken apart: who must, may or must not do or be what (I-5). Pure.

A statement is one or more claims: "use Postgres, not SQLite" wants one thing and bans another. The
words are English; a statement in another language says nothing here but its technologies.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ddx.base import value
from helix.intake.conflicts.clauses import MODAL, clauses, plain
from helix.intake.conflicts.quantities import TIME, in_digits, quantities_in
from helix.intake.conflicts.vocabulary import (
    ANY_PART,
    CLOSE,
    OPEN,
    PASSED_ON,
    idle,
    kinds_of,
    measured,
    sides_of,
    slot_of,
    stems,
)

if TYPE_CHECKING:
    from helix.intake.conflicts.quantities import Quantity
    from helix.intake.conflicts.vocabulary import Side


class Strength(IntEnum):
    """How much a claim insists."""

    MAY = 1
    SHOULD = 2
    MUST = 3


@value
class TechnologyChoice:
    """Technologies of one kind that a claim names."""

    kind: str
    names: frozenset[str]
    is_open: bool
    """Any one of them will do."""
    version: tuple[float, ...] = ()
    """Of a single name; with `at_least`, or any later one."""
    at_least: bool = False


@value
class QuantityAssertion:
    """A quantity and what it is about."""

    quantity: Quantity
    about: frozenset[str]
    is_allowed: bool = False
    """So much may be; nobody says that it must."""


@value
class Assertion:
    """One thing that a statement wants or bans."""

    words: frozenset[str]
    """What it is about: stems of the words that mean something, names of technologies."""
    is_ban: bool
    force: Strength
    choices: tuple[TechnologyChoice, ...] = ()
    measures: tuple[QuantityAssertion, ...] = ()
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


@lru_cache(maxsize=20_000)
def claims_of(text: str, context: str = "") -> tuple[Assertion, ...]:
    """The claims of a statement; `context` is the heading that it stands under."""
    around = frozenset(stems(plain(context))) if context else frozenset()
    return tuple(_claim(part, around, is_dropped=dropped) for part, dropped in clauses(text))


_NO_NEED = re.compile(
    r"\b(?:need not|not need(?:ed)?(?: to)?|not (?:required|necessary|mandatory)(?: to)?"
    r"|not have to|no need (?:to|for)|needs? no)\b"
)
_COMPARED = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|longer|earlier|greater|larger|lower|higher|smaller)"
    r" than\b|\bno longer than\b"
)
_NEGATIVE = re.compile(
    r"\b(?:not(?: be)? (?:allowed|permitted|used)|not|never|no longer|no|nobody|none|without|nor|"
    r"forbid\w*|forbidden|prohibit\w*|disallow\w*|bann?ed|avoid\w*|prevent\w*|exclud\w*|omit\w*|"
    r"disabl\w*|refrain(?:s|ing)? from|unable|impossible|by no means|turned off|switched off|"
    r"free of|stop(?:s|ped)? using|get rid of|refus\w*|"
    rf"(?:drop|remove|retire|abandon)(?= {OPEN}))\b(?! one\b)"
)
_ASIDE = re.compile(
    r"\b(?:if|when|whenever|until|while|as long as|whether|which|who|whose|where|what"
    r"|(?<!sure )(?<!ensure )(?<!ensures )(?<!guarantee )that)\b[^,;:]*"
)
"""Where a negation says when or which, not what is forbidden."""
_RELATIVE = re.compile(rf"\b(?:which|who|that)\b[^,;:{OPEN}]*")
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_VAGUE = re.compile(r"^\W*(?:it|its|they|their|this|these|those|such|he|she|both|others?|then)\b")
_MAY = re.compile(r"\b(?:may|can|could|might|allowed|permitted|optional(?:ly)?)\b")
_SHOULD = re.compile(
    r"\b(?:should|ought|prefer\w*|recommend\w*|ideally|nice to have|would like|where possible|"
    r"if possible|desirable)\b"
)
_MUST = re.compile(
    r"\b(?:must|shall|required?|requires|has to|have to|always|mandatory|never|forbidden|"
    r"prohibited|only)\b"
)
_SAID = re.compile(
    r"\b(?:must|shall|has to|have to|requir\w*|always|never|only|forbid\w*|prohibit\w*"
    r"|(?:may|can|do) not|no|without|needs?|mandatory)\b"
)
_NEED = re.compile(r"\b(?:requires?|needs?|depends on)\b")
_WITHOUT = re.compile(r"\bwithout\b")
_PASSIVE = re.compile(r"\b(?:be|been|is|are|was|were)\b")
_ABLE_TO = re.compile(
    r"\b(?:able|allowed|permitted|possible|free|forbidden|prohibited|has|have|needs?|ought) to\b"
)
_PREPOSITION = re.compile(
    r"\b(?:of|to|about|for|from|in|into|on|onto|with|at|during|after|before|between|over|via"
    r"|through|against|across|under|per|within|as)\b"
)
_USE = re.compile(r"\b(?:us(?:e|es|ed|ing)|utili[sz]\w*|employ\w*|rel(?:y|ies) on|adopt\w*)\b")
_AVOID = re.compile(r"\bavoid\w*")
_UNIVERSAL = re.compile(r"\b(?:all|every|each|any|always|everything|everywhere|entire|whole)\b")
_ONLY = re.compile(r"\b(?:only|exclusively|solely|purely|nothing but)\b")
_ALONE = re.compile(r"\W*only ([^,;.\x02]{1,40}?) (?:may|can|must|shall|should|is|are)\b")
_OFFER = re.compile(
    r"\b(?:support\w*|accept\w*|allow\w*|integrat\w*|compatible|(?:im|ex)port(?:s|ed|ing)?|reads?|"
    r"pars(?:es?|ed|ing)|connect\w*|offer\w*|works? with|such as|tested|including|available|"
    r"interoperat\w*)\b"
)
_EXCEPT = re.compile(
    r"\b(?:except(?: for| in| when)?|unless|other than|apart from|excluding|save for|besides)\b(.*)"
)


def _claim(text: str, around: frozenset[str], *, is_dropped: bool) -> Assertion:
    exceptions: frozenset[str] = frozenset()
    if found := _EXCEPT.search(text):
        exceptions = frozenset(stems(found[1]))
        text = text[: found.start()]
    bare, had_no_need = _NO_NEED.subn(" ", text)
    negations = len(_NEGATIVE.findall(_COMPARED.sub(" ", _main_clause(bare))))
    is_ban = (negations % 2 == 1) != is_dropped
    force = Strength.MAY if had_no_need else _force(bare, is_ban=is_ban)
    affirmed = " ".join(_NEGATIVE.sub(" ", bare).split())
    sides, without_sides = sides_of(text if had_no_need else affirmed, is_ban=is_ban)
    choices, slots, affirmed = _choices(affirmed)
    if choices:
        affirmed = _RELATIVE.sub(" ", affirmed)
    measures = _measures(text, around, is_allowed=force is Strength.MAY)
    return Assertion(
        words=frozenset(stems(affirmed)) | around,
        is_ban=is_ban,
        force=force,
        choices=choices,
        measures=measures,
        sides=sides,
        about=_bearer(without_sides) | around if sides else around,
        exceptions=exceptions,
        is_universal=_UNIVERSAL.search(text) is not None,
        is_only=_ONLY.search(text) is not None,
        is_offer=_OFFER.search(text) is not None,
        is_dropped=is_dropped,
        is_said=_SAID.search(text) is not None,
        is_use=_USE.search(text) is not None,
        is_need=_NEED.search(bare) is not None,
        is_without=_WITHOUT.search(text) is not None,
        is_waived=bool(had_no_need),
        first="" if _PASSIVE.search(text) else next(stems(affirmed), ""),
        core=_core(affirmed),
        only=frozenset(stems(alone[1])) if (alone := _ALONE.match(text)) else frozenset(),
        banned=frozenset(stems(_after_negation(text))) if is_ban else frozenset(),
        subject=_subject(affirmed, slots) if choices else frozenset(),
        negations=len(_NEGATIVE.findall(text)),
        is_vague=_VAGUE.search(text) is not None,
        slots=slots,
    )


def _bearer(text: str) -> frozenset[str]:
    """What has a property: in a text without the words for it."""
    words = frozenset(stems(text)) - (idle() - {"run"}) - PASSED_ON
    return words - ANY_PART if _UNIVERSAL.search(text) else words


def _core(text: str) -> frozenset[str]:
    """Of "log every access to personal data" only log and access; with none before it, of all."""
    text = _ABLE_TO.sub(" ", text)
    return frozenset(stems(_PREPOSITION.split(text)[0])) or frozenset(stems(text))


def _after_negation(text: str) -> str:
    last = max((found.end() for found in _NEGATIVE.finditer(text)), default=0)
    return text[last:]


def _subject(text: str, slots: frozenset[str]) -> frozenset[str]:
    """The first words before a name, a verb of ours or a preposition that mean something."""
    for piece in _SUBJECT_END.split(text):
        if found := frozenset(stems(piece)) - slots - idle():
            return found
    return frozenset()


def _main_clause(text: str) -> str:
    main = _ASIDE.sub(" ", _IN_BRACKETS.sub(" ", text))
    return main if any(stems(main)) else text


def _force(text: str, *, is_ban: bool) -> Strength:
    if _MUST.search(text):
        return Strength.MUST
    if _SHOULD.search(text) or _AVOID.search(text):
        return Strength.SHOULD
    if _MAY.search(text) and not is_ban:
        return Strength.MAY
    return Strength.MUST  # a bare statement in such a section is one that has to hold


_NAMED = re.compile(
    rf"{OPEN}([^{CLOSE}]*){CLOSE}(?: v?(?P<version>\d+(?:\.\d+){{0,3}})(?![\d%]| ?(?:ms|%))"
    r"(?P<later>\+| ?(?:or|and) (?:later|newer|above|higher|up)| ?\+)?)?"
)
_SUBJECT_END = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|{_PREPOSITION.pattern}|{MODAL.pattern}|:")
_FLOOR = re.compile(r"(?:at least|minimum|>=|≥|from)(?: version)? ?\Z")


def _choices(text: str) -> tuple[tuple[TechnologyChoice, ...], frozenset[str], str]:
    """The technologies by kind, the words that only name their kinds, and the text without them."""
    named: dict[str, dict[str, re.Match[str]]] = {}
    for found in _NAMED.finditer(text):
        kinds = kinds_of(found[1])
        said = [kind for kind in kinds if len(kinds) > 1 and slot_of(kind).search(text)]
        for kind in (said or kinds)[:1]:
            named.setdefault(kind, {})[found[1]] = found
    is_open = re.search(r"\bor\b(?! (?:later|newer|above|higher|up|more|less))|\beither\b", text)
    choices = []
    slots: set[str] = set()
    for kind, names in named.items():
        only = next(iter(names.values())) if len(names) == 1 else None
        version = only["version"] if only else None
        choices.append(
            TechnologyChoice(
                kind,
                frozenset(names),
                is_open is not None,
                version=tuple(map(float, version.split("."))) if version else (),
                at_least=bool(only and (only["later"] or _FLOOR.search(text[: only.start()]))),
            )
        )
        slots.update(stem for word in slot_of(kind).findall(text) for stem in stems(word))
    shown = _NAMED.sub(lambda found: f"{OPEN}{found[1]}{CLOSE} ", text)
    return tuple(choices), frozenset(slots), shown


_BOUNDARY = re.compile(r"[,;]| and | but | while | whereas ")


def _measures(
    text: str, around: frozenset[str], *, is_allowed: bool
) -> tuple[QuantityAssertion, ...]:
    """Each quantity with the words of its own clause, and those of clauses that have none."""
    digits = in_digits(_NAMED.sub(r" \1 ", text))
    found = quantities_in(digits, is_allowed=is_allowed)
    if not found:
        return ()
    taken = [(each.start, each.end) for each in found]
    cuts = [0]
    cuts += [
        match.start()
        for match in _BOUNDARY.finditer(digits)
        if not any(start < match.start() < end for start, end in taken)
    ]
    pieces = list(zip(cuts, [*cuts[1:], len(digits)], strict=True))
    core = set(stems(_main_clause(digits)))
    shared: set[str] = set()
    for start, end in pieces:
        if not any(start <= each.start < end for each in found):
            shared |= set(stems(digits[start:end]))
    measures = []
    for each in found:
        start, end = next(piece for piece in pieces if piece[0] <= each.start < piece[1])
        own = f"{digits[start : each.start]} {digits[each.end : end]}"
        units = set(stems(each.dimension.removesuffix(" each second")))
        said = (set(stems(own)) | shared) - units - idle() or set(stems(digits)) - units - idle()
        if not said or said & core:  # else it only says when something else holds
            about = frozenset(measured(stem, is_time=each.dimension == TIME) for stem in said)
            measures.append(QuantityAssertion(each, about | around, is_allowed))
    return tuple(measures)
