"""What was run and how it ended: one folder a run, `.ddx/exec-runs/<run>/`, never committed.

`record.json` is written last and at once, so a run that was cut off has none and counts for
nothing. The folder is held by a kernel lock while its run lives: what is neither recorded nor held
belongs to a process that died, for certain, and is cleared away by the next run.
"""

from __future__ import annotations

import fcntl
import os
import shutil

from ddx.base import JsonFile, Lock, NotFound, replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ddx.base import Clock
    from ddx.project import Project

SUCCESS, FAILED, TIMED_OUT, ERRORED = "success", "failed", "timed_out", "errored"
LARGEST_LOG = 5_000_000
MOST_RUNS = 200
MOST_LOGS = 20
"""Of one definition: a trend needs many numbers, but nobody reads old logs (C-9)."""

STDOUT, STDERR = "stdout.log", "stderr.log"
_RECORD = "record.json"
_LOCK_WAIT_S = 10.0


@value
class RunRecord:
    """One run; `reason` says why it is no success."""

    run_id: str
    definition_id: str
    artifact_ids: tuple[str, ...]
    started_at: str
    finished_at: str
    status: str
    exit_code: int | None
    """None: it did not end by itself, or never began."""
    metrics: Mapping[str, float]
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.status == SUCCESS


@value
class RunHistory:
    """The runs that are known, oldest first."""

    records: tuple[RunRecord, ...]
    unreadable: tuple[str, ...] = ()
    """Records that something else than us has damaged."""

    def of(self, definition_id: str) -> tuple[RunRecord, ...]:
        return tuple(item for item in self.records if item.definition_id == definition_id)

    def last(self, definition_id: str) -> RunRecord | None:
        return next(iter(reversed(self.of(definition_id))), None)

    def measured(self, name: str) -> tuple[tuple[RunRecord, float], ...]:
        """Every good value of a metric."""
        return tuple(
            (item, item.metrics[name]) for item in self.records if item.ok and name in item.metrics
        )

    def find(self, run_id: str) -> RunRecord | None:
        return next((item for item in self.records if item.run_id == run_id), None)

    def require(self, run_id: str) -> RunRecord:
        found = self.find(run_id)
        if found is None:
            raise NotFound(f"there is no run {run_id!r}", hint="ddx exec history")
        return found


def folder_of(project: Project, *names: str) -> str:
    return project.ddx("exec-runs", *names)


def read_history(project: Project) -> RunHistory:
    records, unreadable = [], []
    for run_id in _run_ids(project):
        path = folder_of(project, run_id, _RECORD)
        try:
            records.append(_record(run_id, JsonFile(path).read()))
        except FileNotFoundError:
            continue  # it still runs, or it was cut off
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            unreadable.append(path)
    records.sort(key=lambda item: (item.started_at, item.run_id))
    return RunHistory(tuple(records), tuple(unreadable))


