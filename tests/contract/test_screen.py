"""What a terminal gets: lines that fit, colours if wanted, nothing that steers it (C-5)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import struct
import subprocess
import termios

import pytest
from tests.support.contract import EmptyRepository

from ddx.base.json import loads, to_bytes
from ddx.base.text import harmless

TITLE = "A cart that adds up, with tax, with postage, and with every discount that is due"
BEADS = f"""
- {{id: shop-12345678, title: "{TITLE}", verify: ["true"]}}
- {{id: shop-23456789, title: "Checkout", depends-on: [shop-12345678], verify: ["true"]}}
"""
STEERING = "\x80\x85\x9b31m\x9f \u061c \u200e\u200f \u202a\u202e \u2066\u2069 \ufeff"
HARMLESS = "äöü « » — “quoted” … 語 مرحبا 👩\u200d🚀 \u00a0\u00ad"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

TABLES = (
    "ddx bead list",
    "ddx bead blocked",
    "ddx bead validate-ready",
    "ddx config show --origin",
    "ddx doc list",
    "helix config show --origin",
    "helix cost",
    "helix memory list",
)
LONGEST_NAME = "slider.conflict_handling.resolvable_level"
"""The first column stays whole: it is the one to copy from."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> EmptyRepository:
    found = EmptyRepository(tmp_path_factory.mktemp("screen"))
    (found.root.parent / "beads.yaml").write_text(BEADS, encoding="utf-8")
    found.run("ddx", "bead", "init")
    for line in (
        "ddx bead create --from-file ../beads.yaml",
        "ddx doc new feat 'A cart that adds up, with tax and postage'",
        "helix memory store --trigger 'The cart test is red at night' --resolution 'Freeze it'",
    ):
        ended = found.run(*shlex.split(line))
        assert ended.returncode == 0, ended.stderr
    return found


def on_screen(shop: EmptyRepository, line: str, *, columns: int, **variables: str) -> str:
    """What a terminal of so many columns gets to show."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        shop.argv(*shlex.split(line)),
        cwd=shop.root,
        env={**shop.variables, "TERM": "xterm", **variables},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return shown.decode("utf-8").replace("\r\n", "\n")


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 1 << 16)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("columns", [len(LONGEST_NAME), 80, 200])
@pytest.mark.parametrize("line", TABLES)
def test_a_table_fits_the_screen(shop: EmptyRepository, line: str, columns: int):
    shown = on_screen(shop, line, columns=columns, NO_COLOR="1")
    assert shown.strip()
    for row in shown.splitlines():
        assert len(row) <= columns, row


def test_a_row_that_is_too_wide_goes_on_below(shop: EmptyRepository):
    shown = on_screen(shop, "ddx bead list", columns=40, NO_COLOR="1")
    assert shown.splitlines() == [
        "id             pri  type  status",
        "  title",
        "shop-12345678  2    task  open",
        "  A cart that adds up, with tax, with p…",
        "shop-23456789  2    task  open",
        "  Checkout",
    ]


def test_a_pipe_gets_whole_lines(shop: EmptyRepository):
    assert f"shop-12345678  2    task  open    {TITLE}\n" in shop.run("ddx", "bead", "list").stdout


def test_colours_are_for_terminals_and_for_who_asks(shop: EmptyRepository):
    line = "ddx bead list"
    assert COLOUR.search(on_screen(shop, line, columns=80))
    assert not COLOUR.search(on_screen(shop, line, columns=80, NO_COLOR="1"))
    assert not COLOUR.search(shop.run(*line.split()).stdout)
    assert COLOUR.search(shop.run(*line.split(), FORCE_COLOR="1").stdout)
    assert not COLOUR.search(shop.run(*line.split(), FORCE_COLOR="1", NO_COLOR="1").stdout)


def test_json_spells_what_would_steer_a_terminal():
    row = {"title": STEERING, "note": HARMLESS}
    shown = harmless(to_bytes(row))
    assert not any(mark in shown.decode() for mark in STEERING.replace("31m", "").replace(" ", ""))
    assert HARMLESS in shown.decode()
    assert loads(shown.decode()) == row


@pytest.mark.parametrize(
    "line",
    [
        "ddx bead list --json",
        "ddx bead list --jsonl",
        "ddx bead show steered --json",
        "ddx bead ready --json",
        "ddx doc list --json",
        "ddx doc show FEAT-099 --json",
        "ddx doc graph --format json",
        "helix report --json",
    ],
)
def test_no_answer_in_json_steers_a_terminal(shop: EmptyRepository, line: str):
    """A tracker may come from elsewhere: what create would refuse may stand in it."""
    tracker = shop.root / ".ddx/beads.jsonl"
    before = tracker.read_bytes()
    row = {"id": "steered", "title": f"x {STEERING} y", "status": "open", "verify": ["true"]}
    document = shop.root / "docs/helix/01-frame/features/FEAT-099.md"
    text = f"---\nddx:\n  id: FEAT-099\n---\n# FEAT-099: x {STEERING[8:]} y\n"
    document.write_text(text, encoding="utf-8")
    tracker.write_bytes(before + json.dumps(row, ensure_ascii=False).encode() + b"\n")
    try:
        ended = shop.run(*line.split())
    finally:
        tracker.write_bytes(before)
        document.unlink()
    assert ended.returncode == 0, ended.stderr
    assert "\\u202e" in ended.stdout
    assert not any(mark in ended.stdout for mark in "\x85\x9b\u061c\u200e\u202e\u2066\ufeff")
