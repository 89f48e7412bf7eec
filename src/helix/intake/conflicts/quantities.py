"""Numbers with units in a sentence, as ranges that can be compared (I-5). Pure.

"under 50 ms", "no more than 6000 requests per minute", "between 2 and 8 workers": each becomes a
dimension with a lowest and a highest value in one base unit.
"""

from __future__ import annotations

import re
from functools import cache
from math import inf, nextafter

from ddx.base import value
from helix.intake.conflicts.vocabulary import leaders, singular, tables

TIME, SIZE, SHARE = "duration", "size", "share"
_LARGER = {"k": 1e3, "thousand": 1e3, "million": 1e6, "mio": 1e6, "m": 1e6, "billion": 1e9}

_DIGITS = r"(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?"
_UPPER = (
    r"under|below|less than|fewer than|at most|up to|max(?:imum)?(?: of)?:?|within|<=|≤|<"
    r"|limited to|limit(?: of| is)?|capped at|cap of|lower than|smaller than|shorter than"
    r"|earlier than|before|faster than|cheaper than|as much as|(?:get by|make do) with"
    r"|(?:room|space) for|fits? (?:in|into)"
)
_LOWER = (
    r"over|above|more than|greater than|at least|min(?:imum)?(?: of)?:?|>=|≥|>|exceed(?:s|ing)?"
    r"|longer than|larger than|higher than|later than|beyond|starting at|slower than"
)
_STRICT = {"under", "below", "<", "over", "above", ">", "beyond"} | {
    "exceed",
    "exceeds",
    "exceeding",
}
_BEFORE = re.compile(
    rf"(?:(?P<upper>(?<![\w-])(?:{_UPPER}))|(?P<lower>(?<![\w-])(?:{_LOWER}))"
    r"|(?P<exactly>\b(?:exactly|precisely|only|always)\b)|(?P<every>\b(?:every|once (?:per|every)))"
    r"|(?P<given>\b(?:with|when|at|if|while|given|for))"
    r"|\b(?P<label>port|version)(?: number)?(?: is| of|:)?)?"
    r" ?(?P<nearly>\b(?:about|approximately|around|roughly|circa|nearly)|~|≈)?"
    r"(?: (?:an?|the|of|a total of))? ?\Z"
)
_AFTER = re.compile(
    r"(?P<upper>,? (?:or|and) (?:less|fewer|below|under|lower|faster|sooner|shorter)\b"
    r"|,? (?:at (?:the )?most|max(?:imum)?|tops)\b)"
    r"|(?P<lower> ?\+| (?:or|and) (?:more|above|over|higher|longer|later|up|greater)\b"
    r"| (?:at (?:the )?least|min(?:imum)?)\b)"
)
_UNIT = re.compile(r"[ -]?(%|[^\W\d_]+(?:-[^\W\d_]+)*)")
_PER = re.compile(
    r" ?(?:/|\b(?:per|an?|each|every)\b) ?"
    r"(s|sec|second|min|minute|h|hr|hour|d|day|week|month|year)\b"
)
_NEGATION = re.compile(r"\b(?:not|never|no|cannot|nor)\b|n't\b")
_LIMITS = re.compile(r"(?:time-?outs?|limits?|maxim(?:um|a)|quotas?|caps?|ceilings?)[^:;.]*:")
_CAPACITY = re.compile(r"\b(?:support|handle|serve|sustain|accommodate|scale)(?:s|d|ed|ing)?\b")
"""Of a bare count it says the least that there must be room for."""
_SINGLE = re.compile(r"\b(?:an? |one )?single(?= [a-z]{3})|\b(?:exactly|only) one(?= [a-z]{3})")
_SEVERAL = re.compile(r"\b(?:multiple|several|more than one)(?= [a-z]{3})")
_FOREVER = re.compile(r"\b(?:forever|indefinitely|without limit of time|for all time)\b")
_NUMBER_OF = re.compile(r"\b(?:number|count) of ([a-z-]+)|([a-z_-]+) ?[:=] ?\Z")
_FRACTIONS = {"half": "0.5", "quarter": "0.25", "tenth": "0.1"}
_PERIODS = r"(?:second|minute|hour|day|week|month|year)\b"
_FRACTION = re.compile(rf"\b(?:a )?(half|quarter|tenth)(?: of)? an? ({_PERIODS})")
_A_UNIT = re.compile(rf"(?<=(?:.for|than|most|east|thin|nder|fter) )an?(?= {_PERIODS})")
_SEEN_BEFORE = 40
_LONGEST_COUNTED = 3
_A_LITTLE = 0.2
"""What "about" leaves open, as a share."""
_SLACK = 0.08


