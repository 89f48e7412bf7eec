"""A document as a person follows it: its commands, typed one after the other, and what they print.

A ```console block holds lines as a terminal shows them: `$ ` begins a command, `> ` goes on with
it, other lines are what it prints. Output that is given must come, output that is left out may; a
line of three dots stands for any lines. `exit=5` beside `console` says how the last command of that
block ends; every other one must succeed. A ```sh block holds commands alone. Ids, hashes, times and
line numbers vary, but one id stands for one bead throughout.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(ROOT.glob("docs/tutorial/*.md"))
HOME_SHOWN, MACHINE_SHOWN = "/home/you", "tower"
GIT_SETTINGS = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
BEGIN = "git init shop"
"""A document whose first command this is makes its repository itself."""
ANY_LINES = "..."
MARK = "\x1e"

FENCE = re.compile(r"(`{3,})(.*)")
REAL_AGENT = re.compile(r"\b(?:claude|codex)\b")
EXIT = re.compile(r"exit=(\d+)")
VARIES = re.compile(
    r"(?P<id>\b[a-z]+-[0-9a-f]{8}\b)"
    r"|(?P<hash>\b(?:[0-9a-f]{40}|[0-9a-f]{16}|[0-9a-f]{12})\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{4}-\d\d-\d\d \d\d:\d\d\b)"
    r"|(?P<age>\b\d+ (?:s|min) ago\b)"
    r"|(?P<line>(?<=\.jsonl:)\d+|(?<=\bline )\d+)"
)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    info: str
    lines: list[tuple[int, str]]

    @property
    def asks_an_agent(self) -> bool:
        return any(REAL_AGENT.search(line) for _, line in self.lines)


@dataclass
class Step:
    """One command of a document and what the document says of it."""

    place: str
    command: str
    printed: list[str] = field(default_factory=list)
    code: int = 0

    def __str__(self) -> str:
        return f"{self.place}\n$ {self.command}\n"


@dataclass
class Names:
    """What the document calls the ids and hashes of this run: one name each, in both directions."""

    real: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def fit(self, shown: str, real: str) -> bool:
        """Are these two the same line, but for what varies?"""
        parts = list(VARIES.finditer(shown)), list(VARIES.finditer(real))
        if VARIES.sub("", shown) != VARIES.sub("", real) or len(parts[0]) != len(parts[1]):
            return False
        return all(
            said.lastgroup == found.lastgroup
            and (said.lastgroup not in ("id", "hash") or self._same(said[0], found[0]))
            for said, found in zip(*parts, strict=True)
        )

    def _same(self, shown: str, real: str) -> bool:
        return (
            self.real.setdefault(shown, real) == real
            and self.shown.setdefault(real, shown) == shown
        )


def follow(steps: list[Step], folder: Path, **variables: str) -> None:
    """Types every command of one document in one shell, and looks whether it was told the truth."""
    names = Names()
    for step, (code, printed) in zip(steps, type_all(steps, folder, variables), strict=True):
        told = "\n".join(printed)
        assert code == step.code, f"{step}: exit {code}, the document says {step.code}\n{told}"
        if step.printed:
            said = "\n".join(step.printed)
            assert matches(step.printed, printed, names), f"{step}\n{told}\n\nbut it says\n{said}"


# -- reading a document --------------------------------------------------------------------


def read_blocks(document: Path) -> Iterator[Block]:
    block: Block | None = None
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and block is None:
            block = Block(fence[2].strip(), [])
        elif fence and block is not None:
            yield block
            block = None
        elif block is not None:
            block.lines.append((number, line))
    assert block is None, f"{named(document)}: a code block is not closed"


def read_steps(document: Path, *, with_agents: bool = False) -> Iterator[Step]:
    """What a person would type; a guide's ```sh blocks are for circumstances of their own."""
    for block in read_blocks(document):
        match block.info.split()[:1]:
            case ["console"]:
                yield from _shown(block, document)
            case ["sh"] if document in TUTORIALS and (with_agents or not block.asks_an_agent):
                yield from (Step(_place(document, n), line) for n, line in block.lines)


def _shown(block: Block, document: Path) -> list[Step]:
    steps: list[Step] = []
    for number, line in block.lines:
        if line.startswith("$ "):
            steps.append(Step(_place(document, number), line[2:]))
        elif (line == ">" or line.startswith("> ")) and not steps[-1].printed:
            steps[-1].command += f"\n{line[2:]}"
        else:
            steps[-1].printed.append(line)
    if ending := EXIT.search(block.info):
        steps[-1].code = int(ending[1])
    return steps


def _place(document: Path, number: int) -> str:
    return f"{named(document)}:{number}"


# -- typing it -----------------------------------------------------------------------------


def type_all(
    steps: list[Step], folder: Path, variables: Mapping[str, str]
) -> list[tuple[int, list[str]]]:
    """How each command ended and what it printed, as the documents would show it."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(GIT_SETTINGS)
    prepare = "git init --quiet shop && cd shop && git commit --quiet --allow-empty -m start\n"
    if steps[0].command == BEGIN:
        prepare = ""
    script = "".join(f"{step.command}\nprintf '{MARK}%d{MARK}\\n' $?\n" for step in steps)
    done = subprocess.run(
        ["bash", "-c", prepare + script],
        cwd=home,
        env={
            "HOME": str(home),
            "LOGNAME": "ada",
            "LANG": "C.UTF-8",
            **variables,
            "PATH": f"{ROOT / 'bin'}:{variables.get('PATH', os.environ['PATH'])}",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    shown = done.stdout.replace(os.path.realpath(home), HOME_SHOWN)
    shown = shown.replace(f"({os.uname().nodename})", f"({MACHINE_SHOWN})")
    *parts, rest = re.split(f"{MARK}(\\d+){MARK}\n", shown)
    assert not rest.strip(), rest
    return [
        (int(code), out.splitlines()) for out, code in zip(parts[::2], parts[1::2], strict=True)
    ]


def matches(shown: list[str], real: list[str], names: Names) -> bool:
    """Line by line; three dots reach to the first line that fits what follows them."""
    if not shown:
        return not real
    if shown[0] == ANY_LINES:
        return any(matches(shown[1:], real[skipped:], names) for skipped in range(len(real) + 1))
    return bool(real) and names.fit(shown[0], real[0]) and matches(shown[1:], real[1:], names)
