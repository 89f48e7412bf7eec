"""Where an agent program runs: is it installed, and what does the machine say about itself."""

from __future__ import annotations

import os
import re
import shutil
from datetime import datetime
from typing import TYPE_CHECKING

from ddx import environment, process
from ddx.clock import SYSTEM_CLOCK
from ddx.errors import DdxError
from ddx.harnesses.base import Detected
from ddx.harnesses.reading import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

ANSWER_S = 20.0

_VERSION = re.compile(r"(?<![\w.])\d+\.\d+[\w.+-]*")


class Machine:
    """All that a harness may ask of the world; a test brings its own."""

    def is_root(self) -> bool:
        return os.geteuid() == 0

    def variable(self, name: str) -> str:
        return environment.variable(name)

    def now(self) -> datetime:
        """With the zone of this machine, in which programs tell times to a person."""
        return datetime.fromtimestamp(SYSTEM_CLOCK.now_ns() / 1e9).astimezone()


MACHINE = Machine()


def detect_program(
    program: str,
    *,
    package: str,
    capabilities: frozenset[str] = frozenset(),
    env: Mapping[str, str] | None = None,
    timeout_s: float = ANSWER_S,
) -> Detected:
    """Find the program and ask for its version; what keeps it from working is said in words."""
    path = shutil.which(program, path=environment.variable("PATH") or None)
    if path is None:
        return Detected(program, problem=f"{program} is not installed: npm install -g {package}")
    try:
        answer = process.run(
            [path, "--version"],
            cwd=os.path.sep,
            env=environment.for_children(env),
            timeout_s=timeout_s,
        )
    except DdxError as problem:
        return Detected(program, path, problem=problem.message)
    found = _VERSION.search(answer.text)
    if answer.timed_out:
        problem_text = f"{program} --version gave no answer within {timeout_s:g} s"
    elif not answer.ok:
        problem_text = f"{program} --version ended with {answer.code}: {plain(answer.complaint)}"
    elif found is None:
        problem_text = f"{program} --version names no version: {plain(answer.text)}"
    else:
        return Detected(program, path, found[0], capabilities)
    return Detected(program, path, problem=problem_text)
