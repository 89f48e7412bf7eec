"""How fast and how large `ddx bead` is, beside the targets of T-19 and beside its peers.

    scripts/bench tracker [--sizes 1000,10000,100000] [--quick] [--no-peers] [--repeat N]

Whole processes, each as a multiple of the bare interpreter's start in the same run. Exit code 1
when a target is missed; the missed ones are listed at the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from generate import write_new_beads
from measure import Case, CommandFailed, Result, Run, answer_of, measure_in_turns
from peers import OPERATIONS, Peer, cases_of, fill, find_peers
from report import as_json, as_lines
from stage import facts, open_scratch, sizes_from
from targets import MemoryReport, Report, SizeReport, judge
from workload import (
    BULK_ROWS,
    DRAFTS,
    REPOSITORY,
    Scratch,
    bare_start,
    import_case,
    import_source,
    our_cases,
    pick_fresh_beads,
)

SIZES = (1_000, 10_000, 100_000)
QUICK_SIZES = (1_000, 10_000)
# Past these two there are too few beads for each run to have one of its own.
SMALLEST_SIZE = 1_000
MOST_REPEATS = 50

DENSE_EDGES = 3.0
IMPORTED_ROWS = (BULK_ROWS, 10 * BULK_ROWS)


@dataclass(frozen=True)
class Plan:
    """How much is measured, and how long the runs of one case may take together."""

    sizes: tuple[int, ...]
    peers: tuple[Peer, ...]
    absent_peers: tuple[str, ...]
    repeat: int | None
    is_quick: bool

    def rounds(self, beads: int) -> int:
        if self.repeat is not None:
            return self.repeat
        if self.is_quick:
            return 7
        return 25 if beads < 10_000 else 15 if beads < 100_000 else 5

    def case_s(self, beads: int) -> float:
        return 2.0 if self.is_quick else 3.0 if beads < 100_000 else 6.0


def main() -> int:
    asked = _arguments()
    plan = _plan(asked)
    try:
        with tempfile.TemporaryDirectory(prefix="ddx-bench-") as folder:
            report = measure(plan, open_scratch(Path(folder)))
    except CommandFailed as problem:
        print(f"the benchmark could not be set up: {problem}", file=sys.stderr)
        return 1
    for line in as_lines(report):
        print(line)
    results: Path = asked.json or _results_path(plan)
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(as_json(report), indent=1) + "\n")
    print(f"every number is in {results}")
    return 0 if all(check.met for check in judge(report)) else 1


def measure(plan: Plan, scratch: Scratch) -> Report:
    """Everything, size by size; each size leaves nothing behind."""
    write_new_beads(scratch.folder / DRAFTS, BULK_ROWS)
    for rows in IMPORTED_ROWS:
        scratch.generate(import_source(rows), beads=rows, prefix="import")
    sizes = tuple(_measure_size(beads, plan, scratch) for beads in plan.sizes)
    return Report(
        sizes=sizes,
        imports=_measure_imports(plan, scratch),
        memory=_measure_memory(plan, scratch),
        absent_peers=plan.absent_peers,
        facts=facts(scratch, {size: plan.rounds(size) for size in plan.sizes}),
    )


def _measure_size(beads: int, plan: Plan, scratch: Scratch) -> SizeReport:
    _tell(f"measuring {beads:,} beads")
    name = str(beads)
    tracker = scratch.generate(f"{name}/beads.jsonl", beads=beads)
    bare, ours = bare_start(scratch.folder), our_cases(scratch, name, tracker)
    theirs = {peer.command: _fill_peer(peer, scratch, name, tracker) for peer in plan.peers}
    cases = [bare, *ours]
    for found in theirs.values():
        cases += found.values() if not isinstance(found, Result) else ()
    results = measure_in_turns(
        cases, env=scratch.env, rounds=plan.rounds(beads), case_s=plan.case_s(beads)
    )
    report = SizeReport(
        beads=beads,
        bare=results[bare.name],
        commands={case.name: results[case.name] for case in ours},
        peers={
            command: dict.fromkeys(OPERATIONS, found)
            if isinstance(found, Result)
            else {operation: results[case.name] for operation, case in found.items()}
            for command, found in theirs.items()
        },
        in_process=_measure_in_process(beads, plan, scratch, tracker),
    )
    shutil.rmtree(scratch.folder / name)
    return report


def _fill_peer(peer: Peer, scratch: Scratch, name: str, tracker: Path) -> dict[str, Case] | Result:
    """What to measure, or the one failure that stands for all."""
    folder = scratch.folder / name / peer.command
    try:
        fill(peer, folder, tracker, scratch.env)
    except CommandFailed as problem:
        return Result(failure=f"filling it: {problem}")
    return cases_of(peer, folder, pick_fresh_beads(tracker).ids)


def _measure_in_process(
    beads: int, plan: Plan, scratch: Scratch, tracker: Path
) -> dict[str, Result]:
    project = scratch.make_project(f"{beads}/in-process", tracker)
    script = str(REPOSITORY / "benchmarks/inprocess.py")
    try:
        answer = answer_of(
            (sys.executable, script, str(project), str(plan.rounds(beads))),
            cwd=project,
            env={**scratch.env, "PYTHONPATH": str(REPOSITORY / "src")},
        )
    except CommandFailed as problem:
        return {"ready": Result(failure=str(problem))}
    return {
        name: Result(tuple(Run(*numbers) for numbers in runs))
        for name, runs in json.loads(answer).items()
    }


def _measure_imports(plan: Plan, scratch: Scratch) -> dict[int, Result]:
    """Ten times the rows into the same tracker: is the time linear?"""
    _tell("measuring imports")
    tracker = scratch.generate("imports/beads.jsonl", beads=plan.sizes[0])
    cases = {
        rows: import_case(str(rows), rows, scratch, "imports", tracker) for rows in IMPORTED_ROWS
    }
    results = measure_in_turns(list(cases.values()), env=scratch.env, rounds=3, case_s=20.0)
    return {rows: results[case.name] for rows, case in cases.items()}


def _measure_memory(plan: Plan, scratch: Scratch) -> MemoryReport:
    beads = plan.sizes[-1]
    _tell(f"measuring memory at {beads:,} beads with {DENSE_EDGES:.0f} edges each")
    tracker = scratch.generate("dense/beads.jsonl", beads=beads, edges=DENSE_EDGES)
    bare, ours = bare_start(scratch.folder), our_cases(scratch, "dense", tracker)
    with tracker.open("rb") as lines:
        edges = sum(line.count(b'"depends_on_id"') for line in lines)
    results = measure_in_turns([bare, *ours], env=scratch.env, rounds=0, case_s=0.0)
    floor_mb = results.pop(bare.name).peak_mb
    return MemoryReport(beads, edges, floor_mb, results)


def _plan(asked: argparse.Namespace) -> Plan:
    present, absent = find_peers()
    wants_peers = not (asked.quick or asked.no_peers)
    return Plan(
        sizes=asked.sizes or (QUICK_SIZES if asked.quick else SIZES),
        peers=tuple(present) if wants_peers else (),
        absent_peers=tuple(absent) if wants_peers else (),
        repeat=asked.repeat,
        is_quick=asked.quick,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench tracker", description="Measure `ddx bead` against its targets (T-19)."
    )
    parser.add_argument(
        "--sizes", type=sizes_from(SMALLEST_SIZE), help="beads in each tracker: 1000,10000,100000"
    )
    parser.add_argument("--quick", action="store_true", help="1k and 10k, few runs, no peers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to put every number")
    parser.add_argument("--no-peers", action="store_true", help="leave out other trackers on PATH")
    parser.add_argument("--repeat", type=_repeats, metavar="N", help="runs of each command")
    return parser.parse_args()


def _repeats(text: str) -> int:
    if int(text) not in range(1, MOST_REPEATS + 1):
        raise argparse.ArgumentTypeError(f"1 to {MOST_REPEATS}")
    return int(text)


def _results_path(plan: Plan) -> Path:
    sizes = "-".join(map(str, plan.sizes))
    return REPOSITORY / f"benchmarks/results/tracker-{sizes}.json"


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
