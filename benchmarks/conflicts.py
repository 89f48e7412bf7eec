"""How well conflicts are seen: precision and recall on labelled pairs, and the time for many (I-5).

benchmarks/conflicts/tuned.txt and free-wording.txt are what the classifier was tuned on. Those of
held-out.txt (plain wording) and unseen.txt (free wording) were written before the rules that they
measure, and only their figures are looked at. Each has an author who knew the rules, so real
documents do worse.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from helix.intake.conflicts.detection import Conflict, Statement, classify, find_conflicts

FOLDER = Path(__file__).parent / "conflicts"
NOT_TUNED_ON = ("held-out", "unseen")
TABLES = ("tuned", "free-wording", *NOT_TUNED_ON)
NONE = "none"
CLASSES = ("resolvable", "physics", NONE)
MANY = 5_000


@dataclass(frozen=True)
class Pair:
    """Two statements and what a person says of them."""

    kind: str
    answer: str
    winner: str
    one: Statement
    other: Statement

    @property
    def expected(self) -> tuple[str, str]:
        return self.answer, self.winner


@dataclass(frozen=True)
class Score:
    right: int
    said: int
    wanted: int

    @property
    def precision(self) -> float | None:
        return self.right / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        return self.right / self.wanted if self.wanted else None


def read_pairs(name: str) -> list[Pair]:
    """The pairs of one table; its form stands at its head."""
    pairs: list[Pair] = []
    kind = ""
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            answer, one, other = line.split(" | ")
            winner = {"<": "ONE", ">": "OTHER"}.get(answer[-1], "")
            pairs.append(
                Pair(
                    kind,
                    answer.rstrip("<>"),
                    winner,
                    _statement("ONE", one),
                    _statement("OTHER", other),
                )
            )
    return pairs


def answer_of(conflict: Conflict | None) -> tuple[str, str]:
    return (str(conflict.clash), conflict.winner) if conflict else (NONE, "")


def score(pairs: Sequence[Pair], answer: str) -> Score:
    """Of one class; a conflict with the wrong winner is a wrong answer."""
    answers = [answer_of(classify(pair.one, pair.other)) for pair in pairs]
    right = sum(
        pair.expected == given and given[0] == answer
        for pair, given in zip(pairs, answers, strict=True)
    )
    said = sum(given[0] == answer for given in answers)
    return Score(right, said, sum(pair.answer == answer for pair in pairs))


def main() -> int:
    arguments = _arguments()
    tables = {name: read_pairs(name) for name in TABLES}
    seconds, found = _time_many(MANY)
    for line in _lines(tables, seconds, found, shows_misses=arguments.misses):
        print(line)
    if arguments.json:
        arguments.json.write_text(json.dumps(_as_json(tables, seconds, found), indent=2) + "\n")
    return 0


def _lines(
    tables: dict[str, list[Pair]], seconds: float, found: int, *, shows_misses: bool
) -> Iterator[str]:
    for name, pairs in tables.items():
        right = sum(_is_right(pair) for pair in pairs)
        yield f"{name}: {right} of {len(pairs)} pairs are answered as labelled"
        yield f"  {'':14} {'pairs':>6} {'precision':>10} {'recall':>8}"
        for answer in CLASSES:
            scored = score(pairs, answer)
            shares = f"{_share(scored.precision):>10} {_share(scored.recall):>8}"
            yield f"  {answer:14} {scored.wanted:>6} {shares}"
        for kind in dict.fromkeys(pair.kind for pair in pairs):
            of_kind = [pair for pair in pairs if pair.kind == kind]
            right = sum(_is_right(pair) for pair in of_kind)
            yield f"  {kind:14} {len(of_kind):>6} {right:>10} right"
        if shows_misses and name not in NOT_TUNED_ON:
            yield from (_miss(pair) for pair in pairs if not _is_right(pair))
        yield ""
    yield f"{MANY:,} statements: {seconds:.2f} s, {found} conflicts"


def _is_right(pair: Pair) -> bool:
    return answer_of(classify(pair.one, pair.other)) == pair.expected


def _miss(pair: Pair) -> str:
    conflict = classify(pair.one, pair.other)
    said = " ".join(answer_of(conflict)) + (f" ({conflict.reason})" if conflict else "")
    wanted = " ".join(pair.expected)
    return f"  ! {pair.kind}: {pair.one.text} | {pair.other.text}: {said}, not {wanted}"


def _share(found: float | None) -> str:
    return "-" if found is None else f"{found:.2f}"


def _as_json(tables: dict[str, list[Pair]], seconds: float, found: int) -> dict[str, object]:
    return {
        "tables": {
            name: {
                answer: {
                    "pairs": (scored := score(pairs, answer)).wanted,
                    "precision": scored.precision,
                    "recall": scored.recall,
                }
                for answer in CLASSES
            }
            for name, pairs in tables.items()
        },
        "statements": MANY,
        "seconds": round(seconds, 3),
        "conflicts": found,
    }


def _time_many(count: int) -> tuple[float, int]:
    started = perf_counter()
    found = find_conflicts(many_statements(count))
    return perf_counter() - started, len(found)


def many_statements(count: int) -> list[Statement]:
    """As many as a very large project has: each area has a few rules of each sort."""
    forms = (
        "The {area} service must answer within {n} ms.",
        "The {area} service stores its {thing} in PostgreSQL.",
        "Every {thing} of the {area} page must be validated before it is saved.",
        "The {area} job must not delete a {thing} that is in use.",
        "{thing} lists of the {area} view show at most {n} entries.",
        "The {area} export is asynchronous and writes {thing} rows as CSV.",
        "Each {thing} in {area} belongs to exactly {n} owners.",
    )
    things = ("order", "invoice", "customer", "ticket", "report", "shipment", "contract")
    return [
        Statement(
            document=f"TD-{n // 10:03d}",
            tier=6,
            path=f"docs/helix/TD-{n // 10:03d}.md",
            line=n % 10 + 5,
            text=forms[n % len(forms)].format(
                area=f"area{chr(97 + n // 25 % 26)}{chr(97 + n // 650)}",
                thing=things[n // 7 % len(things)],
                n=n % 90 + 10,
            ),
            section="Requirements",
        )
        for n in range(count)
    ]


def _statement(document: str, given: str) -> Statement:
    tier, _, text = given.partition(" ")
    return Statement(
        document=document,
        tier=None if tier == "-" else int(tier),
        path=f"{document}.md",
        line=1,
        text=text,
        section="Requirements",
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench conflicts", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--misses", action="store_true", help="show the wrong answers of the tuned tables"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to put every number")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
