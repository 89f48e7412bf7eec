"""The tracker used from Python, in one process that stays, as the supervisor's will (T-19).

    PYTHONPATH=src python benchmarks/inprocess.py PROJECT REPEAT

Prints as JSON, for every run, its milliseconds and the peak of memory so far in MB. It is a
process of its own, because a loaded tracker would hide the memory of the commands beside it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable

from measure import MAXRSS_BYTES

from ddx.project.project import Project
from ddx.tracker.edits import BeadPatch, create, update
from ddx.tracker.queue import ready, ready_for_execution
from ddx.tracker.tracker import Tracker


def measure(root: str, repeat: int) -> dict[str, list[tuple[float, float]]]:
    """Loading once, then each action `repeat` times."""
    tracker = Tracker(Project(root))
    loaded = _run(tracker.snapshot)
    fresh_ids = iter(tracker.snapshot().columns.ids)

    def rename_one() -> None:
        bead_id, patch = next(fresh_ids), BeadPatch({"title": f"Renamed {time.time_ns()}"})
        tracker.change(lambda view, now: update(view, bead_id, patch, now=now, by="bench"))

    def create_one() -> None:
        draft = {"title": "T"}
        tracker.change(
            lambda view, now: create(view, [draft], now=now, by="bench", draw_id=_draw_id)
        )

    actions: dict[str, Callable[[], object]] = {
        "ready": lambda: ready(tracker.snapshot().columns, tracker.surroundings()),
        "ready --execution": lambda: ready_for_execution(
            tracker.snapshot().columns, tracker.surroundings()
        ),
        "update": rename_one,
        "create": create_one,
    }
    return {"load, with index": [loaded]} | {
        name: [_run(action) for _ in range(repeat)] for name, action in actions.items()
    }


def _draw_id() -> str:
    return f"bench-{os.urandom(4).hex()}"


def _run(action: Callable[[], object]) -> tuple[float, float]:
    started = time.perf_counter()
    action()
    wall_ms = (time.perf_counter() - started) * 1000
    return wall_ms, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_BYTES / 1e6


if __name__ == "__main__":
    json.dump(measure(sys.argv[1], int(sys.argv[2])), sys.stdout)
