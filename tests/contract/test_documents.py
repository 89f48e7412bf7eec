"""What the documents say is true: their commands run as they stand, and their links lead somewhere.

How a document is read and followed: tests/support/following.py. Commands that ask a real agent are
typed in tests/e2e/test_tutorial.py.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.architecture import DDX_ROOMS, HELIX_ROOMS
from tests.support.contract import ALL_COMMANDS, command_of
from tests.support.following import ROOT, TUTORIALS, follow, named, read_blocks, read_steps

from ddx.console.command import parse

README = ROOT / "README.md"
GUIDES = sorted(ROOT.glob("docs/how-to/*.md"))
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
ABOUT_THE_CODE = [
    *(ROOT / name for name in ("AGENTS.md", "CONTRIBUTING.md", "docs/glossary.md")),
    *(path for room in ("spec", "explanation") for path in ROOT.glob(f"docs/{room}/*.md")),
]

LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:src|tests|scripts|docs|bin|\.ci)/[\w./-]*)`")
CODE = re.compile(r"`[^`\n]*`")


@pytest.mark.parametrize("document", [README, *TUTORIALS, *GUIDES], ids=named)
def test_every_command_of_a_document_does_what_the_document_says(document, tmp_path):
    steps = list(read_steps(document))
    assert steps, "no command"
    follow(steps, tmp_path)


def test_the_two_commands_of_a_clone_are_all_that_is_needed(tmp_path):  # P-1
    (block,) = (block for block in read_blocks(README) if block.info == "sh")
    demo, test = (line.partition("#")[0].strip() for _, line in block.lines)
    assert (demo, test) == ("bin/helix demo", "scripts/test")
    assert test in (ROOT / ".ci/run").read_text().splitlines()  # it runs this very test
    done = subprocess.run(
        ["sh", "-c", demo],
        cwd=ROOT,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done
    assert "That was the whole loop" in done.stdout


def test_every_command_that_is_only_shown_is_one_that_could_be_typed():
    shown = [
        (f"{named(document)}:{number}", shlex.split(line, comments=True))
        for document in DOCUMENTS
        for block in read_blocks(document)
        for number, line in block.lines
        if block.info == "sh" and line.startswith(("helix ", "ddx ", "bin/helix ", "bin/ddx "))
    ]
    assert len(shown) > 100
    for place, (program, *words) in shown:
        if words[-1] != "--help":
            line = [program.removeprefix("bin/"), *words]
            path = command_of(line)
            assert parse(ALL_COMMANDS[path], line[len(path.split()) :]) is not None, (place, line)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_inside_the_repository_leads_to_a_file_and_a_heading(document):
    for target in links(document):
        path, _, heading = target.partition("#")
        place = document.parent / path if path else document
        assert place.exists(), f"{named(document)}: {target} does not exist"
        if heading:
            assert heading in set(headings(place)), f"{named(document)}: no heading {target}"


@pytest.mark.parametrize("document", ABOUT_THE_CODE, ids=named)
def test_every_path_that_a_contributor_is_sent_to_exists(document):
    for path in PATH.findall(document.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{named(document)}: {path} does not exist"


def test_a_contributor_sees_the_rooms_in_the_order_that_a_test_holds():
    (block,) = (it for it in read_blocks(ROOT / "CONTRIBUTING.md") if it.lines[0][1][:3] == "ddx")
    shown = re.findall(r"^(?:  )?(\w+) ", "\n".join(line for _, line in block.lines), re.M)
    ours = (*("ddx", *DDX_ROOMS), *("helix", *HELIX_ROOMS))
    assert shown == [room for room in ours if room not in {"testing", "__main__"}]


def test_the_map_of_the_documents_names_every_one():
    mapped = {
        (ROOT / "docs" / target).resolve()
        for document in ("README.md", "spec/README.md")
        for target in [
            str(Path(document).parent / link) for link in links(ROOT / "docs" / document)
        ]
    }
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md")}
    graph = {path.resolve() for path in (ROOT / "docs/helix").rglob("*.md")}  # its own map (P-9)
    assert not pages - graph - mapped - {(ROOT / "docs/README.md").resolve()}


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
