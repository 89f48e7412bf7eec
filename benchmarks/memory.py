"""How well and how fast `helix memory recall` answers, beside the targets of M-11.

    scripts/bench memory [--sizes 1000,10000,100000] [--quick] [--json FILE]

Quality on our own set of memories, with the shipped embedder and with words alone, and on a blind
set that nothing was tuned on; then latency and memory at several sizes. Exit code 1 when a target
is missed; the missed ones are listed at the end. The blind set has no target: it says what to
expect.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import CommandFailed, answer_of
from memory_quality import (
    AT,
    BLIND_KINDS,
    KINDS,
    WAYS,
    Blind,
    Found,
    Quality,
    measure_blind,
    measure_quality,
)
from stage import open_scratch, sizes_from
from workload import REPOSITORY, Scratch

SIZES = (1_000, 10_000, 100_000)
SMALLEST_SIZE = 100
LIMIT_S = 900.0
ROUNDS = 20
HELIX = str(REPOSITORY / "bin/helix")

OBJECTIVE_FIRST = 0.95
PARAPHRASE_FIRST = 0.60
MOST_LOST = 0.03
WARM_MS, WARM_AT = 50.0, 10_000
COLD_S, COLD_AT = 1.5, 10_000


@dataclass(frozen=True)
class Speed:
    memories: int
    first_ms: float
    warm_ms: float
    embed_ms: float
    peak_mb: float
    model_mb: float
    file_mb: float
    cold_s: float


@dataclass(frozen=True)
class Check:
    what: str
    measured: float
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        word = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.measured:.3f}, {word} {self.bound:.3f}"


def main() -> int:
    asked = _arguments()
    draws = 5 if asked.quick else 20
    quality, blind = measure_quality(draws), measure_blind(draws)
    for line in (*_quality_lines(quality), *_blind_lines(blind)):
        print(line)
    sizes = asked.sizes or (SIZES[:2] if asked.quick else SIZES)
    try:
        with tempfile.TemporaryDirectory(prefix="helix-bench-") as folder:
            scratch = open_scratch(Path(folder).resolve())
            speeds = [_measure_speed(size, scratch) for size in sizes]
    except CommandFailed as problem:
        print(f"the speed could not be measured: {problem}", file=sys.stderr)
        return 1
    for line in _speed_lines(speeds):
        print(line)
    checks = [*_quality_checks(quality), *_speed_checks(speeds)]
    missed = [check for check in checks if not check.met]
    print(f"\n{len(checks) - len(missed)} of {len(checks)} targets are met")
    for check in missed:
        print(f"  missed: {check}")
    results: Path = asked.json or REPOSITORY / "benchmarks/results/memory.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(_as_json(quality, blind, speeds, checks), indent=1) + "\n")
    print(f"every number is in {results}")
    return 1 if missed else 0


def _measure_speed(memories: int, scratch: Scratch) -> Speed:
    print(f"measuring {memories:,} memories", file=sys.stderr, flush=True)
    project = scratch.folder / str(memories)
    project.mkdir()
    scratch.run("git", "init", "-q", cwd=project)
    path = project / "helix.db"
    env = {
        **scratch.env,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "HELIX_DB_PATH": str(path),
    }
    script = str(REPOSITORY / "benchmarks/memory_inprocess.py")
    argv = (sys.executable, script, str(path), str(memories), str(ROUNDS))
    found = json.loads(answer_of(argv, cwd=project, env=env, limit_s=LIMIT_S))
    cold = []
    for _ in range(3):
        started = time.perf_counter()
        question = "the import of orders fails after the upgrade"
        answer_of((HELIX, "memory", "recall", question), cwd=project, env=env, limit_s=LIMIT_S)
        cold.append(time.perf_counter() - started)
    path.unlink()
    return Speed(
        memories,
        found["first_ms"],
        statistics.median(found["warm_ms"]),
        embed_ms=statistics.median(found["embed_ms"]),
        peak_mb=found["peak_mb"],
        model_mb=found["model_mb"],
        file_mb=found["file_mb"],
        cold_s=statistics.median(cold),
    )


# -- against the targets ---------------------------------------------------------------------


def _quality_checks(quality: Quality) -> Iterator[Check]:
    for part in ("all", "unseen"):
        objective = quality.equal["both", part, "objective"].first
        paraphrase = quality.equal["both", part, "paraphrase"].first
        with_priors = quality.priors["both", part, "objective"].first
        yield Check(f"objective R@1, {part}", objective, OBJECTIVE_FIRST, True)
        yield Check(f"paraphrase R@1, {part}", paraphrase, PARAPHRASE_FIRST, True)
        lost = objective - with_priors
        yield Check(f"what the formula loses on objectives, {part}", lost, MOST_LOST, False)


def _speed_checks(speeds: list[Speed]) -> Iterator[Check]:
    for speed in speeds:
        if speed.memories <= WARM_AT:
            yield Check(f"recall at {speed.memories:,}, ms", speed.warm_ms, WARM_MS, False)
        if speed.memories <= COLD_AT:
            yield Check(f"cold recall at {speed.memories:,}, s", speed.cold_s, COLD_S, False)


# -- for a person ----------------------------------------------------------------------------


def _quality_lines(quality: Quality) -> Iterator[str]:
    yield f"{quality.memories} memories; R@1 / R@{AT} by kind of question"
    yield f"{'':34}" + "".join(f"{kind:>16}" for kind in KINDS)
    tables = (
        ("relevance alone", quality.equal, ("words", "meaning", "both")),
        (f"formula, chance pasts x {quality.draws}", quality.priors, ("both",)),
        ("formula over all memories", quality.over_all, ("both, no floor",)),
    )
    for title, found, ways in tables:
        for way in ways:
            for part in ("all", "tuned", "unseen"):
                name = f"{title}, {way.partition(',')[0]}, {part}"
                cells = (_cell(found[way, part, kind]) for kind in KINDS)
                yield f"{name:52}"[:52] + "".join(f"{cell:>14}" for cell in cells)
    yield ""
    yield f"{quality.unrelated} unrelated questions; share that got an answer all the same"
    for way, share in quality.false_positives.items():
        if way != "both, no floor":
            yield f"  {way:10} {share:.3f}"


def _blind_lines(blind: Blind) -> Iterator[str]:
    yield ""
    yield f"blind: {blind.memories} memories of other fields, bare titles; R@1 / R@{AT}, no target"
    yield f"{'':52}" + "".join(f"{kind:>14}" for kind in BLIND_KINDS)
    for way in WAYS:
        cells = (_cell(blind.equal[way, kind]) for kind in BLIND_KINDS)
        yield f"{f'relevance alone, {way}':52}" + "".join(f"{cell:>14}" for cell in cells)
    cells = (_cell(blind.priors[kind]) for kind in BLIND_KINDS)
    yield f"{'formula, chance pasts, both':52}" + "".join(f"{cell:>14}" for cell in cells)
    yield f"{blind.unrelated} unrelated questions of these fields; share that got an answer"
    for way in WAYS:
        yield f"  {way:10} {blind.false_positives[way]:.3f}"


def _cell(found: Found) -> str:
    return f"{found.first:.3f}/{found.among:.3f}"


def _speed_lines(speeds: list[Speed]) -> Iterator[str]:
    heads = ("memories", "cold CLI s", "first ms", "warm ms", "of it model", "peak MB", "file MB")
    yield ""
    yield "".join(f"{head:>13}" for head in heads)
    for it in speeds:
        numbers = (it.first_ms, it.warm_ms, it.embed_ms, it.peak_mb, it.file_mb)
        cells = "".join(f"{number:>13.1f}" for number in numbers)
        yield f"{it.memories:>13,}{it.cold_s:>13.2f}{cells}"


def _as_json(
    quality: Quality, blind: Blind, speeds: list[Speed], checks: list[Check]
) -> dict[str, Any]:
    return {
        "quality": {
            name: {" | ".join(key): asdict(found) for key, found in table.items()}
            for name, table in (
                ("relevance alone", quality.equal),
                ("formula", quality.priors),
                ("formula over all", quality.over_all),
            )
        },
        "false_positives": quality.false_positives,
        "blind": {
            "relevance alone": {" | ".join(key): asdict(it) for key, it in blind.equal.items()},
            "formula": {kind: asdict(found) for kind, found in blind.priors.items()},
            "false_positives": blind.false_positives,
        },
        "speed": [asdict(speed) for speed in speeds],
        "checks": [{**asdict(check), "met": check.met} for check in checks],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench memory", description="Measure recall against its targets (M-11)."
    )
    parser.add_argument(
        "--sizes", type=sizes_from(SMALLEST_SIZE), help="memories: 1000,10000,100000"
    )
    parser.add_argument("--quick", action="store_true", help="few draws, no 100,000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to put every number")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