def read_log(project: Project, run_id: str, name: str) -> str:
    """What a run printed; empty once its logs are cleared away."""
    try:
        with open(folder_of(project, run_id, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class TruncatedLog:
    """A stream in a file: its beginning and its end; what was left out between them is named."""

    def __init__(self, path: str, *, largest: int = LARGEST_LOG) -> None:
        self._file = open(path, "xb", buffering=0)
        self._half = largest // 2
        self._room = self._half
        self._end = bytearray()
        self._left_out = 0

    def write(self, chunk: bytes) -> None:
        head = chunk[: self._room]
        self._room -= len(head)
        self._file.write(head)
        self._end += chunk[len(head) :]
        if len(self._end) > 2 * self._half:
            self._shorten()

    def close(self) -> None:
        self._shorten()
        if self._left_out:
            self._file.write(b"\n[... %d bytes left out ...]\n" % self._left_out)
        self._file.write(self._end)
        self._file.close()

    def _shorten(self) -> None:
        surplus = max(len(self._end) - self._half, 0)
        del self._end[:surplus]
        self._left_out += surplus


class OpenRun:
    """A run's folder and logs: `finish` makes it count, any other ending removes it."""

    def __init__(self, project: Project, *, clock: Clock) -> None:
        self._project = project
        self._clock = clock
        self._fd = -1
        self.run_id = f"run-{os.urandom(4).hex()}"
        self.folder = folder_of(project, self.run_id)

    def __enter__(self) -> OpenRun:
        lock = self._project.ddx("state", "exec-runs.lock")
        with Lock(lock, wait_s=_LOCK_WAIT_S, clock=self._clock, command="ddx exec run"):
            _make_home(self._project)
            _clear_away(self._project)
            os.mkdir(self.folder)
            self._fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        self.stdout = TruncatedLog(os.path.join(self.folder, STDOUT))
        self.stderr = TruncatedLog(os.path.join(self.folder, STDERR))
        return self

    def __exit__(self, *ended: object) -> None:
        if not os.path.exists(os.path.join(self.folder, _RECORD)):
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._fd)

    def finish(self, record: RunRecord) -> RunRecord:
        path = os.path.join(self.folder, _RECORD)
        JsonFile(path).write(as_row(record))
        return record


def record_run(
    project: Project,
    definition_id: str,
    *,
    artifact_ids: Iterable[str],
    started_at: str,
    is_success: bool,
    reason: str,
    output: bytes,
    clock: Clock,
) -> RunRecord:
    """Keep what came of something that was not run as a command of ours."""
    with OpenRun(project, clock=clock) as run:
        run.stdout.write(output)
        run.stdout.close()
        run.stderr.close()
        return run.finish(
            RunRecord(
                run_id=run.run_id,
                definition_id=definition_id,
                artifact_ids=tuple(artifact_ids),
                started_at=started_at,
                finished_at=clock.stamp(),
                status=SUCCESS if is_success else FAILED,
                exit_code=None,
                metrics={},
                reason=reason,
            )
        )


def as_row(record: RunRecord) -> dict[str, Any]:
    """A record as JSON has it."""
    return {
        **record.__dict__,
        "artifact_ids": list(record.artifact_ids),
        "metrics": dict(record.metrics),
    }


def _record(run_id: str, row: Any) -> RunRecord:
    code = row["exit_code"]
    return RunRecord(
        run_id=run_id,
        definition_id=str(row["definition_id"]),
        artifact_ids=tuple(str(item) for item in row["artifact_ids"]),
        started_at=str(row["started_at"]),
        finished_at=str(row["finished_at"]),
        status=str(row["status"]),
        exit_code=None if code is None else int(code),
        metrics={str(name): float(found) for name, found in row["metrics"].items()},
        reason=str(row.get("reason", "")),
    )


def _make_home(project: Project) -> None:
    """Git ignores it wherever `ddx bead init` was never run, too."""
    ignore = folder_of(project, ".gitignore")
    if not os.path.exists(ignore):
        replace(ignore, (b"*\n",), durable=False)


def _run_ids(project: Project) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder_of(project)) if name.startswith("run-"))
    except FileNotFoundError:
        return []


def _clear_away(project: Project) -> None:
    """Old runs, old logs, and what dead runs left; only while the lock is held."""
    known = read_history(project)
    recorded = {item.run_id for item in known.records}
    for run_id in _run_ids(project):
        folder = folder_of(project, run_id)
        if run_id not in recorded and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    by_definition: dict[str, list[str]] = {}
    for item in reversed(known.records):
        by_definition.setdefault(item.definition_id, []).append(item.run_id)
    for run_ids in by_definition.values():
        for run_id in run_ids[MOST_RUNS - 1 :]:  # one more is about to begin
            shutil.rmtree(folder_of(project, run_id), ignore_errors=True)
        _remove_logs(project, run_ids[MOST_LOGS - 1 : MOST_RUNS - 1])


def _is_abandoned(folder: str) -> bool:
    """No record, and no process that holds it."""
    if os.path.exists(os.path.join(folder, _RECORD)):
        return False  # damaged: for a person to look at
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def _remove_logs(project: Project, run_ids: Iterable[str]) -> None:
    for run_id in run_ids:
        for name in (STDOUT, STDERR):
            try:
                os.unlink(folder_of(project, run_id, name))
            except FileNotFoundError:
                continue
