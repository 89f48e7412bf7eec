"""What a text that wants to steer an agent looks like, in patterns for folded text (M-2). Pure.

A memory is advice in the imperative: "ignore rule E501", "skip the check where the file is missing"
and `curl ... | python3 -m json.tool` are as they should be. Only what speaks to the agent about its
own orders, pretends to be somebody, or carries data off is listed here.
"""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from typing import TYPE_CHECKING
from unicodedata import category, normalize
from urllib.parse import unquote

from helix.memory.model import slug_of
from helix.passes import trailer_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.base import Masker
    from helix.memory.model import MemoryDraft

_ORDERS = r"(?:instruction|direction|prompt|rule|guideline|command|order)s?"
_KEYS = (
    r"(?:(?:\w*_)?(?:secrets?|credentials?|passwords?|tokens?|api[ _-]?keys?)|private keys?|"
    r"\.env|\.ssh|id_rsa|\.netrc)"
)
_KEY_FILE = r"(?:\.env\b|\.ssh/|id_(?:rsa|ed25519)|\.netrc|credentials\b|/etc/(?:passwd|shadow))"
_KEY_VARIABLE = r"\$\{?\w*(?:secret|token|key|passw)\w*"
_IGNORING = (
    r"(?:ignore|disregard|forget|"
    r"(?:do\W+not|don\W?t|never|stop)\W+(?:follow|obey)(?:ing)?)"
)
_PEOPLE = r"(?:users?|operator|reviewer|maintainer|human|people|anyone|anybody)"
_NEVER = r"(?:do\W+not|don\W?t|never|without)"
_SHELL = r"(?:(?:ba|z|da)?sh|(?:python3?|perl|ruby|node)(?!\s+-[a-z]*[cem]))\b"
_LINE = r"^[^\S\n]*"
"""A line's beginning; were newlines to count as its space, a few thousand would take seconds."""
_UP_TO_3, _UP_TO_8 = r"(?:\W+\w+){0,3}?\W+", r"(?:\W+\w+){0,8}?\W+"
SUSPICIOUS = {
    "it tells the agent to ignore its orders": (
        (
            rf"\b{_IGNORING}\b{_UP_TO_3}"
            rf"(?:previous|prior|above|earlier|preceding|your)\b{_UP_TO_3}{_ORDERS}\b"
        ),
        (
            rf"\b(?:override|overrule|bypass)\b{_UP_TO_3}(?:previous|prior|above|earlier|your)\b"
            rf"{_UP_TO_3}(?:instruction|direction|prompt|guideline)s?\b"
        ),
        (
            rf"\b(?:ignore|disregard|forget)\b{_UP_TO_3}(?:all|any|every|the|these)\b{_UP_TO_3}"
            r"(?:instructions?|system\W+prompts?)\b"
        ),
        (
            r"\b(?:ignore|disregard|forget)\W+(?:everything|all)\W+"
            r"(?:(?:that\W+)?you\b|(?:of\W+the\W+)?above\W*(?:$|and\b|instead\b))"
        ),
        (
            rf"\b(?:previous|prior|earlier|your)\W+{_ORDERS}\W+(?:are|is|have|has)\W+"
            r"(?:now\W+|been\W+){0,2}(?:void|revoked|changed|replaced|superseded|cancell?ed)\b"
        ),
        r"\bstop\W+what(?:ever)?\W+you\W+are\W+doing\b",
        r"\b(?:you\W+must\W+obey|obey\W+(?:this|these|the\W+following|only))\b",
    ),
    "it pretends to bring new orders": (
        r"\b(?:new|updated)\W+(?:system\W+)?(?:instruction|prompt)s?\W*:",
        rf"\b(?:your\W+new|real|actual|secret|hidden)\W+(?:system\W+)?{_ORDERS}\W*:",
        r"\byour\W+(?:new|real|actual|only)\W+(?:task|goal|job|mission|objective)\W+is\b",
        (
            rf"\b{_PEOPLE}\W+(?:has|have)\W+(?:authori[sz]ed|allowed|permitted|approved)"
            r"\W+(?:you|this\W+agent)\b"
        ),
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
        r"\byou\W+have\W+no\W+(?:\w+\W+)?(?:restrictions|rules|limits)\b",
        r"\bfrom\W+now\W+on\W+you\b",
        r"\bpretend\W+(?:to\W+be\W+(?:an?|the|some\w+|another)|that\W+you)\b",
        r"\bact\W+as\W+an?\W+(?:unrestricted|unfiltered|uncensored|jailbroken)\b",
        r"\bas\W+an\W+ai\W+(?:language\W+model|assistant|agent)\W+you\b",
    ),
    "it asks the agent to keep something from people": (
        (
            rf"\b{_NEVER}\W+(?:tell|inform|mention|warn|alert|notify)(?:ing)?\b(?:\W+\w+){{0,4}}?"
            r"\W+(?:operator|reviewer|maintainer|human|anyone|anybody)\b"
        ),
        (
            rf"\b{_NEVER}\W+(?:reveal|disclose|show|tell|mention)(?:ing)?\W+(?:this|these)\W+"
            rf"(?:(?:instruction|memory|note|prompt|order)s?\W+)to\W+(?:the\W+)?{_PEOPLE}\b"
        ),
        rf"\b{_NEVER}\W+reveal(?:ing)?\W+(?:this|it)\W+to\W+(?:the\W+)?{_PEOPLE}\b",
        (
            rf"\b{_NEVER}\W+mention(?:ing)?\W+(?:it|this|that)\W+in\W+(?:the|your|any)\W+"
            r"(?:commit|pull|pr|report|summary|answer|review)\b"
        ),
        (
            r"\b(?:hide|conceal|mention|keep)\W+(?:this|it)\W+(?:secret\W+)?(?:from|to)\W+"
            rf"(?:the\W+)?{_PEOPLE}\b"
        ),
    ),
    "it pretends to be another voice in the conversation": (
        r"<\|[^|>\n]{1,40}\|>",
        r"\[/?INST\]|<<SYS>>",
        r"</?(?:system|assistant)(?:[-_]\w+)?(?:\s[^>\n]{0,80})?>",
        r"</?(?:tool[-_](?:call|use|result)s?|function[-_](?:call|result)s?|invoke)\b[^>\n]{0,80}>",
        r"</?(?:instructions?|important|important[-_]instructions?)>",
        rf"{_LINE}(?:#+\s*)?(?:system|assistant|human)\s*:",
        r"\b(?:begin|start|end)\W+(?:of\W+)?(?:the\W+)?system\W+(?:prompt|message)\b",
    ),
    "it hides words in a comment": (
        r"<!--(?:(?!<!--)\W)*(?:\w[^\s<>]*\s+){4,40}?[^<>]{0,400}-->",
        rf"{_LINE}\[[^\]\n]{{1,20}}\]:\s*(?:#|<>)\s*[(\"'](?:\S+\s+){{4}}",
    ),
    "it switches off what guards the agent": (
        r"--dangerously-\w+",
        r"\b(?:approve|allow|accept)\W+(?:every|all|any)\W+tool\W+(?:call|use)s?\b",
        r"\bmark\W+(?:\w+\W+){1,4}?(?:done|passed|closed|clean)\W+without\b",
    ),
    "it carries secrets off": (
        r"\bexfiltrate\b",
        (
            rf"\b(?:send|post|upload|e?mail|forward|transmit|copy)\b{_UP_TO_8}{_KEYS}\b{_UP_TO_8}"
            r"(?:https?://|[\w.+-]+@[\w-]+\.)"
        ),
        rf"https?://[^\s)\"']{{0,200}}[?&/=]{_KEY_VARIABLE}",
        r"!\[[^\]\n]{0,80}\]\(\s*https?://[^\s)]{0,100}[?&][^\s)]{0,100}(?:\$|\{)",
        rf"\b(?:curl|wget)\b[^\n]{{0,200}}(?:@|--post-file[ =]|-T )\S{{0,100}}{_KEY_FILE}",
        r"\b(?:curl|wget)\b[^\n]{0,200}\$\((?:env|printenv|set|cat)\b",
        rf"\b(?:cat|tar|zip)\b[^\n|]{{0,180}}{_KEY_FILE}[^\n|]{{0,80}}\|[^\n]{{0,80}}\b(?:curl|wget|nc)\b",
    ),
    "it runs what it has just fetched": (
        rf"\b(?:curl|wget)\s+[^\s|][^\n|]{{0,300}}\|\s*(?:sudo\s+)?{_SHELL}",
        rf"\bbase64\s+(?:-d|--decode)\b[^\n|]{{0,100}}\|\s*{_SHELL}",
        r"\b(?:ba|z|da)?sh\s+(?:<\(|-c\s+[\"']?\$\()\s*(?:curl|wget)\b",
        r"\beval\b[^\n]{0,100}\bbase64\s+(?:-d|--decode)\b",
        r"\bexec\([^\n]{0,80}b64decode\(",
        r"\|\s*(?:iex|invoke-expression)\b",
        r"\bpowershell(?:\.exe)?\s+-e(?:nc\w*)?\s+[a-z0-9+/=]{16}",
        r"\bdownload\W+and\W+(?:execute|run)\W+https?://",
        r"\brun\W+(?:the\W+)?(?:commands?|scripts?|code)\W+(?:in|at|from|behind)\W+https?://",
    ),
    "it opens the machine to others": (r"/dev/tcp/", r"\bnc\b[^\n]{0,80}\s-e\b"),
    "it links to a program": (r"\]\(\s*(?:javascript|vbscript|data):",),
}
"""By reason: the forms that give it away. English, and the shell."""
ELSEWHERE = (
    (
        "ignorier|vergiss|missachte",
        "vorherig|bisherig|vorig|obig|früher",
        "anweisung|befehl|regel|instruktion|vorgabe",
    ),
    ("negeer|vergeet", "vorige|eerdere|bovenstaande", "instructie|opdracht|regels"),
    ("ignora|olvida|omite", "anterior|previ|arriba", "instruccion|orden|indicacion|regla"),
    ("ignore|oublie", "précédent|ci-dessus|antérieur", "instruction|consigne|directive|ordre"),
    ("ignora|dimentica", "precedent|sopra", "istruzion|ordini|regole"),
    ("ignore|esqueça", "anterior|acima", "instruç|ordens|regras"),
    ("ignoruj|zapomnij", "poprzedn|powyższ", "instrukcj|polece"),
    ("yok say|unut|görmezden gel", "önceki|yukar", "talimat|komut"),
    ("игнорируй|забудь", "предыдущ|прежн|выше", "инструкц|указани|приказ|правил"),
    ("忽略|无视|無視|忽視|忘记|忘記", "之前|以上|先前|上述|前面", "指令|指示|提示|规则|規則"),
    ("無視|忘れ", "これまで|以前|上記|前の", "指示|命令|プロンプト"),
    ("무시|잊어", "이전|위의|앞의", "지시|명령|지침"),
    ("تجاهل|انس", "السابقة|أعلاه", "التعليمات|الأوامر"),
    ("अनदेखा|भूल", "पिछले|ऊपर", "निर्देश|आदेश"),
)
"""The commonest order in other languages: ignore, previous, instructions, in one sentence."""
SECRETS = (
    r"hooks\.slack\.com/services/([\w/-]{20,})",
    r"\b(rk_(?:live|test)_\w{16,})",
    r"\b(ya29\.[\w-]{20,})",
    r"\b(pypi-AgE[\w-]{16,})",
    r"\b(SG\.[\w-]{16,}\.[\w-]{16,})",
    r"\b(do[opr]_v1_[0-9a-f]{32,})",
    r"(?i:\b(age-secret-key-1[a-z0-9]{30,}))",
    r"(?i:\b(?:account|shared ?access)key=([A-Za-z0-9+/=]{30,}))",
    (
        r"(?i:(?:\b|_)(?:passw(?:or)?d|passphrase|secret|token|api[ _-]?key|(?:access|secret)_key)"
        r"[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
        r"((?![$<{%\[(])(?=[^\s\"']{0,60}[a-z])(?=[^\s\"']{0,60}[0-9])[^\s\"'()<>{}]{8,200}))"
    ),
)
"""What looks like a key in a memory, beside all that a Masker knows; the group is the secret."""
IGNORES = next(iter(SUSPICIOUS))
_MASKED = "[masked]"
_SHORTEST_WRAPPED = 24
_MOST_WRAPPED = 20
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u0501\u04bb\u0578\u051b\u051d"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c4\u03c5\u0131",
    "aeopcyxisjdhnqwoaeikvptui",
)
"""Letters of other scripts that look like ours, by which words hide."""
_FIGURES = str.maketrans("0134578@$", "oieastbas")
_INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
"""Some scripts need them between letters; elsewhere they only hide something."""
_APART = re.compile(r"(?<!\w)(?:\w[ .*-]){3,40}\w(?!\w)")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})")
_WRAPPED = re.compile(rf"[A-Za-z0-9+/]{{{_SHORTEST_WRAPPED},8000}}={{0,2}}")
_SENTENCE = re.compile(r"[.!?\n\u3002\uff01\uff1f]+")
_SECRET = re.compile("|".join(SECRETS))


