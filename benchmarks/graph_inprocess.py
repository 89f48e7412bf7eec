"""The document graph used from Python, in one process that stays (G-9).

    PYTHONPATH=src python benchmarks/graph_inprocess.py PROJECT REPEAT

Prints as JSON, for every run, its milliseconds and the peak of memory so far in MB; and how many
files were opened, and how many documents indexed again, after one of them had changed.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generate_documents import DOCUMENTS_ROOT, FILES_BELOW, change_one
from measure import MAXRSS_BYTES

from ddx.base.clock import Clock
from ddx.documents.cache import load_graph
from ddx.documents.full_text import SearchResult, search
from ddx.documents.graph import Graph
from ddx.project.project import Project

WORDS = ("login", "throttled", "outages")


def measure(root: Path, repeat: int) -> dict[str, Any]:
    """The graph and the search: as they are, from nothing, and after a change of one document."""
    project = Project(str(root))
    index = root / ".ddx/cache/search.db"

    def load() -> Graph:
        return load_graph(project, [DOCUMENTS_ROOT], clock=Clock())

    def ask() -> SearchResult:
        return search(project, load(), WORDS, clock=Clock())

    load()
    runs = {
        "load, warm": [_run(load) for _ in range(repeat)],
        "load, one changed": [_run(load, after=lambda: change_one(root)) for _ in range(repeat)],
        "search, no index": [
            _run(ask, after=lambda: index.unlink(missing_ok=True)) for _ in range(repeat)
        ],
        "search, warm": [_run(ask) for _ in range(repeat)],
        "search, one changed": [_run(ask, after=lambda: change_one(root)) for _ in range(repeat)],
    }
    change_one(root)
    with _opened_files(root) as opened:
        load()
    return {
        "runs": runs,
        "counts": {
            "files read after one changed": len(opened),
            "documents indexed after one changed": ask().reindexed,
        },
    }


def _run(
    action: Callable[[], object], *, after: Callable[[], object] = lambda: None
) -> tuple[float, float]:
    after()
    started = time.perf_counter()
    action()
    wall_ms = (time.perf_counter() - started) * 1000
    return wall_ms, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / 1e6


@contextmanager
def _opened_files(root: Path) -> Iterator[set[str]]:
    """The files of the tree that are opened meanwhile, as the interpreter itself reports them."""
    opened: set[str] = set()
    watched = tuple(f"{root / name}/" for name in FILES_BELOW)
    is_watching = True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watching and event == "open" and isinstance(arguments[0], str):
            path = os.path.realpath(arguments[0])
            if path.startswith(watched) and os.path.isfile(path):
                opened.add(path)

    sys.addaudithook(hear)
    try:
        yield opened
    finally:
        is_watching = False


if __name__ == "__main__":
    json.dump(measure(Path(sys.argv[1]).resolve(), int(sys.argv[2])), sys.stdout)
