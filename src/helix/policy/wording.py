"""What a statement says, taken apart: who must, may or must not do or be what (I-5). Pure.

A statement is one or more claims: "use Postgres, not SQLite" wants one thing and bans another. The
words are English; a statement in another language says nothing here but its technologies.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from ddx.values import value
from helix.policy.opposites import Side, sides_of
from helix.policy.quantities import Quantity, in_digits, quantities_in
from helix.policy.technologies import CLOSE, OPEN, find_technology, marked, slot_of
from helix.policy.words import IDLE, SAME_MEASURE, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 600
"""Characters of a statement that are read."""


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
def claims_of(text: str, context: str = "") -> tuple[Claim, ...]:
    """The claims of a statement; `context` is the heading that it stands under."""
    around = frozenset(stems(_plain(context))) if context else frozenset()
    plain = _without_reasons(_plain(text))
    if _QUESTION.search(plain):
        return ()
    return tuple(_claim(part, around, is_dropped=dropped) for part, dropped in _parts(plain))


# -- from a text to its parts --------------------------------------------------------------

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_MARKS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_LABEL = re.compile(
    r"^\W*(?:[a-z]{1,10}-?\d+(?:\.\d+)*|\d+(?:\.\d+)*)\s*[:.)\u2013\u2014-]\s+|(?<!\x02)\b[a-z]{2,10}-\d+\b"
)
_QUOTED = re.compile(r'"[^"]*\s[^"]*\s[^"]*"|“[^”]*\s[^”]*\s[^”]*”')
_REASON = re.compile(
    r"[,(]? ?\b(?:because|so that|in order to|since|to (?:ensure|avoid|keep|prevent|make sure"
    r"|reduce|improve)|due to|as this|which means|for example|e\.g\.|i\.e\.)(?![\w]).*"
)
_QUESTION = re.compile(r"\?(?:\W|$)")
_NOT_ONLY = re.compile(r"\bnot (?:only|just)\b")
_BUT_ALSO = re.compile(r"\bbut(?: also)?\b")
_ONLY_THIS = re.compile(
    r"\b(?:not|no|never|nothing|none|n't)\b([^\x02]{0,60}?)\b(?:other than|but|except|besides"
    r"|apart from|different from)\b(?= [^,;]*\x02)"
)
_CHANGED = (
    re.compile(rf"\bfrom ([^,;]*?{OPEN}[^{CLOSE}]*{CLOSE}[^,;]*?) to\b"),
    re.compile(
        rf"\b(?:replac\w*|swap\w*|exchang\w*) ([^,;]*?{OPEN}[^{CLOSE}]*{CLOSE}) (?:with|by|for)\b"
    ),
)
_SPLIT = re.compile(
    r";|,? but(?= (?:not|never|must|shall|may|should|no|without)\b)|, (?=(?:not|never)\b)"
    r"|,? and (?=(?:not|never|must not|shall not|may not|should not|cannot|do not|does not)\b)"
    r"|, (?=(?:and )?(?:must|shall|should|may)\b)"
)
_TURN = re.compile(r"\b(?:instead of|rather than|in place of)\b")
_PREFER_OVER = re.compile(r"\b(prefer\w* [^,;]*?) over\b")
_MODAL = re.compile(
    r"\b(?:must|shall|should|may|can|cannot|will|need|needs|has to|have to|is|are|do|does)\b"
)


def _plain(text: str) -> str:
    """In lower case, on one line, without marks, names of technologies put in marks of ours."""
    text = _CONTROLS.sub(" ", text[:LONGEST]).replace("\u2019", "'")
    text = marked(_QUOTED.sub(" ", _MARKS.sub("", text))).lower()
    text = " ".join(text.split()).replace("n't ", " not ").replace("cannot", "can not")
    return _LABEL.sub(" ", text).strip()


def _without_reasons(text: str) -> str:
    shorter = _REASON.sub("", text)
    return shorter if shorter.strip(" .,") else text


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The claims of a text as texts, and whether each is what something else replaces."""
    if _NOT_ONLY.search(text):
        text = _BUT_ALSO.sub(" and ", _NOT_ONLY.sub(" ", text))
    text = _ONLY_THIS.sub(r" only \1 ", text)
    for pattern in _CHANGED:
        while found := pattern.search(text):
            yield found[1], True
            text = f"{text[: found.start()]} {text[found.end() :]}"
    subject = ""
    for part in _SPLIT.split(_PREFER_OVER.sub(r"\1 instead of ", text)):
        wanted, *dropped = _TURN.split(part)
        begins = _MODAL.search(wanted)
        if begins and wanted[: begins.start()].strip(" ,and"):
            subject = wanted[: begins.start()]
        elif subject:
            wanted = f"{subject} {wanted}"
        if wanted.strip(" .,"):
            yield wanted, False
        yield from ((each, True) for each in dropped if each.strip())


