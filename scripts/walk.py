"""Runs a command in process in a scratch repository and counts the code of ours that really ran.

A function counts once it was called. Left out are class bodies, comprehensions, `values.py`, which
stands under every value, and `doors.py`, by which a name is imported when it is first asked for.
Our code is every file below `src`, whatever it is called.
"""

import json
import os
import sys
import threading
import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SRC = f"{ROOT}/src/"
WALKS = {
    "ready": ("ddx", "bead", "ready", "--json"),
    "input": ("helix", "input", "fix the crash on empty carts"),
    "run": ("helix", "run", "--max-cycles", "1", "--agent", "script", "--model", "../both.script"),
}
DECIDED = ("_carry_out", "carry_out")
"""Functions that carry out a driver's decision; the outermost one is where the hops begin."""
ASKS = "call_agent"
BUILDS_AND_REVIEWS = """\
write hello.txt hello
say REVIEW_STATUS: CLEAN
say ISSUES_COUNT: 0
usage 100 20 0.01
"""
LEFT_OUT = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
CO_OPTIMIZED = 1  # a module and the body of a class are not

USAGE = "usage: scripts/walk [ready|input|run ...] [--list]"


class _Here(threading.local):
    """Where one thread is: modules that it imports now, and our functions on its stack."""

    imports = 0
    depth = 0


class Recorder:
    """Hears every call on every thread; what a module calls while it is imported does not count."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.deepest = 0
        self._names: dict[CodeType, str] = {}
        self._here = _Here()

    def hear(self, frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        here, code, step = self._here, frame.f_code, 1 if event == "call" else -1
        if code.co_name == "<module>":
            here.imports += step
        if here.imports or not self._name(code):
            return
        here.depth += step
        self.deepest = max(self.deepest, here.depth)
        if event == "call" and code.co_name == ASKS:
            self.asked.append(self._hops(frame.f_back))

    @property
    def functions(self) -> list[str]:
        return sorted({name for name in self._names.values() if name})

    def _name(self, code: CodeType) -> str:
        """`ddx/cli/main.py:20 main`, or nothing for what does not count."""
        if code not in self._names:
            path = code.co_filename
            counts = (
                path.startswith(SRC)
                and not path.endswith(("/values.py", "/doors.py"))
                and code.co_name not in LEFT_OUT
                and code.co_flags & CO_OPTIMIZED
            )
            place = f"{path.removeprefix(SRC)}:{code.co_firstlineno} {code.co_qualname}"
            self._names[code] = place if counts else ""
        return self._names[code]

    def _hops(self, frame: FrameType | None) -> list[str]:
        """Our functions between the decision and the agent; a thread's whole stack if none decided.

        An attempt runs on a thread of its own, so its hops begin where the thread does.
        """
        stack, hops = [], None
        while frame is not None:
            if name := self._name(frame.f_code):
                if frame.f_code.co_name in DECIDED:
                    hops = list(stack)
                stack.append(name)
            frame = frame.f_back
        return (stack if hops is None else hops)[::-1]


def record(program: str, *words: str) -> dict[str, Any]:
    """What was called while `program` ran here with these words."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts[program].partition(":")
    main = attrgetter(name)(import_module(module))
    recorder = Recorder()
    threading.setprofile(recorder.hear)
    sys.setprofile(recorder.hear)
    try:
        code = main(list(words))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = recorder.functions
    files = sorted({place.partition(":")[0] for place in functions})
    return {
        "code": code,
        "files": files,
        "functions": len(functions),
        "deepest": recorder.deepest,
        "asked": recorder.asked,
    }


def walk(line: tuple[str, ...]) -> dict[str, Any]:
    """The same in a process of its own, in a repository with one bead and a scripted agent."""
    from tests.support.attempts import make_workshop

    with TemporaryDirectory() as folder:
        scene = make_workshop(Path(folder) / "w")
        (scene.root.parent / "both.script").write_text(BUILDS_AND_REVIEWS)
        scene.ddx("ready")  # the index of the beads is there, as on any day but the first
        found = Path(folder) / "walk.json"
        env = scene.variables(HELIX_BACKOFF_SLEEP="0", PYTHONPATH=os.environ["PYTHONPATH"])
        argv = [sys.executable, __file__, "--record", str(found), *line]
        ended = run(argv, cwd=scene.root, env=env, capture_output=True, text=True, check=False)
        answer: dict[str, Any] = json.loads(found.read_text()) if found.exists() else {"code": 3}
        if answer["code"] != 0:
            sys.exit(f"{' '.join(line)} ended with {answer['code']}:\n{ended.stderr}")
        return answer


def main(words: list[str]) -> int:
    if words[:1] == ["--record"]:
        Path(words[1]).write_text(json.dumps(record(*words[2:])))
        return 0
    names = [word for word in words if word != "--list"]
    if unknown := [name for name in names if name not in WALKS]:
        print(f"scripts/walk: unknown walk {unknown[0]}\n{USAGE}", file=sys.stderr)
        return 2
    for name in names or WALKS:
        found = walk(WALKS[name])
        print(" ".join(WALKS[name]))
        print(f"  files that ran {len(found['files'])}, functions {found['functions']}", end="")
        print(f", deepest own stack {found['deepest']}")
        for hops in found["asked"]:
            print(f"  {len(hops)} hops to {ASKS}:")
            print("".join(f"    {hop}\n" for hop in hops), end="")
        if "--list" in words:
            print("".join(f"  {file}\n" for file in found["files"]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
