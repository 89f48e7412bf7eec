"""The picture in the README shows what the program prints today (S-29).

The screen of a real run is recorded as text, and the picture is drawn from that text. So two things
are asked: is the picture the recording, and is the recording what a run shows now, but for ids,
times and the seconds that something took?
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from scripts.pictures import PICTURE, PICTURES, RECORDING, ROOT, draw
from scripts.screen import Screen, plain, svg

VARIES = re.compile(
    r"shop-[0-9a-f]{8}|\b[0-9a-f]{12}\b|\d{8}T\d{6}-[0-9a-f]{6}|\d{8}-\d{6}"
    r"|\b[0-9a-f]{6}\b|\d\d:\d\d:\d\d|\b\d+ ?s\b|\bL\d+\b"
)


def recorded(folder: Path) -> list[str]:
    return (folder / RECORDING).read_text("utf-8").splitlines()


def steady(lines: list[str]) -> list[str]:
    """What must not change unnoticed: every word, and how it is styled."""
    return [VARIES.sub("~", line) for line in lines]


def test_the_picture_is_drawn_from_the_recording():
    assert (PICTURES / PICTURE).read_text("utf-8") == draw(recorded(PICTURES))


def test_a_run_shows_today_what_was_recorded(tmp_path):
    subprocess.run([str(ROOT / "scripts/pictures"), str(tmp_path)], check=True, timeout=240)
    assert steady(recorded(tmp_path)) == steady(recorded(PICTURES)), "run scripts/pictures"


def test_no_word_of_the_recording_is_missing_in_the_picture():
    space = "{http://www.w3.org/2000/svg}"
    found = ElementTree.parse(PICTURES / PICTURE).iter(f"{space}text")
    rows: dict[float, list[str]] = {}
    for text in found:
        rows.setdefault(float(text.attrib["y"]), []).append(text.text or "")
    shown = [" ".join(" ".join(parts).split()) for _, parts in sorted(rows.items())]
    assert shown == [" ".join(" ".join(_parts(line)).split()) for line in recorded(PICTURES)]


def _parts(line: str) -> list[str]:
    return re.split(r"\x1b\[[\d;]*m", line)


def test_the_picture_needs_nothing_from_elsewhere():
    text = (PICTURES / PICTURE).read_text("utf-8")
    assert re.findall(r'(?:href|src|url)\s*[=(]\s*["\']?([^"\')\s]*)', text) == []
    assert "<script" not in text
    assert "@import" not in text


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("12345678", ["12345", "678"]),
        ("\x1b[?7l12345678\x1b[?7h", ["12345"]),
        ("one\r\nold\r\nolder\r\x1b[1A\x1b[Jnew", ["one", "new"]),
        ("12345\r\x1b[Jx", ["x"]),
        ("\x1b[1mbold\x1b[0m", ["\x1b[1mbold\x1b[0m"]),
        ("ab\rc", ["cb"]),
        ("end  \r\n\r\n", ["end"]),
    ],
)
def test_the_screen_does_as_a_terminal_would(written, lines):
    screen = Screen(5)
    screen.write(written)
    assert screen.lines() == lines


def test_what_the_screen_does_not_know_is_not_passed_over():
    with pytest.raises(ValueError, match="CSI 2K"):
        Screen(5).write("\x1b[2K")


def test_foreign_text_is_text_in_a_picture():
    drawn = svg(["<script>&"], width=10, title="a < b")
    assert plain("\x1b[2m<script>&\x1b[0m") == "<script>&"
    (text,) = ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    assert text.text == "<script>&"
