"""Numbers with units in a sentence, as ranges that can be compared (I-5). Pure.

"under 50 ms", "no more than 6000 requests per minute", "between 2 and 8 workers": each becomes a
dimension with a lowest and a highest value in one base unit.
"""

from __future__ import annotations

import re
from math import inf, nextafter

from ddx.values import value

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_NUMBER_WORDS = {word: float(n) for n, word in enumerate(_WORDS.split())} | {
    "dozen": 12.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "fifty": 50.0,
    "hundred": 100.0,
    "thousand": 1000.0,
}
_LARGER = {"k": 1e3, "thousand": 1e3, "million": 1e6, "mio": 1e6, "m": 1e6, "billion": 1e9}

_TIME = {
    1e-9: "ns nanosecond nanoseconds",
    1e-6: "us µs μs microsecond microseconds",
    1e-3: "ms msec millisecond milliseconds",
    1.0: "s sec secs second seconds",
    60.0: "min mins minute minutes",
    3600.0: "h hr hrs hour hours",
    86400.0: "d day days",
    604800.0: "week weeks",
    2629746.0: "month months",
    31556952.0: "year years yr yrs",
}
_SIZE = {
    1.0: "b byte bytes",
    1e3: "kb kilobyte kilobytes",
    1e6: "mb megabyte megabytes",
    1e9: "gb gigabyte gigabytes",
    1e12: "tb terabyte terabytes",
    2.0**10: "kib",
    2.0**20: "mib",
    2.0**30: "gib",
    2.0**40: "tib",
}
_SHARE = {1.0: "% percent percentage pct"}
_EACH_SECOND = {
    "rps": "request",
    "qps": "query",
    "tps": "transaction",
    "iops": "operation",
    "fps": "frame",
}
_MONEY = {"$": "usd", "€": "eur", "£": "gbp", "usd": "usd", "eur": "eur", "gbp": "gbp"} | {
    "dollars": "usd",
    "dollar": "usd",
    "euros": "eur",
    "euro": "eur",
    "pounds": "gbp",
}
TIME, SIZE, SHARE = "duration", "size", "share"
_UNITS = {
    unit: (dimension, factor)
    for dimension, table in ((TIME, _TIME), (SIZE, _SIZE), (SHARE, _SHARE))
    for factor, units in table.items()
    for unit in units.split()
}
_NO_UNITS_WORDS = """
    of and or in on at by to from for with per each every is are was must shall should may can
    than the a an if when while as but not no only more less fewer later earlier higher lower
    above below so it then them who which that be do does has have x
"""
_NO_UNITS = frozenset(_NO_UNITS_WORDS.split())

_DIGITS = r"(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w./+-])(?P<money>[$€£] ?)?(?P<digits>{_DIGITS}|\b(?:{'|'.join(_NUMBER_WORDS)})\b)"
    r"(?!(?:st|nd|rd|th)\b|[\w.]*\d)(?:(?P<larger>k|m)\b| (?P<large>thousand|million|billion)\b)?"
    rf"(?: ?(?:to|and|-|\u2013|\.\.) ?(?P<second>{_DIGITS})(?![\w.]*\d))?"
)
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
    found = (_quantity(text, number, is_allowed=is_allowed) for number in _NUMBER.finditer(text))
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
        factor /= _UNITS[per[1]][1]
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
    named = _NUMBER_WORDS.get(digits)
    return float(digits.replace(",", "").replace("_", "")) if named is None else named


def _half_line(worth: float, *, is_upper: bool, is_strict: bool) -> tuple[float, float]:
    if is_upper:
        return -inf, nextafter(worth, -inf) if is_strict else worth
    return nextafter(worth, inf) if is_strict else worth, inf


def _unit(text: str, number: re.Match[str], before: re.Match[str]) -> tuple[str, float, int]:
    """What is measured, how much of the base unit one is, and where the unit ends."""
    if number["money"]:
        return _MONEY[number["money"].strip()], 1.0, number.end()
    if before["label"]:
        return before["label"], 1.0, number.end()
    found = _UNIT.match(text, number.end())
    unit = found[1] if found else ""
    if found is None or unit in _NO_UNITS:
        named = _NUMBER_OF.search(text, 0, number.start())
        return singular(named[1] or named[2]) if named else "", 1.0, number.end()
    if unit in _MONEY:
        return _MONEY[unit], 1.0, found.end()
    if unit in _UNITS:
        return *_UNITS[unit], found.end()
    if unit in _EACH_SECOND:
        return f"{_EACH_SECOND[unit]} each second", 1.0, found.end()
    return _counted(text, found)


def _counted(text: str, first: re.Match[str]) -> tuple[str, float, int]:
    """`1000 concurrent users` counts users: the first plural of the next few words."""
    found: re.Match[str] | None = first
    for _ in range(_LONGEST_COUNTED):
        if found is None or found[1] in _NO_UNITS:
            break
        if found[1].endswith("s"):
            return singular(found[1]), 1.0, found.end()
        found = _UNIT.match(text, found.end())
    return singular(first[1]), 1.0, first.end()


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
