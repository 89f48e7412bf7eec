"""Texts that must not reach an agent as advice: orders to it, hidden marks, secrets (M-2). Pure.

A memory is advice in the imperative, so that "run the migrations first" is as it should be. What
is held back speaks to the agent about its own orders, pretends to be somebody, or carries data off.
It is a net, not a wall: what is injected is quoted as data in any case (X-26).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from helix.policy.trailers import trailer_lines

if TYPE_CHECKING:
    from ddx.masking import Masker
    from helix.memory.model import Draft

_ORDERS = r"(?:instruction|direction|prompt|rule|guideline|command|order)s?"
_KEYS = r"(?:secrets?|credentials?|passwords?|tokens?|api[ _-]?keys?|private keys?|\.env)"
_UP_TO_3, _UP_TO_8 = r"(?:\W+\w+){0,3}?\W+", r"(?:\W+\w+){0,8}?\W+"
_SUSPICIOUS = {
    "it tells the agent to ignore its orders": (
        (
            rf"\b(?:ignore|disregard|forget|override|overrule|bypass)\b{_UP_TO_3}"
            rf"(?:previous|prior|above|earlier|preceding|your)\b{_UP_TO_3}{_ORDERS}\b"
        ),
        (
            rf"\b(?:ignore|disregard|forget)\b{_UP_TO_3}(?:all|any|every|the|these)\b{_UP_TO_3}"
            r"(?:instructions?|prompts?)\b"
        ),
    ),
    "it pretends to bring new orders": (
        rf"\b(?:new|updated|real|actual|secret|hidden)\W+(?:system\W+)?{_ORDERS}\W*:",
    ),
    "it is after the agent's own orders": (
        (
            rf"\b(?:reveal|print|repeat|show|output|replace)\b{_UP_TO_3}(?:system|developer)\W+"
            r"(?:prompt|message)\b"
        ),
    ),
    "it tells the agent who it is": (
        r"\byou\W+are\W+(?:now\W+(?:an?|the|free|called)|no\W+longer\W+(?:an?|bound|the))\b",
        r"\bfrom\W+now\W+on\W+you\b",
        r"\bpretend\W+(?:to\W+be|that\W+you)\b",
    ),
    "it asks the agent to keep something from people": (
        (
            r"\b(?:do\W+not|don\W?t|never|without)\W+(?:tell|inform|mention|warn|alert|notify)"
            r"(?:ing)?\b(?:\W+\w+){0,4}?\W+(?:operator|reviewer|maintainer|human)\b"
        ),
    ),
    "it pretends to be another voice in the conversation": (
        r"<\|[^|>\n]{1,40}\|>",
        r"\[/?INST\]|<<SYS>>",
        r"</?(?:system|assistant)(?:\s[^>\n]{0,80})?>",
        r"^\s*(?:#+\s*)?(?:system|assistant|human)\s*:",
    ),
    "it carries secrets off": (
        r"\bexfiltrate\b",
        (
            rf"\b(?:send|post|upload|e?mail|forward|transmit|copy)\b{_UP_TO_8}{_KEYS}\b{_UP_TO_8}"
            r"(?:https?://|[\w.+-]+@[\w-]+\.)"
        ),
    ),
    "it runs what it has just fetched": (
        r"\b(?:curl|wget)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b",
        r"\bbase64\s+(?:-d|--decode)\b[^\n|]{0,100}\|\s*(?:ba|z|da)?sh\b",
    ),
}
_PATTERNS = {
    re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE): reason
    for reason, forms in _SUSPICIOUS.items()
}
_INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
"""Some scripts need them between letters; elsewhere they only hide something."""


def suspicion(draft: Draft, masker: Masker) -> str:
    """Why a person must look at it first; empty if nothing is wrong with it."""
    text = f"{draft.trigger}\n{draft.resolution}\n{draft.source}"
    if hidden := _hidden(text):
        return f"it holds a character that nobody sees: U+{ord(hidden):04X}"
    if masker.mask(text) != text:
        return "it holds what looks like a secret"
    if lines := trailer_lines(text):
        return f"it holds a line that is an answer to helix: {lines[0].strip()[:40]!r}"
    plain = normalize("NFKC", text)
    for pattern, reason in _PATTERNS.items():
        if pattern.search(plain):
            return reason
    return ""


def _hidden(text: str) -> str:
    for place, mark in enumerate(text):
        if mark.isascii():
            continue
        joins = mark in _JOINERS and 0 < place < len(text) - 1 and not text[place - 1].isascii()
        if (category(mark) in ("Cf", "Co", "Cn") or mark in _INVISIBLE) and not joins:
            return mark
    return ""
