"""What was measured, held against the targets of T-19. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log10

from measure import Result
from peers import OPERATIONS
from workload import MUTATIONS, QUERIES

RATIO_TARGETS = {1_000: (4.0, 4.0), 10_000: (8.0, 10.0)}
"""By size: a query and a mutation, as multiples of the bare start."""

COMPARED = dict(
    zip(
        OPERATIONS,
        ("ready --json", "list --json", "show --json", "create", "update --priority"),
        strict=True,
    )
)
"""What a peer's operation is called here."""

PEERS_AT = 10_000
IN_PROCESS_READY_MS = 5.0
IN_PROCESS_AT = 10_000
PEAK_MB = 600.0
LINEAR = 12.0
"""Ten times the work may take this many times as long: linear, and some noise."""

NEVER = float("inf")


@dataclass(frozen=True)
class SizeReport:
    beads: int
    bare: Result
    commands: Mapping[str, Result]
    peers: Mapping[str, Mapping[str, Result]]
    in_process: Mapping[str, Result]


@dataclass(frozen=True)
class MemoryReport:
    beads: int
    edges: int
    floor_mb: float
    """The benchmark's own size, below which no number can read."""
    commands: Mapping[str, Result]


@dataclass(frozen=True)
class Report:
    sizes: tuple[SizeReport, ...]
    imports: Mapping[int, Result]
    """By the number of rows, into the smallest tracker."""
    memory: MemoryReport
    absent_peers: tuple[str, ...]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Check:
    """One target: a number and the bound that it must stay under."""

    what: str
    measured: float
    bound: float

    @property
    def met(self) -> bool:
        return self.measured <= self.bound

    @property
    def was_measured(self) -> bool:
        return self.measured != NEVER

    def __str__(self) -> str:
        if not self.was_measured:
            return f"{self.what}: failed"
        return f"{self.what}: {self.measured:.1f}, target {self.bound:.1f}"


def judge(report: Report) -> list[Check]:
    """Every target of T-19; a command that failed is a miss, whether it has a target or not."""
    return [
        *(check for size in report.sizes for check in _size_checks(size)),
        *_linear_checks(report),
        *(
            Check(f"peak MB of {name} at {size_name(report.memory.beads)}", _peak(result), PEAK_MB)
            for name, result in report.memory.commands.items()
        ),
    ]


def ratio_target(name: str, beads: int) -> float | None:
    query, mutation = RATIO_TARGETS.get(beads, (None, None))
    if name in QUERIES:
        return query
    return mutation if name in MUTATIONS else None


def size_name(beads: int) -> str:
    return f"{beads // 1000}k" if beads % 1000 == 0 else str(beads)


def growth(smaller: SizeReport, larger: SizeReport, name: str) -> float:
    """How many times as long per tenfold."""
    times = _times(smaller.commands[name], larger.commands[name])
    return float(times ** (1 / log10(larger.beads / smaller.beads)))


def _size_checks(size: SizeReport) -> Iterator[Check]:
    for name, result in size.commands.items():
        target = ratio_target(name, size.beads)
        if target is not None or result.failure:
            ratio = _median(result) / size.bare.median_ms
            what = f"{name} at {size_name(size.beads)}, times the bare start"
            yield Check(what, ratio, target or 0.0)
    if size.beads == IN_PROCESS_AT:
        measured = _median(size.in_process["ready"])
        yield Check("ready in process at 10k, ms", measured, IN_PROCESS_READY_MS)
    if size.beads == PEERS_AT:
        for peer, results in size.peers.items():
            for operation, result in results.items():
                if not result.failure:
                    ours = _median(size.commands[COMPARED[operation]])
                    yield Check(f"{operation} against {peer} at 10k, ms", ours, result.median_ms)


def _linear_checks(report: Report) -> Iterator[Check]:
    for (few, small), (many, large) in pairwise(sorted(report.imports.items())):
        what = f"import of {many:,} rows over {few:,}, times"
        yield Check(what, _times(small, large), LINEAR)
    for smaller, larger in pairwise(report.sizes):
        between = f"{size_name(smaller.beads)} to {size_name(larger.beads)}"
        what = f"dep add from {between}, times per tenfold"
        yield Check(what, growth(smaller, larger, "dep add"), LINEAR)


def _times(small: Result, large: Result) -> float:
    return NEVER if small.failure or large.failure else large.median_ms / small.median_ms


def _median(result: Result) -> float:
    return NEVER if result.failure else result.median_ms


def _peak(result: Result) -> float:
    return NEVER if result.failure else result.peak_mb
