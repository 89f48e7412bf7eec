"""`helix measure`"""

from __future__ import annotations

import os

from ddx.base import Clock, UsageError, listed, shown
from ddx.console import JSON, Command
from ddx.project import find_project
from helix.cli.context import SCOPE, hear, present, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix.verification import MeasureResult

FAILED = 1
_MOST_SHOWN = 20


@Command.of(
    example="helix measure FEAT-003", arguments=(SCOPE,), flags=(JSON,), schema="helix-measured"
)
def run(*, scope: str | None, json: bool) -> int:
    """Prove what landed once more, at the tip, and file a bead for each test that fails."""
    from ddx.agents import StopRequest
    from ddx.attempts import open_site, reconcile
    from ddx.console import Interruption
    from helix.passes import resolve_scope
    from helix.project import read_slider
    from helix.verification import measure, summary_row

    stop = StopRequest()
    project = find_project(os.getcwd())
    slider = read_slider(project, clock=Clock())
    site = open_site(project, hear, stop=stop, clock=Clock(), tell=tell)
    about = resolve_scope(site, scope or "")
    folder = _evidence_folder()
    with Interruption(stop) as interruption:
        for done in reconcile(site):
            tell(done.sentence)
        measured = measure(site, slider, about, evidence_dir=folder)
    for remark in measured.remarks:
        tell(remark)
    path = measured.path.removeprefix(f"{project.root}/")
    present({**summary_row(measured), "path": path}, _summary(measured, path), json=json)
    return interruption.code or (0 if measured.passed else FAILED)


def _evidence_folder() -> str:
    """Where the caller wants measure.json; it is there before any check has been run for it."""
    from ddx.base import ATTEMPT, variable

    # What an attempt on another project says of itself is not meant for us.
    given = "" if variable(ATTEMPT) else variable("DDX_EVIDENCE_DIR")
    if not given:
        return ""
    folder = os.path.abspath(given)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise UsageError(
            f"DDX_EVIDENCE_DIR: {folder} cannot be made: {problem.strerror}",
            hint="name a folder that can be written to, or: unset DDX_EVIDENCE_DIR",
        ) from None
    return folder


def _summary(measured: MeasureResult, path: str) -> Iterator[str]:
    if measured.was_interrupted:
        yield f"interrupted: {measured.branch} was not measured, and nothing was changed"
        return
    word = "passed" if measured.passed else "failed"
    counts = [f"{count} {state}" for state, count in measured.counts.items() if count]
    tests = (
        f"{_counted(len(measured.tests), 'test')} ({', '.join(counts)})"
        if counts
        else "no test told by name"
    )
    checks = _counted(len(measured.checks), "check")
    yield f"{word}: {measured.branch} at {measured.commit[:12]}; {checks}, {tests}"
    if not measured.checks:
        yield "  nothing that landed here can be measured, and that proves nothing"
    yield from _bounded([_check(it.name, it.reason) for it in measured.checks if not it.passed])
    yield from _bounded([f"  problem  {shown(it, one_line=True)}" for it in measured.problems])
    yield from _bounded(
        [
            f"  test     {test.located.id}  {test.spec.document or 'no spec ref'}"
            for test in measured.failures
        ]
    )
    for what, ids in (
        ("filed", measured.created),
        ("told again", measured.updated),
        ("closed", measured.closed),
    ):
        if ids:
            yield f"{what}: {listed(ids)}"
    yield f"evidence: {path}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _check(name: str, reason: str) -> str:
    return f"  check    {shown(name, one_line=True)}: {shown(reason, one_line=True)}"


def _bounded(lines: list[str]) -> Iterator[str]:
    yield from lines[:_MOST_SHOWN]
    if len(lines) > _MOST_SHOWN:
        yield f"  ... and {len(lines) - _MOST_SHOWN} more"
