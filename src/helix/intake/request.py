"""What a sentence asks for: its intent, its terms, and what makes two sentences the same. Pure."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum

from ddx.base import UsageError, cut, require_clean, value
from ddx.documents import terms_of
from helix.passes import identity

MOST_TERMS = 20
LONGEST_REQUEST = 4000
_SHORT = 100
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


class RequestIntent(StrEnum):
    """What kind of answer a request wants (I-2)."""

    NEW_CAPABILITY = "new-capability"
    CHANGE = "change"
    REPLACE_TECHNOLOGY = "replace-technology"
    DEFECT = "defect"
    QUESTION = "question"


@value
class ParsedRequest:
    """A request as it was understood."""

    text: str
    intent: RequestIntent
    terms: tuple[str, ...] = ()
    is_guess: bool = False
    """No word of it says what is wanted: the intent is the likeliest one."""
    is_foreign: bool = False
    """It does not seem to be English, so none of its words is taken for one that we know."""
    replaced: tuple[str, ...] = ()
    """Of another technology: the terms of the one that is to go."""

    @property
    def key(self) -> str:
        """The same for sentences that a person would read as the same."""
        return hashlib.sha256(identity(self.text)[0].encode()).hexdigest()[:16]

    @property
    def short(self) -> str:
        return cut(self.text, _SHORT)

    @property
    def subject(self) -> str:
        """What it is about, as a title: without the words that ask for it."""
        core = _POLITE.sub("", self.text).rstrip(" .!?")
        words = _ARTICLE.sub("", _CREATES.sub("", core).lstrip()) or core
        return cut(words[:1].upper() + words[1:], _SHORT)


_WORK_WORDS = """
    able allow bring broken bug create design fix implement instead introduce let like move place
    please provide rather remove rename replace show support swap switch update work write