# -- from a part to a claim ----------------------------------------------------------------

_NO_NEED = re.compile(
    r"\b(?:need not|not need(?:ed)?(?: to)?|not (?:required|necessary|mandatory)(?: to)?"
    r"|not have to|no need (?:to|for)|needs? no)\b"
)
_COMPARED = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|longer|earlier|greater|larger|lower|higher|smaller)"
    r" than\b|\bno longer than\b"
)
_NEGATIVE = re.compile(
    r"\b(?:not(?: be)? (?:allowed|permitted|used)|not|never|no longer|no|none|without|nor|"
    r"forbid\w*|forbidden|prohibit\w*|disallow\w*|bann?ed|avoid\w*|prevent\w*|exclud\w*|omit\w*|"
    r"disabl\w*|turned off|switched off|free of|stop(?:s|ped)? using|get rid of|refus\w*|"
    rf"(?:drop|remove|retire|abandon)(?= {OPEN}))\b(?! one\b)"
)
_ASIDE = re.compile(
    r"\b(?:if|when|whenever|until|while|as long as|whether|which|who|whose|where|what"
    r"|(?<!sure )(?<!ensure )(?<!ensures )(?<!guarantee )that)\b[^,;:]*"
)
"""Where a negation says when or which, not what is forbidden."""
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
_USE = re.compile(r"\b(?:us(?:e|es|ed|ing)|utili[sz]\w*|employ\w*|rel(?:y|ies) on|adopt\w*)\b")
_AVOID = re.compile(r"\bavoid\w*")
_UNIVERSAL = re.compile(r"\b(?:all|every|each|any|always|everything|everywhere|entire|whole)\b")
_ONLY = re.compile(r"\b(?:only|exclusively|solely|purely|nothing but)\b")
_OFFER = re.compile(
    r"\b(?:support\w*|accept\w*|allow\w*|integrat\w*|compatible|import\w*|export\w*|read|reads|"
    r"pars\w*|connect\w*|offer\w*|works? with|such as|tested|including|available|interoperat\w*)\b"
)
_EXCEPT = re.compile(
    r"\b(?:except(?: for| in| when)?|unless|other than|apart from|excluding|save for|besides)\b(.*)"
)


def _claim(text: str, around: frozenset[str], *, is_dropped: bool) -> Claim:
    exceptions: frozenset[str] = frozenset()
    if found := _EXCEPT.search(text):
        exceptions = frozenset(stems(found[1]))
        text = text[: found.start()]
    bare, had_no_need = _NO_NEED.subn(" ", text)
    negations = len(_NEGATIVE.findall(_COMPARED.sub(" ", _main_clause(bare))))
    is_ban = (negations % 2 == 1) != is_dropped
    force = Force.MAY if had_no_need else _force(bare, is_ban=is_ban)
    affirmed = _NEGATIVE.sub(" ", bare)
    sides, without_sides = sides_of(text if had_no_need else affirmed, is_ban=is_ban)
    choices, slots, affirmed = _choices(affirmed)
    measures = _measures(text, around, is_allowed=force is Force.MAY)
    return Claim(
        frozenset(stems(affirmed)) | around,
        is_ban,
        force,
        choices,
        measures,
        sides,
        about=(frozenset(stems(without_sides)) - IDLE) | around if sides else around,
        exceptions=exceptions,
        is_universal=_UNIVERSAL.search(text) is not None,
        is_only=_ONLY.search(text) is not None,
        is_offer=_OFFER.search(text) is not None,
        is_dropped=is_dropped,
        is_said=_SAID.search(text) is not None,
        is_use=_USE.search(text) is not None,
        negations=len(_NEGATIVE.findall(text)),
        is_vague=_VAGUE.search(text) is not None,
        slots=slots,
    )