@value
class Quantity:
    """A range of one dimension, both ends inclusive, and where it stands in the text."""

    dimension: str
    low: float
    high: float
    unit: float = 1.0
    """How much of the base unit one of its own is."""
    is_firm: bool = True
    """It is said to be a bound or exact; a bare number may be a remark."""
    start: int = 0
    end: int = 0

    @property
    def is_count(self) -> bool:
        """The unit is what is counted, such as users or requests each second."""
        return self.dimension.partition(" ")[0] not in (TIME, SIZE, SHARE)

    @property
    def bare(self) -> Quantity:
        """Without its place in the text."""
        return Quantity(self.dimension, self.low, self.high)

    def meets(self, other: Quantity) -> bool:
        """A month has 28 to 31 days and a MB 1000 or 1024 KB: other units meet a little sooner."""
        slack = 1.0 if self.unit == other.unit else 1 + _SLACK
        return self.low <= other.high * slack and other.low <= self.high * slack


def in_digits(text: str) -> str:
    """ "half a year" and "within a day" as numbers."""
    text = _SINGLE.sub("exactly 1", _SEVERAL.sub("at least 2", text))
    text = _FOREVER.sub("for at least 1000 years", text)
    text = _FRACTION.sub(lambda found: f"{_FRACTIONS[found[1]]} {found[2]}", text)
    return _A_UNIT.sub("1", text)


def quantities_in(text: str, *, is_allowed: bool) -> tuple[Quantity, ...]:
    """Every quantity that a sentence states; in lower case, with single spaces, `in_digits`.

    Where the sentence only allows something, a bare number is the most that it allows. A number
    that only says under which load another one holds ("with 1000 users") is left out.
    """
    found = (_quantity(text, number, is_allowed=is_allowed) for number in _number().finditer(text))
    return tuple(each for each in found if each is not None)


def _quantity(text: str, number: re.Match[str], *, is_allowed: bool) -> Quantity | None:
    first = max(0, number.start() - _SEEN_BEFORE)
    before = _BEFORE.search(text, first, number.start())
    if before is None:  # it matches the empty text before the number
        return None
    dimension, factor, end = _unit(text, number, before)
    if not dimension:
        return None
    if per := _PER.match(text, end):
        factor /= _units()[per[1]][1]
        dimension += " each second"
        end = per.end()
    after = _AFTER.match(text, end)
    is_compared = before["upper"] or before["lower"] or after or number["second"]
    if before["given"] and not is_compared and dimension not in (TIME, SHARE):
        return None
    is_room = dimension.partition(" ")[0] not in (TIME, SIZE, SHARE) and _CAPACITY.search(text)
    is_firm = bool(is_compared or before["exactly"] or (is_room and not is_allowed))
    if number["digits"] == "one" and not is_firm and dimension != TIME:
        return None
    if before["every"]:
        dimension += " between two"
    low, high = _bounds(text, number, before, after, is_allowed=is_allowed)
    if is_room and low == high and not is_allowed and not before["exactly"]:
        high = inf
    return Quantity(
        dimension,
        low * factor,
        high * factor,
        unit=factor,
        is_firm=is_firm or bool(before["label"]),
        start=before.start(),
        end=after.end() if after else end,
    )


