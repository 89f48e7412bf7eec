"""A repository with documents, and an agent that does what a few lines of shell say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.attempts import Workshop
from tests.support.documents import AT
from tests.support.tracker import Row, make_repository

PRD = """\
---
ddx:
  id: prd
---
# Shop

## Requirements

R-1 A visitor sees prices.
"""
FEATURE = """\
---
ddx:
  id: FEAT-001
  depends_on: [prd]
---
# Prices
"""
CONFIG = """\
harnesses:
  stub:
    kind: command
    argv: [sh, {}]
"""


class DocumentScene(Workshop):
    """A workshop whose only harness is a shell script outside of it."""

    @property
    def script(self) -> Path:
        return self.home / "agent.sh"

    def answers(self, *lines: str) -> None:
        """What the agent does from now on; it leaves its action in a file beside its script."""
        log = self.home / "called"
        self.script.write_text("\n".join((f'echo "$HELIX_ACTION" >> {log}', *lines)) + "\n")

    @property
    def calls(self) -> list[str]:
        log = self.home / "called"
        return log.read_text().split() if log.exists() else []

    def passed(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.helix(*words, "--json", code=code).json
        return found

    def supervisory(self, action: str) -> list[Row]:
        label = f"action:{action}"
        return [row for row in self.rows().values() if label in row.get("labels", ())]

    def documents(self) -> list[str]:
        """Every file of the branch below the documents' folder."""
        return self.git("ls-tree", "-r", "--name-only", "HEAD", "docs").out.split()


def make_document_scene(folder: Path, *, below: str = "") -> DocumentScene:
    """`below` puts the project into a folder of its repository."""
    plain = make_repository(folder)
    office = DocumentScene(plain.root / below, home=plain.home)
    if below:
        office.root.mkdir()
        plain.git("mv", ".ddx", below)
    office.put("docs/helix/01-frame/prd.md", PRD)
    office.put("docs/helix/01-frame/features/FEAT-001-prices.md", FEATURE)
    office.put("app.py", f"# {AT}spec-ref FEAT-001\n")
    office.put(".ddx/config.yaml", CONFIG.format(office.script))
    office.commit("documents")
    return office


def writes(path: str, text: str = "# Report") -> str:
    """A line of shell that makes a file with its folder."""
    return f"mkdir -p $(dirname {path}) && printf '%s\\n' '{text}' > {path}"


def says(*lines: str) -> str:
    return "\n".join(f"printf '%s\\n' '{line}'" for line in lines)


def follow_up(title: str, **fields: Any) -> str:
    return "FOLLOW_UP: " + json.dumps({"title": title, **fields})
