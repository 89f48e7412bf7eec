"""How fast `ddx doc` is on a large tree of documents, beside the targets of G-9.

    scripts/bench graph [--sizes 1000,10000] [--quick] [--json FILE]

Whole processes in fair turns: cold as a multiple of reading the same files with `cat` and starting
the bare interpreter, warm as a multiple of the bare start alone. Exit code 1 when a target is
missed; the missed ones are listed at the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from generate_documents import FILES_BELOW, change_one
from graph_report import AFTER_CHANGE, COLD, Report, SizeReport, as_json, as_lines, judge
from measure import Case, CommandFailed, Result, Run, answer_of, measure_in_turns
from stage import facts, open_scratch, sizes_from
from workload import DDX, REPOSITORY, Scratch, bare_start

SIZES = (1_000, 10_000)
SMALLEST_SIZE = 50
IN_PROCESS_LIMIT_S = 300.0

QUERIES = {
    "impact --json": ("impact", "US-0002", "--json"),
    "impact": ("impact", "US-0002"),
    "deps --json": ("deps", "TD-0002", "--json"),
    "dependents --json": ("dependents", "FEAT-0001", "--json"),
    "list --json": ("list", "--json"),
    "list": ("list",),
    "show --json": ("show", "TD-0002", "--json"),
    "show": ("show", "TD-0002"),
    "stale --json": ("stale", "--json"),
}
"""What G-9 calls a warm query."""

OTHERS = {
    "impact of the whole, --json": ("impact", "vision", "--json"),
    "impact --text --json": ("impact", "--text", "throttle refunds in the calendar", "--json"),
    "search --json": ("search", "login", "throttled", "outages", "--json"),
}
"""Of interest, but nothing is promised."""


@dataclass(frozen=True)
class Plan:
    """How much is measured, and how long the runs of one case may take together."""

    sizes: tuple[int, ...]
    is_quick: bool

    def rounds(self, documents: int) -> int:
        if self.is_quick:
            return 5
        return 25 if documents < 10_000 else 15

    @property
    def case_s(self) -> float:
        return 6.0 if self.is_quick else 20.0


def main() -> int:
    asked = _arguments()
    plan = Plan(asked.sizes or SIZES, asked.quick)
    try:
        with tempfile.TemporaryDirectory(prefix="ddx-bench-") as folder:
            report = measure(plan, open_scratch(Path(folder).resolve()))
    except CommandFailed as problem:
        print(f"the benchmark could not be set up: {problem}", file=sys.stderr)
        return 1
    for line in as_lines(report):
        print(line)
    sizes = "-".join(map(str, plan.sizes))
    results: Path = asked.json or REPOSITORY / f"benchmarks/results/graph-{sizes}.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(as_json(report), indent=1) + "\n")
    print(f"every number is in {results}")
    return 0 if all(check.met for check in judge(report)) else 1


def measure(plan: Plan, scratch: Scratch) -> Report:
    """Everything, size by size; each size leaves nothing behind."""
    sizes = tuple(_measure_size(documents, plan, scratch) for documents in plan.sizes)
    return Report(sizes, facts(scratch, {size: plan.rounds(size) for size in plan.sizes}))


def _measure_size(documents: int, plan: Plan, scratch: Scratch) -> SizeReport:
    print(f"measuring {documents:,} documents", file=sys.stderr, flush=True)
    project = _make_project(documents, scratch)
    bare, cat, commands = bare_start(project), _cat_case(project), _our_cases(project, scratch)
    rounds = plan.rounds(documents)
    results = measure_in_turns(
        [bare, cat, *commands], env=scratch.env, rounds=rounds, case_s=plan.case_s
    )
    in_process, counts = _measure_in_process(project, min(rounds, 5), scratch)
    sizes = [path.stat().st_size for path in _files(project)]
    report = SizeReport(
        documents=documents,
        files=len(sizes),
        megabytes=sum(sizes) / 1e6,
        bare=results[bare.name],
        cat=results[cat.name],
        commands={case.name: results[case.name] for case in commands},
        targeted=frozenset(QUERIES),
        in_process=in_process,
        counts=counts,
    )
    shutil.rmtree(project)
    return report


def _make_project(documents: int, scratch: Scratch) -> Path:
    """A repository with the documents committed and all of them reviewed once."""
    project = scratch.folder / str(documents)
    project.mkdir()
    script = str(REPOSITORY / "benchmarks/generate_documents.py")
    asked = (str(project), "--documents", str(documents))
    scratch.run(sys.executable, script, *asked, cwd=scratch.folder)
    (project / ".gitignore").write_text(".ddx/\n")
    (project / ".ddx").mkdir()
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "documents")):
        scratch.run("git", *words, cwd=project)
    scratch.run(DDX, "doc", "stamp", "--all", cwd=project)
    return project


def _our_cases(project: Path, scratch: Scratch) -> list[Case]:
    show, search = QUERIES["show --json"], OTHERS["search --json"]
    graph_cache = project / ".ddx/cache/graph.idx"

    def index_again() -> None:  # one document changed since the last round
        scratch.run(DDX, "doc", *search, cwd=project)

    return [
        *(_case(name, words, project) for name, words in QUERIES.items()),
        *(_case(name, words, project, index_again) for name, words in OTHERS.items()),
        _case(COLD, show, project, graph_cache.unlink),
        _case(AFTER_CHANGE, show, project, lambda: change_one(project)),
    ]


def _case(
    name: str,
    words: tuple[str, ...],
    project: Path,
    prepare: Callable[[], object] = lambda: None,
) -> Case:
    return Case(name, lambda: (DDX, "doc", *words), project, prepare)


def _cat_case(project: Path) -> Case:
    """Reading the same files, as fast as a shell can."""
    line = f"find {' '.join(FILES_BELOW)} -type f -print0 | xargs -0 cat"
    return Case("cat", lambda: ("sh", "-c", line), project)


def _measure_in_process(
    project: Path, repeat: int, scratch: Scratch
) -> tuple[dict[str, Result], dict[str, int]]:
    script = str(REPOSITORY / "benchmarks/graph_inprocess.py")
    try:
        answer = answer_of(
            (sys.executable, script, str(project), str(repeat)),
            cwd=project,
            env={**scratch.env, "PYTHONPATH": str(REPOSITORY / "src")},
            limit_s=IN_PROCESS_LIMIT_S,
        )
    except CommandFailed as problem:
        return {"load, warm": Result(failure=str(problem))}, {}
    found = json.loads(answer)
    runs = {
        name: Result(tuple(Run(*numbers) for numbers in runs))
        for name, runs in found["runs"].items()
    }
    return runs, found["counts"]


def _files(project: Path) -> list[Path]:
    below = (path for name in FILES_BELOW for path in (project / name).rglob("*"))
    return [path for path in below if path.is_file()]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench graph", description="Measure `ddx doc` against its targets (G-9)."
    )
    parser.add_argument(
        "--sizes", type=sizes_from(SMALLEST_SIZE), help="documents in each tree: 1000,10000"
    )
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to put every number")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
