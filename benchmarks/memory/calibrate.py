"""What similarities of the shipped model mean: floor, width, full and the weight of words (M-3).

    scripts/bench memory/calibrate [--embedder NAME]

Measured on calibration/, texts that no benchmark uses: 50 memories of developers, for each a bead
(title and description), its bare goal, a paraphrase and keywords, and 60 questions that fit none.
What a floor costs is also shown on calibration/near/: 71 memories from a few fields that lie close
together, each with a bare title and a paraphrase, and 70 questions from these very fields that fit
none. Nothing is fitted there.
Exit code 1 when the numbers that are shipped are no longer what is measured.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from helix.memory.embedders import Calibration, Embedder, NoEmbedder, saturated
from helix.memory.embedders.custom import SILENT
from helix.memory.embedders.registry import SHIPPED, open_embedder
from helix.memory.rows import bm25_scores, question_terms

TEXTS = Path(__file__).parent / "calibration"
NEAR = TEXTS / "near"
KINDS = ("objective", "goal", "paraphrase", "keyword")
FLOORS = (0.22, 0.25, 0.285, 0.32, 0.36, 0.40)
WIDTHS = (0.02, 0.05, 0.08, 0.10, 0.15, 0.25, 1.0)
WEIGHTS = (0.0, 0.1, 0.2, 0.3)
DRAWS = 200
TOLERANCE = 0.02

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Each question beside each memory: cosine, and what their words have in common."""

    cosine: Table
    words: Table

    def blend(self, weight: float) -> Table:
        return self.cosine + weight * self.words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--embedder", default=SHIPPED, help="as in memory.embedder")
    embedder = open_embedder(parser.parse_args().embedder, is_trusted=True)
    if isinstance(embedder, NoEmbedder):
        print(f"{embedder.reason}\n{embedder.hint}", file=sys.stderr)
        return 1
    found, strangers = measure(embedder)
    shipped = embedder.calibration
    print(f"{embedder.id}: {len(strangers.cosine)} strangers, {strangers.cosine.shape[1]} memories")
    _tell_weights(found, strangers)
    _tell_similarities(found, strangers, shipped)
    _tell_widths(found, shipped)
    _tell_floors(*measure(embedder, NEAR), shipped)
    return _judge(found, strangers, shipped)


