"""Our own commands on a tracker of one size; no run is given what another has used (T-19)."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from measure import Case, run_once

REPOSITORY = Path(__file__).resolve().parent.parent
DDX = str(REPOSITORY / "bin/ddx")

QUERIES = {
    "ready --json": ("ready", "--json"),
    "ready --execution --json": ("ready", "--execution", "--json"),
    "list --json": ("list", "--json"),
    "list": ("list",),
    "show --json": ("show", "ID", "--json"),
    "status --json": ("status", "--json"),
}
MUTATIONS = {
    "create": ("create", "T", "--type", "task"),
    "update --priority": ("update", "ID", "--priority", "1"),
    "update --claim": ("update", "ID", "--claim"),
    "close": ("close", "ID", "--reason", "x", "--force"),
    "dep add": ("dep", "add", "ID", "OTHER"),
    "take --json": ("take", "--json"),
}
BULK_ROWS = 1000
BULK_CREATE = f"create of {BULK_ROWS:,}"
BULK_IMPORT = f"import of {BULK_ROWS:,}"
DRAFTS = "drafts.jsonl"
"""The file for BULK_CREATE; `import_source` names those for imports."""

READY_COLD = "ready, cache deleted"
READY_AFTER_WRITE = "ready, after a write"

SETUP_LIMIT_S = 120.0
_ROWS_LOOKED_AT = 2000
_AN_HOUR_S = 3600


@dataclass(frozen=True)
class Scratch:
    """A scratch folder with a home of its own, and what every command is started with."""

    folder: Path
    env: Mapping[str, str]

    def run(self, *argv: str, cwd: Path) -> None:
        run_once(argv, cwd=cwd, env=self.env, limit_s=SETUP_LIMIT_S)

    def generate(self, name: str, *, beads: int, edges: float = 1.5, prefix: str = "bench") -> Path:
        """A tracker file; made by another process, which gives its memory back."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        script = str(REPOSITORY / "benchmarks/generate.py")
        asked = ("--beads", str(beads), "--edges", str(edges), "--prefix", prefix)
        self.run(sys.executable, script, str(path), *asked, cwd=self.folder)
        return path

    def make_project(self, name: str, tracker: Path) -> Path:
        """A repository with a copy of `tracker`, made anew; its index is built and valid."""
        project = self.folder / name
        shutil.rmtree(project, ignore_errors=True)
        beads = project / ".ddx/beads.jsonl"
        beads.parent.mkdir(parents=True)
        shutil.copyfile(tracker, beads)
        long_ago = beads.stat().st_mtime - _AN_HOUR_S
        os.utime(beads, (long_ago, long_ago))  # a file just written gets no index (T-19)
        self.run("git", "init", "-q", cwd=project)
        self.run(DDX, "bead", "init", cwd=project)
        self.run(DDX, "bead", "ready", "--json", cwd=project)
        return project


@dataclass(frozen=True)
class FreshBeads:
    """Open beads that are no epics, each handed out once."""

    ids: Iterator[str]
    pairs: Iterator[tuple[str, str]]
    """Two beads of which the first may come to wait for the second (T-12)."""


def pick_fresh_beads(tracker: Path) -> FreshBeads:
    """From the end of the queue, so that `take`, which works from its front, gets other beads."""
    with tracker.open("rb") as lines:
        rows = map(json.loads, islice(lines, _ROWS_LOOKED_AT))
        leaves = [
            (-row["priority"], row["id"], row["created_at"])
            for row in rows
            if row["status"] == "open" and row["issue_type"] != "epic"
        ]
    leaves.sort()
    half = len(leaves) // 2
    # A newer bead may wait for an older one: all generated edges lead that way.
    by_age = sorted((created_at, bead_id) for _, bead_id, created_at in leaves[half:])
    ids = [bead_id for _, bead_id in by_age]
    older, newer = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    return FreshBeads(
        ids=iter([bead_id for _, bead_id, _ in leaves[:half]]),
        pairs=zip(newer, older, strict=False),
    )


def bare_start(cwd: Path) -> Case:
    """What everything is compared with: the environment's own interpreter, doing nothing."""
    python = os.path.realpath(sys.executable)
    return Case("bare", lambda: (python, "-I", "-S", "-c", "pass"), cwd)


def our_cases(scratch: Scratch, name: str, tracker: Path) -> list[Case]:
    """Every command of T-19. Queries and mutations each have a project of their own."""
    reading = scratch.make_project(f"{name}/reading", tracker)
    writing = scratch.make_project(f"{name}/writing", tracker)
    fresh = pick_fresh_beads(tracker)
    return [
        *(_case(named, words, reading, fresh) for named, words in QUERIES.items()),
        *(_case(named, words, writing, fresh) for named, words in MUTATIONS.items()),
        _create_case(scratch, name, tracker),
        import_case(BULK_IMPORT, BULK_ROWS, scratch, name, tracker),
        Case(
            READY_COLD,
            lambda: (DDX, "bead", "ready", "--json"),
            reading,
            prepare=lambda: shutil.rmtree(reading / ".ddx/cache"),
        ),
        Case(
            READY_AFTER_WRITE,
            lambda: (DDX, "bead", "ready", "--json"),
            writing,
            prepare=lambda: scratch.run(DDX, "bead", "create", "T", cwd=writing),
        ),
    ]


def import_source(rows: int) -> str:
    return f"import-{rows}.jsonl"


def import_case(title: str, rows: int, scratch: Scratch, name: str, tracker: Path) -> Case:
    words = ("import", "--from", "jsonl", str(scratch.folder / import_source(rows)))
    return _in_a_new_project(title, words, scratch, f"{name}/import-{rows}", tracker)


def _create_case(scratch: Scratch, name: str, tracker: Path) -> Case:
    words = ("create", "--from-file", str(scratch.folder / DRAFTS))
    return _in_a_new_project(BULK_CREATE, words, scratch, f"{name}/create", tracker)


def _in_a_new_project(
    title: str, words: Sequence[str], scratch: Scratch, name: str, tracker: Path
) -> Case:
    """A bulk command would grow the tracker with each run."""
    return Case(
        title,
        lambda: (DDX, "bead", *words),
        scratch.folder / name,
        prepare=lambda: scratch.make_project(name, tracker),
    )


def _case(title: str, words: Sequence[str], project: Path, fresh: FreshBeads) -> Case:
    def argv() -> tuple[str, ...]:
        if "OTHER" in words:
            return (DDX, "bead", "dep", "add", *next(fresh.pairs))
        return (DDX, "bead", *(next(fresh.ids) if word == "ID" else word for word in words))

    return Case(title, argv, project)