def suspicion(draft: MemoryDraft, masker: Masker, *, like: str = "") -> str:
    """Why a person must look at it first; empty if nothing is wrong with it.

    The name that is wished for it is judged too: agents see it beside the memory.
    """
    name = slug_of(like) if like else ""
    text = f"{draft.trigger}\n{draft.resolution}\n{draft.source}\n{name}"
    if hidden := _hidden(text):
        return f"it holds a character that nobody sees: U+{ord(hidden):04X}"
    if without_secrets(text, masker) != text:
        return "it holds what looks like a secret"
    if lines := trailer_lines(text):
        return f"it holds a line that is an answer to helix: {lines[0].strip()[:40]!r}"
    plain = "\n".join(dict.fromkeys(_readings(text)))
    for pattern, reason in _PATTERNS.items():
        if pattern.search(plain):
            return reason
    return IGNORES if any(map(_ignores, _SENTENCE.split(plain))) else ""


def without_secrets(text: str, masker: Masker) -> str:
    """The text with all that looks like a secret masked (X-24)."""

    def shown(match: re.Match[str]) -> str:
        begin, end = match.span(match.lastindex or 0)
        return f"{text_of[match.start() : begin]}{_MASKED}{text_of[end : match.end()]}"

    text_of = masker.mask(text)
    return _SECRET.sub(shown, text_of)


