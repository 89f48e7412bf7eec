"""`ddx bead export`"""

from __future__ import annotations

import os

from ddx.cli.session import open_tracker
from ddx.console.screen import say, write
from ddx.console.spec import Argument, Command, Flag
from ddx.files import replace
from ddx.tracker.interchange import FORMATS, render
from ddx.tracker.whole import Whole


def run(*, file: str | None, to: str) -> int:
    rows = Whole(open_tracker())
    text = render(rows.values(), format=to).encode("utf-8")
    if file is None or file == "-":
        write(text)
    else:
        replace(os.path.abspath(file), (text,))
        say(f"{len(rows)} beads written to {file}")
    return 0


COMMAND = Command(
    "bead export",
    "Write every bead, archive and events included, in the form of another tracker.",
    run,
    "ddx bead export --to bd issues.jsonl",
    arguments=(Argument("file", "the file to write; none or `-`: stdout", required=False),),
    flags=(Flag("--to", "its format", kind="choice", choices=FORMATS, default="jsonl"),),
)
