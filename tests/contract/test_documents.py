"""What the documents say is true: their commands run as they stand, and their links lead somewhere.

A ```console block holds lines as a terminal shows them: `$ ` begins a command, `> ` goes on with
it, other lines are what it prints. Output that is given must come, output that is left out may; a
line of three dots stands for any lines. All blocks of a document run in one shell, in a fresh
repository ~/shop. Every command must succeed; `exit=5` beside `console` says how the last command
of that block ends instead. Ids, hashes, times and line numbers vary, but one id stands for one bead
throughout.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXECUTED = (
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/tutorial/*.md")),
    *sorted(ROOT.glob("docs/how-to/*.md")),
)
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)

HOME_SHOWN, MACHINE_SHOWN = "/home/you", "tower"
GIT_SETTINGS = "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
ANY_LINES = "..."
MARK = "\x1e"
TIME_LIMIT_S = 60

FENCE = re.compile(r"(`{3,})(.*)")
EXIT = re.compile(r"exit=(\d+)")
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:src|tests|scripts|docs|bin|\.ci)/[\w./-]*)`")
CODE = re.compile(r"`[^`\n]*`")
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


@dataclass
class Step:
    """One command of a document and what the document says of it."""

    line: int
    command: str
    printed: list[str] = field(default_factory=list)
    code: int = 0


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


@pytest.mark.parametrize("document", EXECUTED, ids=named)
def test_every_command_of_a_document_does_what_the_document_says(document, tmp_path):
    steps = list(read_steps(document))
    assert steps, "no console block"
    names = Names()
    for step, (code, printed) in zip(steps, run(steps, tmp_path), strict=True):
        place = f"{named(document)}:{step.line}\n$ {step.command}\n"
        told = "\n".join(printed)
        assert code == step.code, f"{place}exit {code}, the document says {step.code}\n{told}"
        if step.printed:
            said = "\n".join(step.printed)
            assert matches(step.printed, printed, names), f"{place}{told}\n\nbut it says\n{said}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_inside_the_repository_leads_to_a_file_and_a_heading(document):
    for target in links(document):
        path, _, heading = target.partition("#")
        place = document.parent / path if path else document
        assert place.exists(), f"{named(document)}: {target} does not exist"
        if heading:
            assert heading in set(headings(place)), f"{named(document)}: no heading {target}"


@pytest.mark.parametrize("document", ["AGENTS.md", "CONTRIBUTING.md"])
def test_every_path_that_a_contributor_is_sent_to_exists(document):
    for path in PATH.findall((ROOT / document).read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{document}: {path} does not exist"


def test_the_map_of_the_documents_names_every_one():
    mapped = {
        (ROOT / "docs" / target).resolve()
        for document in ("README.md", "adr/README.md", "spec/README.md")
        for target in [
            str(Path(document).parent / link) for link in links(ROOT / "docs" / document)
        ]
    }
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md")}
    graph = {path.resolve() for path in (ROOT / "docs/helix").rglob("*.md")}  # its own map (P-9)
    assert not pages - graph - mapped - {(ROOT / "docs/README.md").resolve()}


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


def read_steps(document: Path) -> Iterator[Step]:
    for block in read_blocks(document):
        if block.info.split()[:1] != ["console"]:
            continue
        steps: list[Step] = []
        for number, line in block.lines:
            if line.startswith("$ "):
                steps.append(Step(number, line[2:]))
            elif (line == ">" or line.startswith("> ")) and not steps[-1].printed:
                steps[-1].command += f"\n{line[2:]}"
            else:
                steps[-1].printed.append(line)
        if ending := EXIT.search(block.info):
            steps[-1].code = int(ending[1])
        yield from steps


def prose(document: Path) -> str:
    """The text without its code."""
    lines = document.read_text(encoding="utf-8").splitlines()
    for block in read_blocks(document):
        for number, _ in block.lines:
            lines[number - 1] = ""
    return CODE.sub("", "\n".join(lines))


def links(document: Path) -> list[str]:
    return [link for link in LINK.findall(prose(document)) if ":" not in link]


def headings(document: Path) -> Iterator[str]:
    """As a page names them: lower case, words joined by `-`."""
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            yield words.replace(" ", "-")


# -- running it ----------------------------------------------------------------------------


def run(steps: list[Step], folder: Path) -> list[tuple[int, list[str]]]:
    """How each command ended and what it printed, as the documents would show it."""
    home, shop = folder / "home", folder / "home/shop"
    shop.mkdir(parents=True)
    (home / ".gitconfig").write_text(GIT_SETTINGS)
    prepare = "git init --quiet && git commit --quiet --allow-empty -m start\n"
    script = "".join(f"{step.command}\nprintf '{MARK}%d{MARK}\\n' $?\n" for step in steps)
    done = subprocess.run(
        ["bash", "-c", prepare + script],
        cwd=shop,
        env={
            "PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home),
            "LOGNAME": "ada",
            "LANG": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIME_LIMIT_S,
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
