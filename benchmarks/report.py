"""The report of the tracker's benchmark: lines for a person, and JSON with every number. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from measure import Result
from targets import (
    COMPARED,
    IN_PROCESS_AT,
    IN_PROCESS_READY_MS,
    NEVER,
    PEAK_MB,
    Check,
    Report,
    SizeReport,
    growth,
    judge,
    ratio_target,
    size_name,
)

WIDTH = 100
NAME = 28
CELL = 9


def as_lines(report: Report) -> Iterator[str]:
    yield from (f"{key}: {found}" for key, found in report.facts.items())
    for size in report.sizes:
        yield from _commands(size)
        yield from _peers(size, report.absent_peers)
        yield from _in_process(size)
    yield from _growth(report)
    yield from _memory(report)
    yield from _verdict(judge(report))


def as_json(report: Report) -> dict[str, Any]:
    return {
        "facts": dict(report.facts),
        "sizes": {str(size.beads): _size_as_json(size) for size in report.sizes},
        "growth_per_tenfold": {
            f"{smaller.beads}-{larger.beads}": {
                name: times
                for name in smaller.commands
                if (times := growth(smaller, larger, name)) != NEVER
            }
            for smaller, larger in pairwise(report.sizes)
        },
        "imports": {str(rows): _numbers(result) for rows, result in report.imports.items()},
        "memory": {
            "beads": report.memory.beads,
            "edges": report.memory.edges,
            "floor_mb": report.memory.floor_mb,
            "commands": _all_numbers(report.memory.commands),
        },
        "absent_peers": list(report.absent_peers),
        "checks": [
            {"what": check.what, "target": check.bound, "met": check.met}
            | ({"measured": check.measured} if check.was_measured else {})
            for check in judge(report)
        ],
    }


def _commands(size: SizeReport) -> Iterator[str]:
    yield from _title(f"{size.beads:,} beads, whole processes, ms")
    yield _line("", "runs", "min", "median", "x min", "x median", "target", "met")
    bare = size.bare
    yield _line("python -I -S -c pass", str(len(bare.runs)), *_ms(bare.min_ms, bare.median_ms))
    for name, result in size.commands.items():
        if result.failure:
            yield _failed(name, result)
            continue
        ratio = result.median_ms / bare.median_ms
        target = ratio_target(name, size.beads)
        yield _line(
            name,
            str(len(result.runs)),
            *_ms(result.min_ms, result.median_ms, result.min_ms / bare.min_ms, ratio),
            *_against(ratio, target),
        )


def _peers(size: SizeReport, absent: tuple[str, ...]) -> Iterator[str]:
    if size.peers:
        yield from _title(f"{size.beads:,} beads, against peers, median ms")
        yield _line("", "ddx", *size.peers)
        for operation, ours in COMPARED.items():
            results = [size.commands[ours], *(peer[operation] for peer in size.peers.values())]
            yield _line(operation, *(_median(result) for result in results))
        for peer, operations in size.peers.items():
            for operation, result in operations.items():
                if result.failure:
                    yield _failed(f"  {peer} {operation}", result)
    if absent:
        yield f"  absent: {', '.join(absent)}"


def _in_process(size: SizeReport) -> Iterator[str]:
    yield from _title(f"{size.beads:,} beads, in process, ms")
    yield _line("", "runs", "min", "median", "target", "met")
    for name, result in size.in_process.items():
        if result.failure:
            yield _failed(name, result)
            continue
        has_target = name == "ready" and size.beads == IN_PROCESS_AT
        yield _line(
            name,
            str(len(result.runs)),
            *_ms(result.min_ms, result.median_ms),
            *_against(result.median_ms, IN_PROCESS_READY_MS if has_target else None),
        )


def _growth(report: Report) -> Iterator[str]:
    yield from _title("growth: median ms, and how many times as long per tenfold")
    steps = list(pairwise(report.sizes))
    names = [size_name(size.beads) for size in report.sizes]
    yield _line("", *names, *(f"to {size_name(larger.beads)}" for _, larger in steps))
    for name in report.sizes[0].commands:
        times = [growth(smaller, larger, name) for smaller, larger in steps]
        yield _line(
            name,
            *(_median(size.commands[name]) for size in report.sizes),
            *("-" if found == NEVER else f"x {found:.1f}" for found in times),
        )
    for rows, result in report.imports.items():
        smallest = size_name(report.sizes[0].beads)
        yield _line(f"import of {rows:,} into {smallest}", _median(result))


def _memory(report: Report) -> Iterator[str]:
    memory = report.memory
    yield from _title(
        f"{memory.beads:,} beads with {memory.edges:,} edges, one run each; "
        f"no peak reads below {memory.floor_mb:.0f} MB"
    )
    yield _line("", "ms", "peak MB", "target", "met")
    for name, result in memory.commands.items():
        if result.failure:
            yield _failed(name, result)
        else:
            yield _line(
                name, *_ms(result.median_ms, result.peak_mb), *_against(result.peak_mb, PEAK_MB)
            )


def _verdict(checks: list[Check]) -> Iterator[str]:
    missed = [check for check in checks if not check.met]
    yield ""
    if not missed:
        yield f"all {len(checks)} targets are met"
        return
    yield f"{len(missed)} of {len(checks)} targets are missed:"
    yield from (f"  {check}" for check in missed)


def _title(text: str) -> Iterator[str]:
    yield ""
    yield text


def _line(name: str, *cells: str) -> str:
    return f"{name:{NAME}}" + "".join(f" {cell:>{CELL - 1}}" for cell in cells)


def _failed(name: str, result: Result) -> str:
    return f"{name:{NAME}} failed: {result.failure}"[:WIDTH]


def _ms(*numbers: float) -> tuple[str, ...]:
    return tuple(f"{number:,.1f}" for number in numbers)


def _median(result: Result) -> str:
    return "failed" if result.failure else f"{result.median_ms:,.1f}"


def _against(measured: float, target: float | None) -> tuple[str, ...]:
    if target is None:
        return ()
    return (f"{target:,.1f}", "yes" if measured <= target else "NO")


def _size_as_json(size: SizeReport) -> dict[str, Any]:
    return {
        "bare": _numbers(size.bare),
        "commands": {
            name: _numbers(result)
            | ({} if result.failure else _ratios(result, size.bare))
            | {"target": ratio_target(name, size.beads)}
            for name, result in size.commands.items()
        },
        "peers": {peer: _all_numbers(results) for peer, results in size.peers.items()},
        "in_process": _all_numbers(size.in_process),
    }


def _ratios(result: Result, bare: Result) -> dict[str, float]:
    return {
        "ratio_min": result.min_ms / bare.min_ms,
        "ratio_median": result.median_ms / bare.median_ms,
    }


def _all_numbers(results: Mapping[str, Result]) -> dict[str, Any]:
    return {name: _numbers(result) for name, result in results.items()}


def _numbers(result: Result) -> dict[str, Any]:
    if result.failure:
        return {"failed": result.failure}
    return {
        "min_ms": result.min_ms,
        "median_ms": result.median_ms,
        "peak_mb": result.peak_mb,
        "runs_ms": [run.wall_ms for run in result.runs],
    }
