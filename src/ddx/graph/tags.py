"""Tests and code that say which document they belong to (G-7). Pure."""

from __future__ import annotations

import re

from ddx.graph.model import Link, Tags

LARGEST_FILE = 2_000_000
"""A source file larger than this was written by a program."""

_SUFFIXES = (
    "bash bats c cc cjs clj cljs cpp cs css cts cxx dart erl ex exs feature fs go groovy h hh hpp "
    "hs html java jl js jsx kt kts lua m mjs ml mts nim nix php pl proto ps1 py pyi r rb rs scala "
    "scss sh sol sql svelte swift tf ts tsx vue zig zsh"
)
SUFFIXES = frozenset(_SUFFIXES.split())
_TEST_SUFFIXES = ("bats", "feature")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e"})
_TEST_ENDINGS = (
    *("_test", "-test", ".test", "_spec", "-spec", ".spec"),
    *("Test", "Tests", "Spec"),
)

# Two forms: after an at-sign in any comment, one name or several with commas, and a call with
# names in quotes, as pytest's markers are. A tag in back-quotes is only spoken of, and the word
# requirement is not ours alone: a number must follow it.
_TAG = re.compile(
    rb"(?<![\w`])@(?:spec-ref|requirement(?=[^\w\n]++[A-Za-z]+-\d))\b[ \t:=(\[\"']*+"
    rb"([A-Za-z][\w./-]*(?:[ \t]*,[ \t]*[A-Za-z]+-\d[\w-]*)*)"
    rb"|\b(?:spec_ref|mark\.requirement)\(\s*([\"'][^)]{1,500})\)"
)
_QUOTED = re.compile(rb"[\"']([A-Za-z][^\"',\s]*)[\"']")
_QUICK = (b"@spec-ref", b"@requirement", b"spec_ref", b"mark.requirement")


def is_scanned(path: str) -> bool:
    return path.rpartition(".")[2].lower() in SUFFIXES


def kind_of(path: str) -> str:
    """`test` or `code`, by the names that the languages' own tools go by."""
    *folders, name = path.split("/")
    stem, _, suffix = name.rpartition(".")
    is_test = (
        not _TEST_FOLDERS.isdisjoint(folder.lower() for folder in folders)
        or suffix in _TEST_SUFFIXES
        or stem.startswith(("test_", "test-"))
        or stem.endswith(_TEST_ENDINGS)
    )
    return "test" if is_test else "code"


def read_tags(path: str, content: bytes) -> Tags:
    """The documents that a file names, with the lines where it does."""
    if not any(mark in content for mark in _QUICK):
        return Tags(path)
    links = []
    line, position = 1, 0
    for match in _TAG.finditer(content):
        line += content.count(b"\n", position, match.start())
        position = match.start()
        names = match[1].split(b",") if match[1] else _QUOTED.findall(match[2])
        texts = (name.decode("utf-8", "replace").partition("#")[0] for name in names)
        links += [Link(name, line) for text in texts if (name := text.strip(" \t.-/"))]
    return Tags(path, tuple(links), kind_of(path))