def _bounds(
    text: str,
    number: re.Match[str],
    before: re.Match[str],
    after: re.Match[str] | None,
    *,
    is_allowed: bool,
) -> tuple[float, float]:
    times = _LARGER.get(number["larger"] or number["large"] or "", 1.0)
    worth = _worth(number["digits"]) * times
    if number["second"]:
        most = max(worth, _worth(number["second"]) * times)
        return -inf if before["upper"] else worth, inf if before["lower"] else most
    if words := before["upper"] or before["lower"]:
        is_turned = _NEGATION.search(text, 0, before.start()) is not None
        is_strict = words in _STRICT or words.endswith("than")
        is_upper = bool(before["upper"]) != is_turned
        return _half_line(worth, is_upper=is_upper, is_strict=is_strict != is_turned)
    if after:
        return _half_line(worth, is_upper=bool(after["upper"]), is_strict=False)
    if before["nearly"]:
        return worth * (1 - _A_LITTLE), worth * (1 + _A_LITTLE)
    return (-inf, worth) if is_allowed or _LIMITS.match(text) else (worth, worth)


def _worth(digits: str) -> float:
    return float(leaders("numbers").get(digits) or digits.replace(",", "").replace("_", ""))


def _half_line(worth: float, *, is_upper: bool, is_strict: bool) -> tuple[float, float]:
    if is_upper:
        return -inf, nextafter(worth, -inf) if is_strict else worth
    return nextafter(worth, inf) if is_strict else worth, inf


def _unit(text: str, number: re.Match[str], before: re.Match[str]) -> tuple[str, float, int]:
    """What is measured, how much of the base unit one is, and where the unit ends."""
    money, rates = leaders("money"), leaders("rates")
    if number["money"]:
        return money[number["money"].strip()], 1.0, number.end()
    if before["label"]:
        return before["label"], 1.0, number.end()
    found = _UNIT.match(text, number.end())
    unit = found[1] if found else ""
    if found is None or unit in _no_units():
        named = _NUMBER_OF.search(text, 0, number.start())
        return singular(named[1] or named[2]) if named else "", 1.0, number.end()
    if unit in money:
        return money[unit], 1.0, found.end()
    if unit in _units():
        return *_units()[unit], found.end()
    if unit in rates:
        return f"{rates[unit]} each second", 1.0, found.end()
    return _counted(text, found)


def _counted(text: str, first: re.Match[str]) -> tuple[str, float, int]:
    """`1000 concurrent users` counts users: the first plural of the next few words."""
    found: re.Match[str] | None = first
    for _ in range(_LONGEST_COUNTED):
        if found is None or found[1] in _no_units():
            break
        if found[1].endswith("s"):
            return singular(found[1]), 1.0, found.end()
        found = _UNIT.match(text, found.end())
    return singular(first[1]), 1.0, first.end()


@cache
def _number() -> re.Pattern[str]:
    words = "|".join(leaders("numbers"))
    return re.compile(
        rf"(?<![\w./+-])(?P<money>[$€£] ?)?(?P<digits>{_DIGITS}|\b(?:{words})\b)"
        r"(?!(?:st|nd|rd|th)\b|[\w.]*\d)"
        r"(?:(?P<larger>k|m)\b| (?P<large>thousand|million|billion)\b)?"
        rf"(?: ?(?:to|and|-|\u2013|\.\.) ?(?P<second>{_DIGITS})(?![\w.]*\d))?"
    )


@cache
def _units() -> dict[str, tuple[str, float]]:
    """By unit, what it measures and how much of the base unit it is."""
    return {
        unit: (dimension, float(factor))
        for dimension, units in tables()["units"].items()
        for factor, names in units.items()
        for unit in names.split()
    }


@cache
def _no_units() -> frozenset[str]:
    return frozenset(tables()["no units"].split())