def _main_clause(text: str) -> str:
    main = _ASIDE.sub(" ", _IN_BRACKETS.sub(" ", text))
    return main if any(stems(main)) else text


def _force(text: str, *, is_ban: bool) -> Force:
    if _MUST.search(text):
        return Force.MUST
    if _SHOULD.search(text) or _AVOID.search(text):
        return Force.SHOULD
    if _MAY.search(text) and not is_ban:
        return Force.MAY
    return Force.MUST  # a bare statement in such a section is one that has to hold


_NAMED = re.compile(
    rf"{OPEN}([^{CLOSE}]*){CLOSE}(?: v?(?P<version>\d+(?:\.\d+){{0,3}})(?![\d%]| ?(?:ms|%))"
    r"(?P<later>\+| ?(?:or|and) (?:later|newer|above|higher|up)| ?\+)?)?"
)
_FLOOR = re.compile(r"(?:at least|minimum|>=|≥|from)(?: version)? ?\Z")


def _choices(text: str) -> tuple[tuple[Choice, ...], frozenset[str], str]:
    """The technologies by kind, the words that only name their kinds, and the text without them."""
    named: dict[str, dict[str, re.Match[str]]] = {}
    for found in _NAMED.finditer(text):
        technology = find_technology(found[1])
        if technology is None:
            continue
        kinds = technology.kinds
        said = [kind for kind in kinds if len(kinds) > 1 and slot_of(kind).search(text)]
        named.setdefault((said or kinds)[0], {})[technology.name] = found
    is_open = re.search(r"\bor\b(?! (?:later|newer|above|higher|up|more|less))|\beither\b", text)
    choices = []
    slots: set[str] = set()
    for kind, names in named.items():
        only = next(iter(names.values())) if len(names) == 1 else None
        version = only["version"] if only else None
        choices.append(
            Choice(
                kind,
                frozenset(names),
                is_open is not None,
                tuple(map(float, version.split("."))) if version else (),
                at_least=bool(only and (only["later"] or _FLOOR.search(text[: only.start()]))),
            )
        )
        slots.update(stem for word in slot_of(kind).findall(text) for stem in stems(word))
    shown = _NAMED.sub(lambda found: f"{OPEN}{found[1]}{CLOSE} ", text)
    return tuple(choices), frozenset(slots), shown


_BOUNDARY = re.compile(r"[,;]| and | but | while | whereas ")


def _measures(text: str, around: frozenset[str], *, is_allowed: bool) -> tuple[Measure, ...]:
    """Each quantity with the words of its own clause, and those of clauses that have none."""
    plain = in_digits(_NAMED.sub(r" \1 ", text))
    found = quantities_in(plain, is_allowed=is_allowed)
    if not found:
        return ()
    taken = [(each.start, each.end) for each in found]
    cuts = [0]
    cuts += [
        match.start()
        for match in _BOUNDARY.finditer(plain)
        if not any(start < match.start() < end for start, end in taken)
    ]
    clauses = list(zip(cuts, [*cuts[1:], len(plain)], strict=True))
    core = set(stems(_main_clause(plain)))
    shared: set[str] = set()
    for start, end in clauses:
        if not any(start <= each.start < end for each in found):
            shared |= set(stems(plain[start:end]))
    measures = []
    for each in found:
        start, end = next(clause for clause in clauses if clause[0] <= each.start < clause[1])
        own = f"{plain[start : each.start]} {plain[each.end : end]}"
        units = set(stems(each.dimension.removesuffix(" each second")))
        said = (set(stems(own)) | shared) - units - IDLE or set(stems(plain)) - units - IDLE
        if not said or said & core:  # else it only says when something else holds
            about = frozenset(SAME_MEASURE.get(stem, stem) for stem in said)
            measures.append(Measure(each, about | around))
    return tuple(measures)
