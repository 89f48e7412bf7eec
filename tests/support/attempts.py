"""A trusted repository with beads in it, and `ddx agent` to work on them by a script."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.support.background import begin
from tests.support.tracker import DDX, ROOT, Done, Repository, bead, make_repository

HELIX = ROOT / "bin/helix"
GREET = "write hello.txt hello\nsay done\nusage 100 20 0.01\n"
MARK = b"DDX_ATTEMPT_ID="


class Workshop(Repository):
    """A repository whose operator trusts it; workspaces lie below its own cache folder."""

    def __init__(self, root: Path, *, home: Path) -> None:
        super().__init__(root, home=home)
        self.cache = home / ".cache"

    def variables(self, **changes: str) -> dict[str, str]:
        return super().variables(
            **{
                "HELIX_TRUST": "1",
                "XDG_CACHE_HOME": str(self.cache),
                "XDG_STATE_HOME": str(self.home / ".state"),
                "XDG_CONFIG_HOME": str(self.home / ".config"),
                **changes,
            }
        )

    def agent(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        """`ddx agent WORDS`, which must end with `code`, whatever it is if None."""
        return self.run(str(DDX), "agent", *words, code=code, **variables)

    def helix(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        """`helix WORDS`, which must end with `code`, whatever it is if None."""
        return self.run(str(HELIX), *words, code=code, **variables)

    def loop(self, *words: str, code: int | None = 0, **variables: str) -> Done:
        """`ddx agent execute-loop --harness script WORDS --json`."""
        line = ("execute-loop", "--harness", "script", *words, "--json")
        return self.agent(*line, code=code, **variables)

    def once(self, *words: str, code: int | None = 0, **variables: str) -> dict[str, Any]:
        """The outcome of one attempt."""
        outcomes = self.loop("--once", *words, code=code, **variables).json["outcomes"]
        assert len(outcomes) == 1, outcomes
        found: dict[str, Any] = outcomes[0]
        return found

    def begin(self, *words: str, **variables: str) -> Popen[bytes]:
        """`ddx agent WORDS` without waiting for its end."""
        return begin([str(DDX), "agent", *words], cwd=self.root, env=self.variables(**variables))

    def file_beads(self, *rows: dict[str, Any]) -> None:
        self.write(rows)
        self.commit("beads")

    def tip(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", name).id

    def refs(self) -> list[str]:
        """Our own refs."""
        return self.git("for-each-ref", "--format=%(refname)", "refs/helix").out.split()

    def dirty(self) -> list[str]:
        """What `git status` shows."""
        return self.git("status", "--porcelain").out.splitlines()

    def workspaces(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.cache)) for path in self.cache.glob("helix/workspaces/*/*")
        )

    def attempts(self) -> list[str]:
        """In the order in which they began."""
        records = (self.folder / "executions").glob("2*")
        begun = {path.name: (path / "intent.json").stat().st_mtime_ns for path in records}
        return sorted(begun, key=lambda name: (name[:15], begun[name]))

    def unfinished(self) -> list[str]:
        """Records that still have something to do."""
        return sorted(path.parent.name for path in (self.folder / "executions").glob("*/lock"))

    def leftover(self) -> dict[str, Any]:
        """Everything that an attempt may not leave behind."""
        return {
            "workspaces": self.workspaces(),
            "bases": [ref for ref in self.refs() if ref.startswith("refs/helix/bases/")],
            "unfinished": self.unfinished(),
            "processes": self.marked(),
        }

    def marked(self) -> list[int]:
        """Live processes of attempts on this repository."""
        return [pid for pid, _ in marked_processes() if _belongs(pid, str(self.root))]


CLEAN: dict[str, Any] = {"workspaces": [], "bases": [], "unfinished": [], "processes": []}


def make_workshop(folder: Path, *rows: dict[str, Any]) -> Workshop:
    """One whose single bead is proven by `test -f hello.txt`, unless other rows are given."""
    plain = make_repository(folder)
    workshop = Workshop(plain.root, home=plain.home)
    (workshop.root / "README.md").write_text("an app\n")
    workshop.file_beads(*(rows or (greeting(),)))
    return workshop


def greeting(bead_id: str = "app-1", **fields: Any) -> dict[str, Any]:
    """A bead that the script in it can do."""
    return bead(
        bead_id, **{"acceptance": "- `test -f hello.txt` passes", "script": GREET, **fields}
    )


def writes(bead_id: str, path: str, **fields: Any) -> dict[str, Any]:
    """A bead that is done by writing one file."""
    return bead(
        bead_id,
        **{
            "acceptance": f"- `test -f {path}` passes",
            "script": f"write {path} by {bead_id}\n",
            **fields,
        },
    )


def marked_processes() -> list[tuple[int, str]]:
    """Live processes that carry an attempt's mark: pid and attempt; zombies are dead (X-6)."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            environ = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            stat = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        attempts = [item[len(MARK) :] for item in environ if item.startswith(MARK)]
        if attempts and stat[0] != b"Z":
            found.append((int(name), attempts[0].decode()))
    return found


def _belongs(pid: int, root: str) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"DDX_PROJECT_ROOT={root}".encode() in environ
