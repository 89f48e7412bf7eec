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


_NETWORK = r"(?:internet|network|online)"
AXES = (
    _axis(
        "real-time against batch",
        r"real[- ]?time|instantly|continuously|as (?:they|it) (?:happen|arrive)s?",
        r"(?:in|is|are|as|by|be|via) (?:a |nightly |daily )?batch(?:es)?|batched|nightly|overnight"
        r"|batch[- ](?:only|mode|jobs?|process(?:ing|ed)|oriented|based)|once a (?:day|night)",
    ),
    _axis("synchronous against asynchronous", r"synchronous(?:ly)?", r"async(?:hronous(?:ly)?)?"),
    _axis(
        "blocking against non-blocking",
        r"(?<!non-)(?<!non )blocking",
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
        r"encrypted",
        r"plain ?-?text|clear ?-?text|unencrypted|in the clear",
    ),
    _axis(
        "immutable against changeable",
        r"immutable|append-only|read-only|unchangeable|write-once",
        r"(?<!im)mutable|editable|can be (?:edited|changed|modified)|updated in place|in-place",
    ),
    _axis("public against private", r"public(?:ly)?", r"private(?:ly)?"),
    _axis(
        "push against pull", r"push(?:ed)?(?:-based)?", r"pull(?:ed)?(?:-based)?|poll(?:ed|ing)?"
    ),
    _axis(
        "ordered against unordered", r"(?:strictly )?ordered|in order", r"unordered|in any order"
    ),
    _axis("at most once against at least once", r"at[- ]most[- ]once", r"at[- ]least[- ]once"),
    _axis(
        "strong against eventual consistency",
        r"strong(?:ly)? consisten(?:t|cy)|linearizable|strict consistency",
        r"eventual(?:ly)? consisten(?:t|cy)",
    ),
    _axis("static against dynamic typing", r"statically typed", r"dynamically typed"),
    _axis("stateless against stateful", r"stateless", r"stateful", is_of_the_whole=True),
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
    rest = text
    for axis in AXES:
        one, other = axis.one.search(text), axis.other.search(text)
        if bool(one) == bool(other):
            continue
        found.append(Side(axis, (one is not None) != is_ban))
        rest = (axis.one if one else axis.other).sub(" ", rest)
    return tuple(found), rest
