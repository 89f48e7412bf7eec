"""What runs and attempts left on record: their cost, their changes, their log."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ddx.base import Clock, NotFound
from ddx.console import JSON, Argument, Command, Flag, answer, say, table, terminal_width, write
from ddx.project import find_project
from helix.cli.context import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.attempts import AttemptRecord
    from ddx.project import Project
    from helix.verification import Spending

BY = ("bead", "day", "model")
_PAUSE_S = 0.3
_CHUNK = 1 << 16
_TAIL = 1 << 18


@Command.of(
    example="helix cost --by day",
    flags=(Flag("--by", "bead, day or model", "choice", choices=BY, default="bead"), JSON),
    schema="helix-cost",
)
def cost(*, by: str, json: bool) -> int:
    """Sum up what agents have used, by bead, day or model."""
    from helix.verification import Spending

    project = find_project(os.getcwd())
    total = Spending("total")
    found: dict[str, Spending] = {}
    for record in _records(project):
        key = _key(record, by)
        found[key] = found.get(key, Spending(key)).plus(record.usage)
        total = total.plus(record.usage)
    rows = sorted(found.values(), key=lambda it: it.key, reverse=by == "day")
    if by != "day":
        rows.sort(key=lambda it: (-(it.cost_usd or 0.0), -it.tokens))
    if json:
        answer({"by": by, "rows": [it.row for it in rows], "total": total.row})
    elif not rows:
        say("no agent was asked yet")
    else:
        _print_cost(by, rows, total)
    return 0


def _records(project: Project) -> Iterator[AttemptRecord]:
    from ddx.attempts import read_attempts

    for record in read_attempts(project).readable(lambda it: tell(f"{it}; it is left out")):
        if record.intent.get("harness"):  # nobody was asked for a measure
            yield record


def _key(record: AttemptRecord, by: str) -> str:
    if by == "bead":
        return ", ".join(map(str, record.beads)) or f"({record.intent.get('action') or 'prompt'})"
    if by == "day":
        from helix.verification import local_day

        return local_day(str(record.intent.get("at") or ""))
    harness = str(record.result.get("harness") or record.intent.get("harness") or "unknown")
    model = str(record.result.get("model") or record.intent.get("model") or "")
    return f"{harness} {model}".strip()


def _print_cost(by: str, rows: list[Spending], total: Spending) -> None:
    cells = [
        [it.key, str(it.calls), f"{it.tokens:,}", f"{it.output:,}", it.spoken_cost]
        for it in (*rows, total)
    ]
    table([by, "calls", "tokens", "of them output", "cost"], cells)
    if total.unknown:
        say(f"{total.unknown} of {total.calls} calls did not say what they cost")


@Command.of(
    example="helix diff last --stat",
    arguments=(Argument("attempt", "its id, the beginning or the end of it, or last"),),
    flags=(Flag("--stat", "only how much, and where", "switch"),),
)
def diff(*, attempt: str, stat: bool) -> int:
    """Show what an attempt changed, from its base to its result."""
    from ddx.attempts import read_attempts
    from ddx.git import Repository

    project = find_project(os.getcwd())
    record = read_attempts(project).find(attempt)
    base, result = _ends(record)
    repository = Repository(project.root)
    for commit in (base, result):
        if not repository.holds(commit):
            raise NotFound(f"attempt {record.attempt}: git no longer has its commit {commit}")
    if stat:
        say(repository.diffstat(base, result))
        return 0
    patch = repository.patch_between(base, result)
    if terminal_width():
        say(patch.decode("utf-8", "replace").rstrip("\n"))
    else:
        write(patch)
    return 0


def _ends(record: AttemptRecord) -> tuple[str, str]:
    """Where the attempt began and what it made of that."""
    base = record.of_both("base")
    result = str(record.result.get("result") or record.made.get("commit") or "")
    if not base or not result:
        hint = f"its story: ddx agent log {record.attempt}"
        raise NotFound(f"attempt {record.attempt} has made nothing", hint=hint)
    return base, result


@Command.of(
    example="helix logs -f",
    flags=(
        Flag("--follow", "go on until the run is over", "switch", also="-f"),
        Flag("--path", "say only where it lies", "switch"),
    ),
)
def logs(*, follow: bool, path: bool) -> int:
    """Print the log of the run, or follow it to its end."""
    project = find_project(os.getcwd())
    log = _newest_log(project)
    if path:
        say(log)
        return 0
    with suppress(KeyboardInterrupt):
        _print_log(project, log, follow=follow)
    return 0


def _newest_log(project: Project) -> str:
    """The log of the run that is active or was last."""
    from helix.status import LOGS

    folder = os.path.join(project.root, LOGS)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".log")]
        return max((os.path.join(folder, name) for name in names), key=os.path.getmtime)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        problem = f"there is no log of a run in {project.root}"
        raise NotFound(problem, hint="begin one: helix run") from None


def _print_log(project: Project, log: str, *, follow: bool) -> None:
    """Its end, or with `follow` that and all that comes; safe on a terminal."""
    start = max(os.path.getsize(log) - _TAIL, 0)
    if start:
        start += _read(log, start).find(b"\n") + 1
        tell(f"the first {start:,} bytes are only in {log}")
    rest = b""
    for chunk in _growing(project, log, start, follow=follow):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line.decode("utf-8", "replace"))
    if rest:
        say(rest.decode("utf-8", "replace"))


def _growing(project: Project, log: str, start: int, *, follow: bool) -> Iterator[bytes]:
    """The file's content from a place on; with `follow` until the run is over."""
    place = start
    while True:
        over = not follow or not _is_running(project)
        while chunk := _read(log, place):
            place += len(chunk)
            yield chunk
        if over:
            return
        sys.stdout.flush()
        Clock().sleep(_PAUSE_S)


def _is_running(project: Project) -> bool:
    from helix.status import read_run

    found = read_run(project, now=Clock().stamp())
    return found is not None and found.state == "running"


def _read(path: str, place: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(place)
        return file.read(_CHUNK)
