"""A repository with the seed's documents in it, to give requests to."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.attempts import HELIX
from tests.support.documents import SEED
from tests.support.runs import RunScene
from tests.support.tracker import Done, make_repository

CHANGE = "change US-001 acceptance criteria"
_KEYS = ("\x03", "\x04")
_PATIENCE_S = 120.0
_PASSING = frozenset({"id", "created_at", "updated_at", "parent", "dependencies"})


class RequestScene(RunScene):
    """A repository with documents, and `helix input` to give requests to it."""

    def ask(self, *words: str, code: int | None = 0, **variables: str) -> Any:
        """`helix input WORDS --json`; what it says of the only request."""
        done = self.helix("input", *words, "--json", code=code, **variables).json
        assert len(done["requests"]) == 1
        return done["requests"][0]

    def talk(self, *words: str, typed: Sequence[str]) -> Done:
        """`helix input WORDS` on a terminal: each line is typed when it is asked for."""
        pid, screen = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execve(HELIX, [str(HELIX), "input", *words], self.variables())
        shown, answers = b"", list(typed)
        while _has_more(screen):
            try:
                piece = os.read(screen, 65536)
            except OSError:  # the other end is closed
                break
            shown += piece
            if not piece:
                break
            if answers and shown.rstrip().endswith((b"[Y/n]", b"[y/N]")):
                answer = answers.pop(0)
                os.write(screen, answer.encode() if answer in _KEYS else f"{answer}\n".encode())
        os.close(screen)
        _, status = os.waitpid(pid, 0)
        return Done(os.waitstatus_to_exitcode(status), shown.decode(errors="replace"), "")

    def put_all(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            self.put(path, text)

    def filed(self) -> list[dict[str, Any]]:
        """Everything but ids and times, links by titles: what two runs must agree on."""
        rows = self.rows()
        titles = {bead_id: row["title"] for bead_id, row in rows.items()}
        found = []
        for row in rows.values():
            plain = {name: said for name, said in row.items() if name not in _PASSING}
            edges = [titles[it["depends_on_id"]] for it in row.get("dependencies", ())]
            links = {"parent": titles.get(row.get("parent", ""), ""), "after": sorted(edges)}
            found.append({**plain, **links})
        return sorted(found, key=lambda row: str(row["title"]))


def _has_more(screen: int) -> bool:
    """Something to read, or its end; silence for too long is a failure of the test."""
    ready, _, _ = select.select([screen], [], [], _PATIENCE_S)
    assert ready, "nothing more came"
    return True


def make_request_scene(folder: Path, files: Mapping[str, str] = SEED) -> RequestScene:
    plain = make_repository(folder)
    shop = RequestScene(plain.root, home=plain.home)
    shop.put_all({"README.md": "a shop\n", **files})
    shop.commit("documents")
    return shop