"""
_SAYS_WHAT_TO_DO = frozenset(_WORK_WORDS.split())
"""Words of a wish that no document is about."""

# A polite form is no question: "could you add a cart?" asks for a cart.
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hey|hi|hello|so|ok|now)\b[ ,:!]*"
    r"|(?:can|could|would|will) you\b[ ,]*(?:please\b[ ,]*)?"
    r"|(?:i|we|users?|people|customers?)(?:'d| would)? (?:want|need|like|should|must|have)"
    r"(?: to| you to)?\b[ ,]*(?:be able to\b)?[ ,]*"
    r"|let(?:'s| us)\b[ ,]*|it should be possible to\b[ ,]*)+",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:what|why|how|who|whom|whose|when|where|which|is|are|was|were|do|does|did|can|could"
    r"|should|shall|would|will|has|have|may|must)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"\binstead of\b|\bin place of\b|\brather than\b"
    r"|\b(?:replace|swap|substitute|exchange)\b.+\b(?:with|by|for)\b"
    r"|\b(?:migrate|switch|port|convert)\b.*\bto\b|\b(?:move|go)\b.*\b(?:from\b.+\bto|over to)\b"
    r"|\b(?:migrate|move|go) away from\b|^move to\b"
    r"|\brewrite\b.+\bin\b",
    re.IGNORECASE | re.DOTALL,
)
_OLD = re.compile(
    r"\b(?:instead of|in place of|rather than|away from) (.+)"
    r"|\b(?:replace|swap|substitute|exchange) (.+?) (?:with|by|for)\b|\bfrom (.+?) to\b",
    re.IGNORECASE,
)
_BREAKS = re.compile(
    r"\b(?:bugs?|broken|breaks?|crash\w*|fails?|failing|failed|failures?|fix(?:es|ed)?|regression"
    r"|wrong(?:ly)?|incorrect(?:ly)?|errors?|exception|freezes?|hangs?|leaks?|stuck|misses|loses"
    r"|(?:does|do|did|is|are|can|will|was)(?:n't| not)|cannot)\b",
    re.IGNORECASE,
)
_CREATES = re.compile(
    r"^(?:accept|add|allow|build|calculate|collect|connect|create|design|develop|display|enable"
    r"|encrypt|export|generate|implement|import|integrate|introduce|keep|launch|let|log"
    r"|make (?:a|an|it possible)|notify|offer|print|provide|publish|record|save|send|set up|show"
    r"|start|store|support|sync|track|use|validate|write)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:a|an|the|some)\b ?", re.IGNORECASE)
_IS_NEW = re.compile(r"\b(?:new|ability to|able to)\b", re.IGNORECASE)
_WANTS = re.compile(r"\b(?:want|need|like|should|must|possible)\b", re.IGNORECASE)
_CHANGES = re.compile(
    r"^(?:adapt|adjust|align|change|clarify|correct|cut|decrease|delete|deprecate|disable|drop"
    r"|edit|expand|hide|extend|improve|increase|limit|lower|make|merge|modify|move|optimi[sz]e|raise|reduce"
    r"|refactor|relax|remove|rename|reorder|reorgani[sz]e|require|restrict|revise|reword|rework|shorten"
    r"|simplify|speed up|split|tighten|turn|unify|update|upgrade)\b",
    re.IGNORECASE,
)


def parse_request(text: str) -> ParsedRequest:
    """The sentence as a wish; one that cannot be one is wrong usage (I-11)."""
    sentence = " ".join(require_clean(text, what="the request").split())
    if not any(map(str.isalnum, sentence)):
        raise UsageError(
            "a request needs words", hint='for example: helix input "add a price list"'
        )
    if len(sentence) > LONGEST_REQUEST:
        raise UsageError(
            f"a request has at most {LONGEST_REQUEST:,} characters, and this has {len(sentence):,}",
            hint="say what is wanted in a sentence, and put the rest into a document",
        )
    foreign = is_foreign(sentence)
    intent, is_guess = _foreign_intent(sentence) if foreign else _intent(sentence)
    replaced = _replaced(sentence) if intent is RequestIntent.REPLACE_TECHNOLOGY else ()
    return ParsedRequest(
        text=sentence,
        intent=intent,
        terms=_terms(sentence)[:MOST_TERMS],
        is_guess=is_guess,
        is_foreign=foreign,
        replaced=replaced,
    )


def _terms(text: str) -> tuple[str, ...]:
    return tuple(term for term in terms_of(text) if term.casefold() not in _SAYS_WHAT_TO_DO)


def _replaced(sentence: str) -> tuple[str, ...]:
    found = _OLD.search(sentence)
    old = next(filter(None, found.groups()), "") if found else ""
    return _terms(old)[:MOST_TERMS]


def _foreign_intent(sentence: str) -> tuple[RequestIntent, bool]:
    """Of another language only the mark of a question is understood."""
    is_question = sentence.endswith(_QUESTION_MARKS)
    return (RequestIntent.QUESTION, False) if is_question else (RequestIntent.NEW_CAPABILITY, True)


def _intent(sentence: str) -> tuple[RequestIntent, bool]:
    """The first rule that fits, from the most telling word to the least; True: none did."""
    core = _POLITE.sub("", sentence)
    if core == sentence and (sentence.endswith("?") or _ASKS.match(sentence)):
        return RequestIntent.QUESTION, False
    for intent, words in _RULES:
        if words.search(core):
            return intent, False
    is_wanted = _WANTS.search(sentence[: len(sentence) - len(core)])
    return RequestIntent.NEW_CAPABILITY, not is_wanted


_RULES = (
    (RequestIntent.REPLACE_TECHNOLOGY, _REPLACES),
    (RequestIntent.NEW_CAPABILITY, _CREATES),
    (RequestIntent.CHANGE, _CHANGES),
    (RequestIntent.DEFECT, _BREAKS),
    (RequestIntent.NEW_CAPABILITY, _IS_NEW),
)
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_LAST_LATIN = "\u024f"
_ENGLISH_WORDS = """
    add all allow and are be build by change create delete every fix for from have improve it let
    make must of our remove rename replace should support that the their them there this to update
    users we when where which with write you
"""
# German, French, Spanish and Portuguese, Italian, Dutch, Swedish, Polish.
_OTHER_WORDS = """
    alle auf aus bei das dass dem der ein eine einem einen einer es für ist kein keine mit nach
    nicht oder sind soll statt und von vom wenn wird zu zum zur
    au aux avec ce cette dans des du elle est et il ils la le les leur mais nous ou pas pour que
    qui une vous
    como de el em esta este las los más não nas para pero por sem sua suas uma una unas y
    che della delle di gli nel più sono
    een het niet voor wij zijn
    att det där från inte och som är
    dla jest lub na nie się że
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHERS = frozenset(_OTHER_WORDS.split())


def is_foreign(sentence: str) -> bool:
    """It is written in other letters, or more of its small words are of other languages."""
    letters = [mark for mark in sentence if mark.isalpha()]
    if sum(mark > _LAST_LATIN for mark in letters) * 2 > len(letters):
        return True
    first, *rest = _WORD.findall(sentence) or [""]
    words = [first.casefold(), *rest]  # a capital inside a sentence is that of a name
    return sum(word in _OTHERS for word in words) > sum(word in _ENGLISH for word in words)
