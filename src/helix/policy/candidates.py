"""Which statements are worth comparing: those that share a term on which they could clash. Pure.

Comparing each with each would take minutes where a project has thousands of statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain, islice, product
from typing import TYPE_CHECKING

from ddx.values import value
from helix.policy.disagreement import ENDS, are_apart, compete, identity, place
from helix.policy.technologies import ONE_FOR_EACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from helix.policy.claims import Claim

MOST_PAIRS = 100_000
"""That are compared; statements that share more than this are one text with many names."""
_MOST_LOOKS = 1_000_000
"""Pairs of each family that are looked at."""


@value
class _Entry:
    """What could clash in a statement, and the words that say where."""

    n: int
    words: frozenset[str]
    thing: Any
    is_general: bool = False
    """Without words of its own it speaks of all that others name."""


def pairs(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    """Numbers of statements, each pair once and the smaller number first; the gravest first."""
    families = (_bans(statements), _numbers(statements), _opposites(statements))
    seen: set[tuple[int, int]] = set()
    for n, m in chain(*families, _choices(statements), _duplicates(statements)):
        pair = (n, m) if n < m else (m, n)
        if n != m and pair not in seen:
            seen.add(pair)
            yield pair
        if len(seen) >= MOST_PAIRS:
            return


def _bans(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    """A ban and a wish that holds its rarest word, or a general wish and a ban with its own."""
    places: dict[bool, defaultdict[str, list[int]]] = {
        is_ban: defaultdict(list) for is_ban in (True, False)
    }
    count: Counter[str] = Counter()
    for n, claim in _all(statements):
        count.update(claim.words)
        for word in claim.words:
            places[claim.is_ban][word].append(n)

    def found() -> Iterator[tuple[int, int]]:
        for n, claim in _all(statements):
            words = (claim.words - claim.slots - claim.only - ENDS) or claim.words
            against = claim.is_waived or bool(claim.only)
            if words and (claim.is_ban or claim.is_universal or claim.is_need or against):
                rarest = min(words, key=lambda word: (count[word], word))
                yield from ((n, m) for m in places[claim.is_ban == against][rarest])

    return islice(found(), _MOST_LOOKS)


def _numbers(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    by_dimension: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for measure in claim.measures:
            quantity = measure.quantity
            entry = _Entry(n, measure.about, measure, is_general=quantity.is_count)
            by_dimension[quantity.dimension].append(entry)
    return _meeting(by_dimension.values(), lambda one, other: are_apart(one.thing, other.thing))


def _opposites(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    by_axis: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for side in claim.sides:
            is_general = side.axis.is_of_the_whole or claim.is_only
            by_axis[side.axis.name].append(_Entry(n, claim.about, side.is_one, is_general))
    return _meeting(by_axis.values(), lambda one, other: one.thing != other.thing)


def _choices(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    by_kind: defaultdict[str, list[_Entry]] = defaultdict(list)
    for n, claim in _all(statements):
        for choice in () if claim.is_ban else claim.choices:
            entry = _Entry(n, place(claim, choice), choice, is_general=True)
            by_kind[choice.kind].append(entry)
            if choice.kind in ONE_FOR_EACH and claim.subject:
                by_kind[f"{choice.kind} of one"].append(_Entry(n, claim.subject, choice))
    return _meeting(by_kind.values(), lambda one, other: compete(one.thing, other.thing))


def _duplicates(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, int]]:
    """Each against the first: of a sentence that stands in a hundred documents one is enough."""
    first: dict[object, int] = {}
    for n, claim in _all(statements):
        m = first.setdefault(identity(claim), n)
        if m != n:
            yield m, n


def _meeting(
    families: Iterable[list[_Entry]], clash: Callable[[_Entry, _Entry], bool]
) -> Iterator[tuple[int, int]]:
    """Each with those that name all it names, and the general ones with all others."""

    def found() -> Iterator[tuple[_Entry, _Entry]]:
        for entries in families:
            by_word: defaultdict[str, list[_Entry]] = defaultdict(list)
            for entry in entries:
                for word in entry.words:
                    by_word[word].append(entry)
            bare = [entry for entry in entries if not entry.words]
            for entry in entries:
                if entry.words:
                    rarest = min(entry.words, key=lambda word: (len(by_word[word]), word))
                    yield from product((entry,), by_word[rarest])
                else:
                    yield from product((entry,), entries if entry.is_general else bare)

    return (
        (one.n, other.n)
        for one, other in islice(found(), _MOST_LOOKS)
        if one.words <= other.words and clash(one, other)
    )


def _all(statements: Sequence[tuple[Claim, ...]]) -> Iterator[tuple[int, Claim]]:
    return ((n, claim) for n, claims in enumerate(statements) for claim in claims)
