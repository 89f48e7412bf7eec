"""The reference is complete and of today: commands, settings, exit codes (C-2, C-3, C-6)."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from scripts.reference import REFERENCE, pages
from tests.support.contract import ALL_COMMANDS, ROOT, command_of

import ddx.base.errors
from ddx.console.click_commands import click_command
from ddx.console.command import parse
from ddx.console.error_handler import INTERRUPTED, OUR_BUG
from ddx.project.settings_keys import KEYS

SOURCES = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}


@pytest.mark.parametrize("name", pages())
def test_a_page_says_what_the_code_says(name: str):
    assert (REFERENCE / name).read_text("utf-8") == pages()[name], "run scripts/reference"


@pytest.mark.parametrize("path", ALL_COMMANDS)
def test_help_has_an_example_that_works(path: str):  # C-3
    command = ALL_COMMANDS[path]
    words = shlex.split(command.example)
    assert command_of(words) == path
    assert parse(command, words[len(path.split()) :]) is not None
    shown = click.Context(click_command(command), info_name=path, terminal_width=80)
    assert command.example in click_command(command).get_help(shown)


@pytest.mark.parametrize("path", ALL_COMMANDS)
def test_a_command_and_its_parts_are_explained(path: str):
    command = ALL_COMMANDS[path]
    assert command.summary.endswith(".")
    meanings = {part.name: part.meaning for part in command.arguments}
    meanings |= {flag.name: flag.meaning for flag in command.flags}
    assert all(meanings.values())
    keys = [part.name for part in command.arguments] + [flag.key for flag in command.flags]
    assert len(set(keys)) == len(keys), "two parts of one command share a name"


@pytest.mark.parametrize("key", KEYS)
def test_a_setting_is_read_by_code(key: str):  # C-6
    settings = ROOT / "src/ddx/project/settings.py"
    properties = list(properties_of(key, SOURCES[settings]))
    assert properties, f"Settings has no property for {key}"
    readers = [
        path
        for path, source in SOURCES.items()
        if path != settings and any(f".{name}" in source for name in properties)
    ]
    assert readers, f"no code reads {key}"


def properties_of(key: str, source: str) -> Iterator[str]:
    """The properties of Settings that look the key up."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(part, ast.Subscript)
            and isinstance(part.slice, ast.Constant)
            and part.slice.value == key
            for part in ast.walk(node)
        ):
            yield node.name


def test_every_exit_code_is_explained():  # C-2
    explained = set(codes_in(REFERENCE / "exit-codes.md"))
    errors = [found for found in vars(ddx.base.errors).values() if isinstance(found, type)]
    used = {error.exit_code for error in errors if issubclass(error, ddx.base.errors.DdxError)}
    assert {0, OUR_BUG, INTERRUPTED, *used} <= explained


def codes_in(page: Path) -> Iterator[int]:
    for line in page.read_text("utf-8").splitlines():
        first = line.strip("|").partition("|")[0].strip()
        if line.startswith("|") and first.isdigit():
            yield int(first)
