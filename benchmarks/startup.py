"""How fast the commands that people and agents type all day begin and end (C-7, O-11).

    scripts/bench startup [--repeat N] [--beads N]

Whole processes in fair turns, the best of each as a multiple of the bare interpreter's start in the
same run. Exit code 1 when a target is missed; the missed ones are marked.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measure import Case, CommandFailed, Result, measure_in_turns
from stage import open_scratch
from workload import DDX, REPOSITORY, Scratch, bare_start

HELIX = str(REPOSITORY / "bin/helix")
HOOK = str(REPOSITORY / "hooks/run")
EVENT = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
TURNS = 40
BEADS = 100
CASE_S = 60.0


@dataclass(frozen=True)
class Target:
    """At most so many times the bare start, or so many milliseconds; none: only shown."""

    times: float | None = None
    ms: float | None = None

    def is_met(self, result: Result, bare_ms: float) -> bool:
        if result.failure:
            return False
        within = self.times is None or result.min_ms <= self.times * bare_ms
        return within and (self.ms is None or result.min_ms <= self.ms)

    def __str__(self) -> str:
        said = (f"{self.times:g} x" if self.times else "", f"{self.ms:g} ms" if self.ms else "")
        return " and ".join(filter(None, said))


TARGETS = {
    "helix --version": Target(times=3),
    "helix status": Target(times=5),
    "helix next": Target(times=12),
    "helix --help": Target(),
    "ddx bead ready": Target(times=4),
    "hook session-start": Target(ms=300),
    "hook pre-tool-use": Target(ms=300),
}


def main() -> int:
    asked = _arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="helix-bench-") as folder:
            scratch = open_scratch(Path(folder).resolve())
            project = _project(scratch, asked.beads)
            found = measure_in_turns(
                [bare_start(project), *_cases(project)],
                env=scratch.env,
                rounds=asked.repeat,
                case_s=CASE_S,
            )
    except CommandFailed as problem:
        print(f"the benchmark could not be set up: {problem}", file=sys.stderr)
        return 1
    bare_ms = found["bare"].min_ms
    for line in _lines(found, bare_ms):
        print(line)
    return 0 if all(it.is_met(found[name], bare_ms) for name, it in TARGETS.items()) else 1


def _project(scratch: Scratch, beads: int) -> Path:
    """A repository that was set up, with a queue and a commit."""
    project = scratch.make_project("shop", scratch.generate("beads.jsonl", beads=beads))
    scratch.run("git", "commit", "-q", "--allow-empty", "-m", "begin", cwd=project)
    scratch.run(HELIX, "init", "--trust", cwd=project)
    (project / "event.json").write_text(json.dumps({**EVENT, "cwd": str(project)}))
    return project


def _cases(project: Path) -> Iterator[Case]:
    for name in TARGETS:
        program, _, rest = name.partition(" ")
        words = (HELIX if program == "helix" else DDX, *rest.split())
        if program == "hook":
            words = ("/bin/sh", "-c", f"exec '{HOOK}' {rest} <event.json")
        yield Case(name, partial(tuple, words), project)


def _lines(found: Mapping[str, Result], bare_ms: float) -> Iterator[str]:
    title = f"best of {len(found['bare'].runs)} in turns"
    yield f"{title:22}{'ms':>8}{'times':>8}  target"
    yield f"{'python -I -S -c pass':22}{bare_ms:>8.1f}{1:>8.1f}"
    for name, target in TARGETS.items():
        result = found[name]
        if result.failure:
            yield f"{name:22}  {result.failure}"
            continue
        met = "" if target.is_met(result, bare_ms) else "  MISSED"
        yield f"{name:22}{result.min_ms:>8.1f}{result.min_ms / bare_ms:>8.1f}  {target}{met}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=TURNS)
    parser.add_argument("--beads", type=int, default=BEADS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
