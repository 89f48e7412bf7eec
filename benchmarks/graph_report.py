"""What the graph's benchmark measured, held against G-9: lines for a person, and JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from typing import Any

from measure import Result
from targets import LINEAR, NEVER, Check, size_name

TARGETS_AT = 10_000
COLD_TARGET = 6.0
"""Times `cat` of the same files and the bare start together."""
WARM_TARGET = 8.0
"""Times the bare start."""

COLD, AFTER_CHANGE = "show, cache deleted", "show, one file changed"
MUST_BE_LINEAR = (COLD, AFTER_CHANGE)

NAME, CELL, WIDTH = 28, 9, 100


@dataclass(frozen=True)
class SizeReport:
    documents: int
    files: int
    megabytes: float
    bare: Result
    cat: Result
    commands: Mapping[str, Result]
    """Whole processes; those in `targeted` are queries of G-9."""
    targeted: frozenset[str]
    in_process: Mapping[str, Result]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Report:
    sizes: tuple[SizeReport, ...]
    facts: Mapping[str, str]


def judge(report: Report) -> list[Check]:
    """Every target of G-9; a command that failed is a miss, whether it has a target or not."""
    return [
        *(check for size in report.sizes for check in _size_checks(size)),
        *(
            Check(f"{name} from {_between(small, large)}, times per tenfold", times, LINEAR)
            for small, large in pairwise(report.sizes)
            for name in MUST_BE_LINEAR
            if (times := growth(small.commands[name], large.commands[name], small, large))
        ),
    ]


def as_lines(report: Report) -> Iterator[str]:
    yield from (f"{key}: {found}" for key, found in report.facts.items())
    for size in report.sizes:
        yield from _processes(size)
        yield from _in_process(size)
    yield from _growth(report)
    yield from _verdict(judge(report))


def as_json(report: Report) -> dict[str, Any]:
    return {
        "facts": dict(report.facts),
        "sizes": {str(size.documents): _size_as_json(size) for size in report.sizes},
        "growth_per_tenfold": {
            _between(small, large): {
                name: times
                for name, result in small.commands.items()
                if (times := growth(result, large.commands[name], small, large)) != NEVER
            }
            for small, large in pairwise(report.sizes)
        },
        "checks": [
            {"what": check.what, "target": check.bound, "met": check.met}
            | ({"measured": check.measured} if check.was_measured else {})
            for check in judge(report)
        ],
    }


def ratio(size: SizeReport, name: str) -> float:
    """What a command is held against: cold, reading the files; warm, starting at all."""
    floor_ms = size.bare.median_ms
    if name == COLD:
        floor_ms += size.cat.median_ms
    return _median(size.commands[name]) / floor_ms


def target(size: SizeReport, name: str) -> float | None:
    if size.documents != TARGETS_AT:
        return None
    if name == COLD:
        return COLD_TARGET
    return WARM_TARGET if name in size.targeted else None


def growth(small: Result, large: Result, smaller: SizeReport, larger: SizeReport) -> float:
    """How many times as long per tenfold."""
    if small.failure or large.failure:
        return NEVER
    times = large.median_ms / small.median_ms
    return float(times ** (1 / log10(larger.documents / smaller.documents)))


def _size_checks(size: SizeReport) -> Iterator[Check]:
    at = size_name(size.documents)
    for name, result in size.commands.items():
        bound = target(size, name)
        if bound is not None or result.failure:
            of = "cat and the bare start" if name == COLD else "the bare start"
            yield Check(f"{name} at {at}, times {of}", ratio(size, name), bound or 0.0)
    for name, result in size.in_process.items():
        if result.failure:
            yield Check(f"{name} in process at {at}", NEVER, 0.0)
    for name, count in size.counts.items():
        yield Check(f"{name} at {at}", count, 1)


def _processes(size: SizeReport) -> Iterator[str]:
    yield ""
    yield (
        f"{size.documents:,} documents, {size.files:,} files, {size.megabytes:.1f} MB; "
        "whole processes, ms"
    )
    yield _line("", "runs", "min", "median", "x", "target", "met", "peak MB")
    yield _line("python -I -S -c pass", *_times(size.bare))
    yield _line("find | xargs cat", *_times(size.cat))
    for name, result in size.commands.items():
        if result.failure:
            yield _failed(name, result)
            continue
        times = ratio(size, name)
        cells = (f"{times:.1f}", *_against(times, target(size, name)), f"{result.peak_mb:.0f}")
        yield _line(name, *_times(result), *cells)
    yield f'  x: times the bare start; of "{COLD}": times cat and the bare start together'


def _in_process(size: SizeReport) -> Iterator[str]:
    yield ""
    yield f"{size.documents:,} documents, in process, ms"
    yield _line("", "runs", "min", "median")
    for name, result in size.in_process.items():
        yield _failed(name, result) if result.failure else _line(name, *_times(result))
    yield from (f"  {name}: {count}" for name, count in size.counts.items())


def _growth(report: Report) -> Iterator[str]:
    steps = list(pairwise(report.sizes))
    if not steps:
        return
    yield ""
    yield "growth: how many times as long per tenfold"
    yield _line("", *(_between(small, large) for small, large in steps))
    for kind in ("commands", "in_process"):
        for name in getattr(report.sizes[0], kind):
            found = [
                growth(getattr(small, kind)[name], getattr(large, kind)[name], small, large)
                for small, large in steps
            ]
            yield _line(name, *("-" if times == NEVER else f"x {times:.1f}" for times in found))


def _verdict(checks: list[Check]) -> Iterator[str]:
    missed = [check for check in checks if not check.met]
    yield ""
    if not missed:
        yield f"all {len(checks)} targets are met"
        return
    yield f"{len(missed)} of {len(checks)} targets are missed:"
    yield from (f"  {check}" for check in missed)


def _between(small: SizeReport, large: SizeReport) -> str:
    return f"{size_name(small.documents)}-{size_name(large.documents)}"


def _line(name: str, *cells: str) -> str:
    return f"{name:{NAME}}" + "".join(f" {cell:>{CELL - 1}}" for cell in cells)


def _failed(name: str, result: Result) -> str:
    return f"{name:{NAME}} failed: {result.failure}"[:WIDTH]


def _times(result: Result) -> tuple[str, ...]:
    return (str(len(result.runs)), f"{result.min_ms:,.1f}", f"{result.median_ms:,.1f}")


def _against(measured: float, bound: float | None) -> tuple[str, str]:
    if bound is None:
        return ("", "")
    return (f"{bound:.1f}", "yes" if measured <= bound else "NO")


def _median(result: Result) -> float:
    return NEVER if result.failure else result.median_ms


def _size_as_json(size: SizeReport) -> dict[str, Any]:
    return {
        "files": size.files,
        "megabytes": size.megabytes,
        "bare": _numbers(size.bare),
        "cat": _numbers(size.cat),
        "commands": {
            name: _numbers(result)
            | ({} if result.failure else {"ratio_median": ratio(size, name)})
            | {"target": target(size, name)}
            for name, result in size.commands.items()
        },
        "in_process": {name: _numbers(result) for name, result in size.in_process.items()},
        "counts": dict(size.counts),
    }


def _numbers(result: Result) -> dict[str, Any]:
    if result.failure:
        return {"failed": result.failure}
    return {
        "min_ms": result.min_ms,
        "median_ms": result.median_ms,
        "peak_mb": result.peak_mb,
        "runs_ms": [run.wall_ms for run in result.runs],
    }
