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
_KEYS = (
    r"(?:(?:\w*_)?(?:secrets?|credentials?|passwords?|tokens?|api[ _-]?keys?)|private keys?|"
    r"\.env|\.ssh|id_rsa|\.netrc)"
)
_IGNORING = (
    r"(?:ignore|disregard|forget|override|overrule|bypass|"
    r"(?:do\W+not|don\W?t|never|stop)\W+(?:follow|obey)(?:ing)?)"
)
_SHELL = r"(?:(?:ba|z|da)?sh|(?:python3?|perl|ruby|node)(?!\s+-[a-z]*[cem]))\b"
_UP_TO_3, _UP_TO_8 = r"(?:\W+\w+){0,3}?\W+", r"(?:\W+\w+){0,8}?\W+"
_SUSPICIOUS = {
    "it tells the agent to ignore its orders": (
        (
            rf"\b{_IGNORING}\b{_UP_TO_3}"
            rf"(?:previous|prior|above|earlier|preceding|your)\b{_UP_TO_3}{_ORDERS}\b"
        ),
        (
            rf"\b(?:ignore|disregard|forget)\b{_UP_TO_3}(?:all|any|every|the|these)\b{_UP_TO_3}"
            r"(?:instructions?|system\W+prompts?)\b"
        ),
        (
            r"\b(?:ignore|disregard|forget)\W+(?:everything|all)\W+"
            r"(?:(?:that\W+)?you\b|(?:of\W+the\W+)?above\W*(?:$|and\b|instead\b))"
        ),
    ),
    "it pretends to bring new orders": (
        r"\b(?:new|updated)\W+(?:system\W+)?(?:instruction|prompt)s?\W*:",
        rf"\b(?:your\W+new|real|actual|secret|hidden)\W+(?:system\W+)?{_ORDERS}\W*:",
        r"\byour\W+(?:new|real|actual|only)\W+(?:task|goal|job|mission|objective)\W+is\b",
    ),
    "it is after the agent's own orders": (
        (
            rf"\b(?:reveal|print|repeat|show|output|replace)\b{_UP_TO_3}"
            r"(?:(?:system|developer)\W+prompt|your\W+(?:system|developer)\W+message)\b"
        ),
    ),
    "it tells the agent who it is": (
        r"\byou\W+are\W+(?:now\W+(?:an?|the|free|called|dan)|no\W+longer\W+(?:an?|bound|the))\b",
        r"\byou\W+are\W+now\W+in\W+(?:\w+\W+){1,2}mode\b",
        r"\bfrom\W+now\W+on\W+you\b",
        r"\bpretend\W+(?:to\W+be\W+(?:an?|the|some\w+|another)|that\W+you)\b",
    ),
    "it asks the agent to keep something from people": (
        (
            r"\b(?:do\W+not|don\W?t|never|without)\W+(?:tell|inform|mention|warn|alert|notify)"
            r"(?:ing)?\b(?:\W+\w+){0,4}?\W+(?:operator|reviewer|maintainer|human|anyone|anybody)\b"
        ),
        (
            r"\b(?:hide|conceal|mention|keep)\W+(?:this|it)\W+(?:secret\W+)?(?:from|to)\W+"
            r"(?:the\W+)?(?:users?|operator|reviewer|maintainer|human|people|anyone|anybody)\b"
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
        rf"\b(?:curl|wget)\b[^\n|]{{0,300}}\|\s*(?:sudo\s+)?{_SHELL}",
        rf"\bbase64\s+(?:-d|--decode)\b[^\n|]{{0,100}}\|\s*{_SHELL}",
        r"\b(?:ba|z|da)?sh\s+(?:<\(|-c\s+[\"']?\$\()\s*(?:curl|wget)\b",
    ),
}
_PATTERNS = {
    re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE): reason
    for reason, forms in _SUSPICIOUS.items()
}
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u0578\u051b\u051d\u03bf",
    "aeopcyxisjdhnqwo",
)
"""Letters of other scripts that look like ours, by which words hide."""
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
    plain = normalize("NFKC", text).casefold().translate(_LOOKALIKES)
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
