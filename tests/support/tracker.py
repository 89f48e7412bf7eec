"""A repository with a tracker in it, and the real `ddx` and the real git to work on it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any, TypeAlias

from benchmarks.generate import encode, rows

Row: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
DDX = ROOT / "bin/ddx"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
REPLACED = "was replaced by another program"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Threads that wait for the next small product burn the core that another test needs."""
LONG_AGO_NS = 1_700_000_000_000_000_000

_GIT_SETTINGS = """\
[user]
    name = Mara
    email = mara@example.org
[init]
    defaultBranch = main
[core]
    autocrlf = false
[protocol "file"]
    allow = always
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def id(self) -> str:
        return self.out.strip()


class Repository:
    """One folder, and commands in it; `home` is where they find git's settings and nothing else."""

    def __init__(self, root: Path, *, home: Path) -> None:
        self.root = root
        self.home = home
        self.folder = root / ".ddx"
        self.file = self.folder / "beads.jsonl"
        self.archive = self.folder / "beads-archive.jsonl"

    # -- commands --------------------------------------------------------------------------

    def ddx(
        self,
        *words: str,
        code: int | None = 0,
        cwd: Path | None = None,
        stdin: str = "",
        **variables: str,
    ) -> Done:
        """`ddx bead WORDS`, which must end with `code`, whatever it is if None."""
        argv = (str(DDX), "bead", *words)
        return self.run(*argv, code=code, cwd=cwd, stdin=stdin, **variables)

    def git(
        self, *words: str, code: int | None = 0, cwd: Path | None = None, **variables: str
    ) -> Done:
        return self.run("git", *words, code=code, cwd=cwd, **variables)

    def run(
        self,
        *argv: str,
        code: int | None = 0,
        cwd: Path | None = None,
        stdin: str = "",
        **variables: str,
    ) -> Done:
        ended = subprocess.run(
            argv,
            cwd=cwd or self.root,
            env=self.variables(**variables),
            input=stdin.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=120,
            check=False,
        )
        done = Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
        assert code is None or done.code == code, f"{argv}: {done}"
        return done

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """`ddx bead WORDS` without waiting for its end."""
        return subprocess.Popen(
            [str(DDX), "bead", *words],
            cwd=self.root,
            env=self.variables(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def variables(self, **changes: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": SYSTEM_PATH,
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "DDX_AGENT_NAME": "mara",
            **ONE_THREAD,
            **changes,
        }

    def commit(self, message: str = "tracker") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").id

    def checked_out(self, root: Path) -> Repository:
        """Another folder, with the same home."""
        return Repository(root, home=self.home)

    # -- files -----------------------------------------------------------------------------

    def rows(self, file: Path | None = None) -> dict[str, Row]:
        """Every row by its id, read by another parser than ours."""
        return rows_in((file or self.file).read_bytes())

    def lines(self) -> dict[str, bytes]:
        return {json.loads(line)["id"]: line for line in self.file.read_bytes().splitlines()}

    def write(self, content: bytes | Iterable[Row], file: Path | None = None) -> bytes:
        """Put this into the tracker, as if it had stood there for a long time."""
        if not isinstance(content, bytes):
            content = b"".join(encode(row) for row in sorted(content, key=lambda row: row["id"]))
        file = file or self.file
        file.write_bytes(content)
        os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))
        return content

    def put(self, path: str, text: str) -> None:
        """Write a file below the root, with its folder."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def kept_files(self) -> list[Path]:
        """What T-14a keeps besides the live file."""
        state, backups = self.folder / "state", self.folder / "backups"
        linked = [state / "beads.last", state / "beads.prev"]
        return [file for file in (*linked, *backups.glob("beads-*")) if file.exists()]

    def kept_ids(self) -> set[str]:
        """The ids in the live file and in all that is kept."""
        return {bead for file in (self.file, *self.kept_files()) for bead in self.rows(file)}

    def leftovers(self) -> list[str]:
        """Temporary files that a dead writer left."""
        return sorted(path.name for path in self.folder.rglob("*.tmp-*"))

    def worth_tracking(self) -> dict[str, tuple[bytes, int]]:
        """Content and time of change of everything that git does not ignore."""
        listed = self.git("ls-files", "--cached", "--others", "--exclude-standard", "-z").out
        files = [self.root / name for name in listed.split("\0") if name]
        return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def make_repository(folder: Path, *, beads: int = 0, name: str = "app") -> Repository:
    """A git repository with `beads` generated rows in its tracker, all of it committed."""
    template = folder.parent / "template"  # made once and copied often
    if not template.exists():
        _make_template(template)
    copytree(template / "home", folder / "home", dirs_exist_ok=True)
    copytree(template / "repository", folder / name)
    repository = Repository(folder / name, home=folder / "home")
    if beads:
        repository.write(rows(beads, prefix=name))
        repository.commit()
    return repository


def _make_template(folder: Path) -> None:
    """A repository right after `ddx bead init` and a commit."""
    made = Path(mkdtemp(dir=folder.parent))
    repository = Repository(made / "repository", home=made / "home")
    repository.root.mkdir()
    repository.home.mkdir()
    (repository.home / ".gitconfig").write_text(_GIT_SETTINGS)
    repository.git("init", "--quiet", "--template=")
    repository.ddx("init")
    repository.commit("begin")
    made.rename(folder)


def bead(bead_id: str, **fields: Any) -> Row:
    """A row in the form of T-1, ready for execution unless `fields` say otherwise."""
    made: Row = {
        "id": bead_id,
        "title": f"Do {bead_id}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "acceptance": "- `true` passes",
        "created_at": "2025-11-01T10:00:00Z",
        "updated_at": "2025-11-01T10:00:00Z",
        "x-unknown": {"z": [1.50, None], "a": "kept"},
        **fields,
    }
    return dict(sorted(made.items()))


def edge(bead_id: str, wanted: str) -> Row:
    return {"issue_id": bead_id, "depends_on_id": wanted, "type": "blocks"}


def rows_in(content: bytes) -> dict[str, Row]:
    found = [json.loads(line) for line in content.splitlines()]
    by_id = {row["id"]: row for row in found}
    assert len(by_id) == len(found), "an id stands twice"
    return by_id


class LiveWriter(threading.Thread):
    """Creates beads, one process after another, until it is left or has made enough.

    `acknowledged` are the beads whose command ended with 0: those must never be lost.
    """

    def __init__(self, repository: Repository, *, most: int = 200) -> None:
        super().__init__()
        self._repository = repository
        self._most = most
        self._enough = threading.Event()
        self.acknowledged: list[str] = []
        self.failed: list[Done] = []
        self.notices = 0

    def run(self) -> None:
        for number in range(self._most):
            if self._enough.is_set():
                return
            done = self._repository.ddx("create", f"Bead {number}", code=None)
            self.notices += done.err.count(REPLACED)
            if done.code == 0:
                self.acknowledged.append(done.id)
            else:
                self.failed.append(done)

    def __enter__(self) -> LiveWriter:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self.join()

    def await_more(self, count: int = 2) -> None:
        """Return once the writer has got `count` beads further."""
        goal = len(self.acknowledged) + count
        wait_for(lambda: len(self.acknowledged) >= goal or not self.is_alive())


def wait_until_it_waits(pid: int, *, naps: int = 20) -> None:
    """Until a process has gone to sleep so often that it can only be waiting for something."""

    def has_napped() -> bool:
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) > naps

    wait_for(has_napped)


def wait_for(seen: Callable[[], bool], *, limit_s: float = 120.0) -> None:
    """Until `seen()` holds; what takes longer than the limit has failed, on any machine."""
    deadline = time.monotonic() + limit_s
    while not seen():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
