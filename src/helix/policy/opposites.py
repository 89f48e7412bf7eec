"""Properties that exclude each other, such as real-time and batch (I-5). Pure."""

from __future__ import annotations

import re

from ddx.values import value


@value
class Axis:
    """Two sides; a thing that has one of them does not have the other."""

    name: str
    is_of_the_whole: bool
    """A system has it altogether; otherwise each operation has a side of its own."""
    one: re.Pattern[str]
    other: re.Pattern[str]
    is_of_force: bool = False
    """Its words are those of must and may themselves."""


@value
class Side:
    """On which side of an axis a claim stands."""

    axis: Axis
    is_one: bool


def _axis(
    name: str, one: str, other: str, *, is_of_the_whole: bool = False, is_of_force: bool = False
) -> Axis:
    left, right = (re.compile(rf"\b(?:{words})\b") for words in (one, other))
    return Axis(name, is_of_the_whole, left, right, is_of_force)


_SEEN = r"(?:open|visible|available|accessible|readable)"
ACCOUNT = r"(?:account|log-?in|registration|sign-?(?:in|up))"
_PERIODS = r"hour|day|night|week|month|quarter|year"
_RHYTHMS = r"hourly|daily|nightly|weekly|monthly"
_NETWORK = r"(?:internet|network|online)"
AXES = (
    _axis(
        "real-time against batch",
        r"real[- ]?time|instantly|continuously|as (?:they|it) (?:happen|arrive)s?|immediately"
        r"|the moment [^,;.]*|as soon as [^,;.]*|at once|right away|straight away|live",
        r"(?:in|is|are|as|by|be|via) (?:a |nightly |daily )?batch(?:es)?|batched|overnight"
        r"|batch[- ](?:only|mode|jobs?|process(?:ing|ed)|oriented|based)"
        rf"|(?:by |in )?(?:an? )?(?:{_RHYTHMS})(?: digests?)?"
        rf"|(?:once (?:an?|per|every|each)|every|each) (?:{_PERIODS})",
    ),
    _axis("synchronous against asynchronous", r"synchronous(?:ly)?", r"async(?:hronous(?:ly)?)?"),
    _axis(
        "blocking against non-blocking",
        r"(?<!non-)(?<!non )blocking|waits? synchronously"
        r"|blocks? (?:the )?(?:event loop|(?:main |ui )?thread|caller)",
        r"non-?blocking|non blocking",
    ),
    _axis("manual against automatic", r"manual(?:ly)?|by hand", r"automatic(?:ally)?|automated"),
    _axis(
        "mandatory against optional",
        r"mandatory|compulsory|obligatory|(?:is|are|be) (?:always )?required",
        r"optional(?:ly)?|not (?:required|mandatory)|voluntary",
        is_of_force=True,
    ),
    _axis(
        "encrypted against plain text",
        r"encrypted(?: at rest| in transit)?",
        r"plain ?-?text|clear ?-?text|unencrypted|in the clear",
    ),
    _axis(
        "immutable against changeable",
        r"immutable|append-only|read-only|unchangeable|write-once",
        r"(?<!im)mutable|editable|can be (?:edited|changed|modified)|updated in place|in-place",
    ),
    _axis(
        "public against private",
        r"public(?:ly)?|(?:any|every)(?:one|body) (?:may|can) (?:read|see|view|browse|access|visit)"
        rf"|{_SEEN} (?:to|for) (?:everyone|everybody|anyone|anybody|all)",
        r"private(?:ly)?|confidential|internal(?: only|-only)|for internal use"
        r"|(?:restricted|reserved) (?:to|for) [a-z-]+"
        rf"|only {_SEEN} (?:to|for) [a-z-]+|{_SEEN} only (?:to|for) [a-z-]+",
    ),
    _axis(
        "with or without an account",
        r"anonymously",
        rf"(?:requires?|needs?|must have) (?:an? )?{ACCOUNT}|(?:signin|login) (?:is )?required"
        r"|must (?:be |first )?(?:signin|signup|login)"
        r"|(?:reserved|only) for [^,;.]*(?:signin|login)",
        is_of_the_whole=True,
        is_of_force=True,
    ),
    _axis(
        "push against pull", r"push(?:ed)?(?:-based)?", r"pull(?:ed)?(?:-based)?|poll(?:ed|ing)?"
    ),
    _axis(
        "ordered against unordered", r"(?:strictly )?ordered|in order", r"unordered|in any order"
    ),
    _axis("exactly once against at least once", r"exactly[- ]once", r"at[- ]least[- ]once"),
    _axis("at most once against at least once", r"at[- ]most[- ]once", r"at[- ]least[- ]once"),
    _axis(
        "strong against eventual consistency",
        r"strong(?:ly)? consisten(?:t|cy)|linearizable|strict consistency",
        r"eventual(?:ly)? consisten(?:t|cy)",
    ),
    _axis("in advance against afterwards", r"in advance|beforehand|up ?-?front", r"afterwards"),
    _axis("case-sensitive or not", r"case[- ]sensitive", r"case[- ]insensitive"),
    _axis("opt-in against opt-out", r"opt[- ]in", r"opt[- ]out"),
    _axis(
        "server against browser",
        r"(?:on|by) the server|server-side",
        r"(?:in|by) the browser|on the client|client-side",
    ),
    _axis("ascending against descending", r"ascending|oldest first", r"descending|newest first"),
    _axis(
        "for good against recoverable",
        r"for good|permanent(?:ly)?|irreversibl[ey]",
        r"can (?:always )?be (?:restored|recovered|undone)|recoverable|reversible",
    ),
    _axis("fail closed against fail open", r"fails? closed", r"fails? open"),
    _axis(
        "free against paid",
        r"gratis",
        r"(?:an? )?paid (?:feature|plan|option|service|extra)|chargeable|for a fee",
    ),
    _axis("visible against hidden", r"visible|shown|displayed", r"hidden|invisible|concealed"),
    _axis("eager against lazy", r"eager(?:ly)?|in full at the start", r"lazy|lazily|on demand"),
    _axis("static against dynamic typing", r"statically typed", r"dynamically typed"),
    _axis(
        "stateless against stateful",
        r"stateless",
        r"stateful|sticky sessions?|session affinity|keeps? (?:session )?state"
        r"|keeps? (?:the |its |their )?(?:sessions?|state) in memory",
        is_of_the_whole=True,
    ),
    _axis(
        "single-tenant against multi-tenant",
        r"single[- ]tenan(?:t|cy)",
        r"multi-?[ ]?tenan(?:t|cy)",
        is_of_the_whole=True,
    ),
    _axis(
        "monolith against microservices",
        r"monolith(?:ic)?|single (?:binary|process|deployable)",
        r"micro-?services?",
        is_of_the_whole=True,
    ),
    _axis(
        "offline against online",
        rf"offline|air-?gapped|(?:without|no) (?:an? |any )?{_NETWORK}(?: connection| access)?",
        rf"(?:always )?online(?: only)?|(?<!no ){_NETWORK} (?:connection|access)",
        is_of_the_whole=True,
    ),
    _axis(
        "on premises against cloud",
        r"on[- ]prem(?:ises?)?|self-hosted|own (?:servers|hardware|data cent(?:er|re)s?)",
        r"cloud|saas|hosted by (?:us|the vendor)",
        is_of_the_whole=True,
    ),
    _axis(
        "open source against proprietary",
        r"open[- ]source[d]?",
        r"proprietary|closed[- ]source[d]?",
        is_of_the_whole=True,
    ),
    _axis(
        "single-threaded against multi-threaded",
        r"single[- ]threaded",
        r"multi-?[ ]?threaded",
    ),
    _axis("centralised against decentralised", r"centrali[sz]ed", r"decentrali[sz]ed"),
    _axis("serverless against servers", r"serverless", r"dedicated servers?|own servers?"),
)


_ANY = re.compile("|".join(side.pattern for axis in AXES for side in (axis.one, axis.other)))


def sides_of(text: str, *, is_ban: bool) -> tuple[tuple[Side, ...], str]:
    """The sides that a text takes, turned over if it forbids them, and the text without them.

    A text that names both sides of an axis takes neither.
    """
    if not _ANY.search(text):
        return (), text
    found: list[Side] = []
    taken: set[int] = set()
    for axis in AXES:
        one, other = axis.one.search(text), axis.other.search(text)
        if bool(one) == bool(other):
            continue
        found.append(Side(axis, (one is not None) != is_ban))
        for said in (axis.one if one else axis.other).finditer(text):
            taken.update(range(*said.span()))
    rest = "".join(" " if at in taken else mark for at, mark in enumerate(text))
    return tuple(found), rest