def measure(embedder: Embedder, texts: Path = TEXTS) -> tuple[dict[str, Measured], Measured]:
    """By kind, the questions whose memory has the same place; and those that have none."""
    lines = (texts / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    strangers = (texts / "unrelated.txt").read_text(encoding="utf-8").splitlines()
    memories = embedder.embed([f"{row['trigger']}\n{row['resolution']}" for row in rows])
    with sqlite3.connect(":memory:") as db:
        db.execute(
            "CREATE VIRTUAL TABLE memory_text USING fts5 (trigger, resolution,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        db.executemany(
            "INSERT INTO memory_text VALUES (?, ?)",
            [(row["trigger"], row["resolution"]) for row in rows],
        )

        def beside(questions: list[str]) -> Measured:
            words = np.zeros((len(questions), len(rows)))
            for place, question in enumerate(questions):
                for number, score in bm25_scores(db, question_terms(question)).items():
                    words[place, number - 1] = saturated(score)
            cosine = embedder.embed(questions) @ memories.T
            return Measured(cosine.astype(np.float64), words)

        kinds = [kind for kind in KINDS if kind in rows[0]]
        return {kind: beside([row[kind] for row in rows]) for kind in kinds}, beside(strangers)


def fit(found: dict[str, Measured], strangers: Measured, weight: float) -> tuple[float, float]:
    """Floor: nearly no stranger gets an answer. Full: what a bead's right memory usually has."""
    floor = float(np.quantile(strangers.blend(weight).max(axis=1), SILENT))
    return floor, float(np.median(np.diag(found["objective"].blend(weight))))


def _tell_weights(found: dict[str, Measured], strangers: Measured) -> None:
    print("\nweight  floor   full   R@1 by kind, and above the floor")
    for weight in WEIGHTS:
        floor, full = fit(found, strangers, weight)
        cells = []
        for kind in KINDS:
            table = found[kind].blend(weight)
            right = np.diag(table)
            first = np.mean((table > right[:, None]).sum(axis=1) == 0)
            cells.append(f"{kind} {first:.2f} {np.mean(right >= floor):.2f}")
        print(f"{weight:6.1f} {floor:6.3f} {full:6.3f}   {'   '.join(cells)}")


def _tell_similarities(
    found: dict[str, Measured], strangers: Measured, shipped: Calibration
) -> None:
    print("\nsimilarity of the right memory, p5 p25 p50 p90; of wrong ones, p95 p99")
    for kind in KINDS:
        table = found[kind].blend(shipped.text_weight)
        right, wrong = np.diag(table), table[~np.eye(len(table), dtype=bool)]
        parts = (_quantiles(right, 0.05, 0.25, 0.5, 0.9), _quantiles(wrong, 0.95, 0.99))
        print(f"{kind:<10} {parts[0]}   {parts[1]}")
    print("\nstrangers that get an answer, by the number of memories")
    table = strangers.blend(shipped.text_weight)
    chance = np.random.default_rng(0)
    for count in (5, 10, 25, table.shape[1]):
        some = [chance.permutation(table.shape[1])[:count] for _ in range(DRAWS)]
        answered = np.mean([(table[:, each].max(axis=1) >= shipped.floor).mean() for each in some])
        print(f"{count:10} {answered:.3f}")


def _tell_widths(found: dict[str, Measured], shipped: Calibration) -> None:
    print("\nR@1 with random priors, by width (the last column: by relevance alone)")
    print(f"{'':<10} {' '.join(f'{width:5.2f}' for width in WIDTHS)}  alone")
    for kind in KINDS:
        table = found[kind].blend(shipped.text_weight)
        cells = [f"{ranked_first(table, shipped, width):5.3f}" for width in WIDTHS]
        print(f"{kind:<10} {' '.join(cells)}  {ranked_first(table, shipped, 0.0):5.3f}")


def ranked_first(table: Table, shipped: Calibration, width: float) -> float:
    """How often the right memory wins by the formula, whatever the others' history is (D-17)."""
    chance = np.random.default_rng(0)
    size = (DRAWS, table.shape[1])
    effectiveness = chance.choice([0.5, 1.0], p=[0.6, 0.4], size=size)
    priors = 0.3 * effectiveness + 0.2 * 2.0 ** (-chance.uniform(0, 60, size=size) / 7)
    wins = 0.0
    for place, row in enumerate(table):
        competes = (row >= shipped.floor) & (row >= row.max() - width)
        relevance = np.clip((row - shipped.floor) / (shipped.full - shipped.floor), 0, 1)
        scores = np.where(competes, 0.5 * relevance + priors, -1.0)
        best = scores.argmax(axis=1) == place
        wins += float(best.mean()) if competes[place] else 0.0
    return wins / len(table)


def _tell_floors(found: dict[str, Measured], strangers: Measured, shipped: Calibration) -> None:
    """What a higher floor would save and what it would cost, where everything is of one field."""
    print("\nnear: by floor, strangers that get an answer; right memory first and shown, by kind")
    table = strangers.blend(shipped.text_weight).max(axis=1)
    for floor in FLOORS:
        cells = [f"strangers {np.mean(table >= floor):.2f}"]
        for kind, measured in found.items():
            scores = measured.blend(shipped.text_weight)
            right = np.diag(scores)
            first = (scores > right[:, None]).sum(axis=1) == 0
            cells.append(f"{kind} {np.mean(first & (right >= floor)):.2f}")
        print(f"{floor:10.3f} {'   '.join(cells)}")


def _judge(found: dict[str, Measured], strangers: Measured, shipped: Calibration) -> int:
    floor, full = fit(found, strangers, shipped.text_weight)
    print(f"\nmeasured: floor {floor:.3f}, full {full:.3f}; shipped: {shipped}")
    if max(abs(floor - shipped.floor), abs(full - shipped.full)) <= TOLERANCE:
        return 0
    print("the shipped numbers are not the measured ones", file=sys.stderr)
    return 1


def _quantiles(numbers: Table, *places: float) -> str:
    return " ".join(f"{number:.3f}" for number in np.quantile(numbers, places))


if __name__ == "__main__":
    sys.exit(main())
