"""A statement as plain clauses: one way to say each thing, one claim in each (I-5). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helix.intake.conflicts.vocabulary import CLOSE, OPEN, marked

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 600
"""Characters of a statement that are read."""
MODAL = re.compile(
    r"\b(?:must|shall|should|may|can|cannot|will|need|needs|has to|have to|is|are|do|does)\b"
)

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_MARKS = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_LABEL = re.compile(
    r"^\W*(?:[a-z]{1,10}-?\d+(?:\.\d+)*|\d+(?:\.\d+)*)\s*[:.)\u2013\u2014-]\s+|(?<!\x02)\b[a-z]{2,10}-\d+\b"
)
_QUOTED = re.compile(r'"[^"\s]*\s[^"\s]*\s[^"]*"|“[^”\s]*\s[^”\s]*\s[^”]*”')
_REASON = re.compile(
    r"[,(]? ?\b(?:because|so that|in order to|since|to (?:ensure|avoid|keep|prevent|make sure"
    r"|reduce|improve)|due to|as this|which means|for example|e\.g\.|i\.e\.)(?![\w]).*"
)
_TAIL = re.compile(
    r", (?:managed|operated|run|hosted|maintained|provided|owned|supplied) by [^,;.]*"
    r"|, which (?:(?!\b(?:must|shall|should|may|can|not|never|no)\b|\d)[^,;.])*(?=[.;]?\Z)"
    r"| for (?:speed|performance|simplicity|safety|security|convenience|reliability|now)\b"
)
"""What is told besides a rule: who looks after it, what it is good for."""
_ACCOUNT = r"(?:account|log-?in|registration|sign-?(?:in|up))"
_SAME_SAID = tuple(
    (re.compile(said), plain)
    for said, plain in (
        (r"\b(?:under no circumstances|on no account|at no time|in no case)\b", "never"),
        (r"\b(?:no-?one|no one)\b", "nobody"),
        (r"\bnobody (?:but|except(?: for)?|other than|besides|apart from)\b", "only"),
        (r"\b(check|sign)(?:s|ed|ing)?[ -](out|in|up)\b", r"\1\2"),
        (r"\blog(?:s|ged|ging)?[ -]in(?=\W*$|[,;]| (?:to|with|via|through|and|or)\b)", "login"),
        (rf"\bwithout (?:an? |any )?{_ACCOUNT}\b", "anonymously"),
        (rf"\bno {_ACCOUNT} (?:is )?(?:needed|required|necessary)\b", "anonymously"),
        (r"\b(?:free of charge|at no cost|for free)\b", "gratis"),
        (r"\bit is (?:not (?:allowed|permitted|possible)|forbidden|impossible) to\b", "must not"),
        (r"\bit is (?:allowed|permitted|possible) to\b", "may"),
        (r"\bit is (?:required|mandatory|necessary) to\b", "must"),
        (r"^(?:the |our )?[\w-]+ (?:forbids?|prohibits?|disallows?|rules? out)\b", "must not"),
    )
)
"""Turns of phrase for which there is a plain word."""
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
    r"|,? and (?=[a-z]+ no\b)"
    r"|, (?=(?:and )?(?:must|shall|should|may)\b)"
)
_TURN = re.compile(r"\b(?:instead of|rather than|in place of)\b")
_PREFER_OVER = re.compile(r"\b(prefer\w* [^,;]*?) over\b")


def clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The claims of a text as texts, and whether each is what something else replaces."""
    said = _without_reasons(plain(text))
    return iter(()) if _QUESTION.search(said) else _parts(said)


def plain(text: str) -> str:
    """In lower case, on one line, without marks, names of technologies put in marks of ours."""
    text = _CONTROLS.sub(" ", text[:LONGEST]).replace("\u2019", "'")
    text = marked(_QUOTED.sub(" ", _MARKS.sub("", text))).lower()
    text = " ".join(text.split()).replace("n't ", " not ").replace("cannot", "can not")
    text = _LABEL.sub(" ", text).strip()
    for said, word in _SAME_SAID:
        text = said.sub(word, text)
    return text


def _without_reasons(text: str) -> str:
    shorter = _TAIL.sub("", _REASON.sub("", text))
    return shorter if shorter.strip(" .,") else text


def _parts(text: str) -> Iterator[tuple[str, bool]]:
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
        begins = MODAL.search(wanted)
        if begins and wanted[: begins.start()].strip(" ,and"):
            subject = wanted[: begins.start()]
        elif subject:
            wanted = f"{subject} {wanted}"
        if wanted.strip(" .,"):
            yield wanted, False
        yield from ((each, True) for each in dropped if each.strip())