def _hidden(text: str) -> str:
    for place, mark in enumerate(text):
        if mark.isascii():
            continue
        joins = mark in _JOINERS and 0 < place < len(text) - 1 and not text[place - 1].isascii()
        if (category(mark) in ("Cf", "Co", "Cn") or mark in _INVISIBLE) and not joins:
            return mark
    return ""


def folded(text: str) -> str:
    """As it reads: one case, no accents, and no letter that only looks like another."""
    bare = "".join(mark for mark in normalize("NFKD", text) if category(mark) != "Mn")
    return normalize("NFC", bare).casefold().translate(_LOOKALIKES)


def _readings(text: str) -> Iterator[str]:
    """The text in every way in which an agent could read it."""
    for each in (text, *_unwrapped(text)):
        plain = folded(each)
        yield plain
        yield plain.replace("_", " ")
        yield plain.translate(_FIGURES)
        if _APART.search(plain):
            yield _APART.sub(lambda found: re.sub(r"\W", "", found[0]), plain)


def _unwrapped(text: str) -> Iterator[str]:
    """What is written in escapes or in base64 in it."""
    yield unescape(text)
    yield unquote(text)
    yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    for _, wrapped in zip(range(_MOST_WRAPPED), _WRAPPED.finditer(text), strict=False):
        whole = wrapped[0].rstrip("=")
        try:
            told = b64decode(whole + "=" * (-len(whole) % 4)).decode("utf-8")
        except ValueError:
            continue
        if told.isprintable():
            yield told


_PATTERNS = {
    re.compile("|".join(forms), re.IGNORECASE | re.MULTILINE): reason
    for reason, forms in SUSPICIOUS.items()
}
_ELSEWHERE = tuple(tuple(re.compile(folded(words)) for words in row) for row in ELSEWHERE)


def _ignores(sentence: str) -> bool:
    return any(all(words.search(sentence) for words in row) for row in _ELSEWHERE)
