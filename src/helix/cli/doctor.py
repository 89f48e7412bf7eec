"""`helix doctor`"""

from __future__ import annotations

import os

from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Command, Flag
from ddx.text import cut, shown_on_one_line

SOMETHING_FOUND = 1
_LONGEST_SENTENCE = 600


def run(*, fix: bool, json: bool) -> int:
    from ddx.clock import SYSTEM_CLOCK
    from ddx.errors import DdxError, NotFound
    from ddx.execution.checkup import Finding
    from ddx.project import find_project
    from ddx.tracker.store import Tracker
    from helix.cli.control import tell
    from helix.cli.registry import words
    from helix.installing.checkup import examine_machine, examine_repository
    from helix.installing.mending import mend

    mended: list[str] = []
    findings: list[Finding] = []
    try:
        project = find_project(os.getcwd())
    except NotFound as problem:
        findings.append(Finding("set-up", False, problem.message, "git init, then: helix init"))
    else:
        tracker = Tracker(project, clock=SYSTEM_CLOCK, command="helix doctor", tell=tell)
        if fix:
            try:
                mended += mend(project, tracker, clock=SYSTEM_CLOCK, tell=tell)
            except DdxError as problem:  # what is left is looked at all the same
                findings.append(Finding("mending", False, problem.message, problem.hint))
        findings += examine_repository(project, tracker, clock=SYSTEM_CLOCK)
    findings = [*examine_machine(commands=words()), *findings]
    if json:
        answer({"mended": mended, "findings": [dict(it.__dict__) for it in findings]})
    else:
        for sentence in mended:
            say(bold("done"), f"  {_plain(sentence)}")
        for it in findings:
            say(bold("ok  " if it.ok else "mend"), f"  {it.name}: {_plain(it.what)}")
            if it.cure:
                say(f"      -> {_plain(it.cure)}")
    return 0 if all(it.ok for it in findings) else SOMETHING_FOUND


def _plain(text: str) -> str:
    return shown_on_one_line(cut(text, _LONGEST_SENTENCE))


COMMAND = Command(
    "doctor",
    "Look whether HELIX can work here, and say what to type where not (exit 1 then).",
    run,
    "helix doctor --fix",
    flags=(Flag("--fix", "mend what can be mended without losing anything", kind="switch"), JSON),
    schema="helix-doctor",
)
