"""Checks in files of the project's own: read from the base, broken ones named (X-11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddx.proof.project_checks import (
    FOLDER,
    BrokenCheck,
    ProjectCheck,
    pattern_of,
    read_project_checks,
)


def write(root: Path, name: str, text: str | bytes) -> Path:
    place = root / FOLDER / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def complaint(root: Path, text: str | bytes) -> str:
    write(root, "links.yaml", text)
    [found] = read_project_checks(str(root))
    assert isinstance(found, BrokenCheck), found
    assert (found.name, found.path) == ("links", ".ddx/checks/links.yaml")
    return found.what


def test_a_project_without_a_folder_has_none(tmp_path):
    assert read_project_checks(str(tmp_path)) == ()


def test_files_are_read_in_the_order_of_their_names_and_others_are_left(tmp_path):
    write(tmp_path, "b.yml", "command: make b\n")
    write(
        tmp_path,
        "a.yaml",
        "name: all of it\ncommand: [make, all a]\ntimeout_s: 2.5\n"
        "applies_to:\n  paths: [src/**, '*.py']\n  labels: area:build\n",
    )
    write(tmp_path, "README.md", "what these are")
    assert read_project_checks(str(tmp_path)) == (
        ProjectCheck(
            name="all of it",
            path=".ddx/checks/a.yaml",
            command=("make", "all a"),
            paths=("src/**", "*.py"),
            labels=("area:build",),
            timeout_s=2.5,
        ),
        ProjectCheck("b", ".ddx/checks/b.yml", "make b"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "command must be"),
        ("name: x\n", "command must be"),
        ("command: ''\n", "command is empty"),
        ("command: []\n", "command must be"),
        ("command: [a, [b]]\n", "command must be"),
        ("command: make\nwhen: later\n", "unknown key when"),
        ("command: make\napplies_to: docs\n", "applies_to must be a table"),
        ("command: make\napplies_to: {files: [a]}\n", "unknown key applies_to.files"),
        ("command: make\napplies_to: {paths: []}\n", "neither paths nor labels"),
        ("command: make\napplies_to: {paths: ['!a']}\n", "'!a' is no path"),
        ("command: make\napplies_to: {paths: ['a[bc]']}\n", "'a[bc]' is no path"),
        ("command: make\napplies_to: {paths: [/]}\n", "'/' is no path"),
        ("command: make\napplies_to: {labels: [{}]}\n", "list of short texts"),
        ("command: make\ntimeout_s: soon\n", "timeout_s must be"),
        ("command: make\ntimeout_s: 0\n", "timeout_s must be"),
        ("command: make\ntimeout_s: 1e9\n", "timeout_s must be"),
        ("name: {a: b}\ncommand: make\n", "name must be a text"),
        ("- command\n", "not a table of keys"),
        ("command: [make\n", "line "),
        ("\tcommand: make\n", "line 1"),
        (b"command: \xff\n", "not UTF-8"),
        (b"command: " + b"x" * 200_000, "at most"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_and_is_not_left_out(tmp_path, text, said):
    assert said in complaint(tmp_path, text)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_broken_and_cannot_hold_us(tmp_path, kind):
    place = tmp_path / FOLDER / "links.yaml"
    place.parent.mkdir(parents=True)
    if kind == "link":
        (tmp_path / "real.yaml").write_text("command: 'true'\n")
        place.symlink_to(tmp_path / "real.yaml")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    [found] = read_project_checks(str(tmp_path))
    assert isinstance(found, BrokenCheck)


@pytest.mark.parametrize(
    ("glob", "fitting", "others"),
    [
        ("docs/**", ["docs/a", "docs/a/b"], ["docs", "xdocs/a", "a/docs/b"]),
        ("*.md", ["a.md", "x/b.md"], ["a.mdx", "amd"]),
        ("src", ["src", "src/a", "x/src/a"], ["srcs/a"]),
        ("/src", ["src/a"], ["x/src/a"]),
        ("./src/app", ["src/app/a"], ["x/src/app/a"]),
        ("src/", ["src/a", "x/src/a"], ["src"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["src/a.txt", "a.py"]),
        ("a?c.py", ["abc.py"], ["a/c.py", "ac.py"]),
        ("**/x", ["x", "a/x", "a/x/b"], ["ax"]),
        ("a+b.(c)", ["a+b.(c)"], ["aab.c"]),
        ("docs/**", ["docs/a\nb"], []),
    ],
)
def test_paths_are_meant_as_in_a_gitignore(glob, fitting, others):
    pattern = pattern_of(glob)
    assert [path for path in fitting if not pattern.fullmatch(path)] == []
    assert [path for path in others if pattern.fullmatch(path)] == []
