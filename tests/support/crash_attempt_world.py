"""What is to be seen of a repository after an accident: in the tracker, in git, on the disk."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.support.attempts import Workshop

BRANCH = "main"
PRODUCT = "hello.txt"
_HIS = ("README.md", "notes.txt", "staged.txt")


@dataclass(frozen=True)
class Accident:
    """What was there when the controller had died, and when the next start had come to its end."""

    step: int
    how: str
    call: str
    made: dict[str, list[str]]
    """By attempt: the new files in its workspace when it died."""
    was_half_closed: bool
    """The event was beside the tracker already, and the row was not yet closed (T-6)."""
    code: int
    said: str
    statuses: dict[str, str]
    closings: dict[str, list[str]]
    claimed: list[str]
    landed: dict[str, list[str]]
    """By bead: the attempts whose commits the branch holds."""
    kept: dict[str, list[str]]
    """By attempt: the files of what is kept of it at a ref."""
    floors: list[float]
    """The numbers that the metrics must hold from now on."""
    harmed: list[str]
    """What was the operator's and is not as he left it."""
    broken: str
    """What git says about its own repository."""
    leftovers: list[str]
    restless: list[str]
    """What yet another start changed."""
    unreadable: str
    """Why the story cannot be shown to a person."""

    def __str__(self) -> str:
        return f"{self.how} step {self.step}, {self.call}\n{self.said}"


class World:
    """One repository, looked at from outside."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._root = workshop.root
        self._records = workshop.folder / "executions"
        self._state = workshop.folder / "state"
        self._belongings: dict[str, str] = {}

    # -- what the accident left --------------------------------------------------------------

    def made(self) -> dict[str, list[str]]:
        """By attempt: the files in its workspace that have not landed."""
        landed = self._files_of(BRANCH)
        found = {}
        for workspace in self._workshop.cache.glob("helix/workspaces/*/*"):
            if "." in workspace.name:  # a checkout for checks, or evidence: copies of what is known
                continue
            names = {str(path.relative_to(workspace)) for path in workspace.rglob("*.txt")}
            if new := sorted(names.difference(landed)):
                found[self._whose(workspace.name)] = new
        return found

    def is_half_closed(self) -> bool:
        rows = self._workshop.rows()
        return any(self.closings(name) for name in rows if rows[name]["status"] != "closed")

    # -- what became of it -------------------------------------------------------------------

    def closings(self, bead_id: str) -> list[str]:
        file = self._workshop.folder / "attachments" / bead_id / "events.jsonl"
        events = [json.loads(line) for line in _lines(file)]
        return [f"{it['summary']}\n{it['body']}" for it in events if it["kind"] == "closed"]

    def landed(self) -> dict[str, list[str]]:
        """Merges name the bead as well; each stands for a commit that is counted."""
        form = "%(trailers:key=Helix-Bead)%(trailers:key=Helix-Attempt,valueonly)%x00"
        log = self._workshop.git("log", "--no-merges", f"--format={form}", BRANCH).out
        commits = [entry.split("\n") for entry in log.split("\0")]
        return {
            bead_id: [lines[-2] for lines in commits if f"Helix-Bead: {bead_id}" in lines]
            for bead_id in self._workshop.rows()
        }

    def kept(self) -> dict[str, list[str]]:
        refs = [ref for ref in self._workshop.refs() if ref.startswith("refs/helix/attempts/")]
        return {ref.rpartition("/")[2]: self._files_of(ref) for ref in refs}

    def floors(self) -> list[float]:
        lines = _lines(self._workshop.folder / "floors.jsonl")
        return [json.loads(line)["number"] for line in lines]

    def broken(self) -> str:
        done = self._workshop.git("fsck", "--connectivity-only", code=None)
        return "" if done.code == 0 else f"{done.out}{done.err}"

    def leftovers(self) -> list[str]:
        """But not the folder of a record that never got its name: it holds nothing, for an hour."""
        workshop = self._workshop
        waiting = (self._state / "landing.json", *self._state.glob("pending/*.json"))
        return [
            *(f"workspace {name}" for name in workshop.workspaces()),
            *(ref for ref in workshop.refs() if ref.startswith("refs/helix/bases/")),
            *(f"unfinished {name}" for name in workshop.unfinished() if name[0] != "."),
            *(f"process {pid}" for pid in workshop.marked()),
            *(path.name for path in (self._root / ".git").rglob("*.lock")),
            *(path.name for path in waiting if path.exists()),
        ]

    def everything(self) -> dict[str, str]:
        """What another start must leave as it is."""
        workshop = self._workshop
        return {
            "tracker": workshop.file.read_text(),
            "refs and head": workshop.git("show-ref", "--head").out,
            "git status": "\n".join(workshop.dirty()),
            "records": "\n".join(sorted(map(str, self._records.rglob("*")))),
            "state": "\n".join(sorted(map(str, self._state.rglob("*")))),
            "workspaces": "\n".join(workshop.workspaces()),
        }

    # -- what is the operator's --------------------------------------------------------------

    def remember_belongings(self) -> None:
        self._belongings = self._look_at_belongings()

    def harmed(self) -> list[str]:
        now = self._look_at_belongings()
        return [
            f"{name}: {now[name]!r} instead of {was!r}"
            for name, was in self._belongings.items()
            if now[name] != was
        ]

    def _look_at_belongings(self) -> dict[str, str]:
        """Files, index, branches and stash; the draft in our way has a word of its own."""
        workshop = self._workshop
        ours = (".ddx/", f"?? {PRODUCT}")
        status = [line for line in workshop.dirty() if not any(it in line for it in ours)]
        refs = workshop.git("for-each-ref", "--format=%(refname) %(objectname)").out.splitlines()
        moving = ("refs/helix/", f"refs/heads/{BRANCH} ")
        return {
            "git status": "\n".join(status),
            "refs": "\n".join(line for line in refs if not line.startswith(moving)),
            "index": workshop.git("ls-files", "--stage", *_HIS).out,
            **{name: (self._root / name).read_text() for name in _HIS},
        }

    def _whose(self, attempt: str) -> str:
        """The attempt whose work it is: to land what is kept of one takes another."""
        intent = json.loads((self._records / attempt / "intent.json").read_text())
        return str(intent.get("lands", attempt))

    def _files_of(self, revision: str) -> list[str]:
        return self._workshop.git("ls-tree", "-r", "--name-only", revision).out.split()


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []
