"""`ddx bead init`"""

from __future__ import annotations

import os

from ddx.cli.place import here
from ddx.cli.session import open_tracker
from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command
from ddx.tracker.setup import set_up


def run(*, json: bool) -> int:
    project = here()
    done = set_up(project, open_tracker(project), launcher=_launcher())
    if json:
        answer({"root": project.root, "done": list(done)})
    elif done:
        for sentence in done:
            say(sentence)
    else:
        say(f"{project.ddx()} is set up already")
    return 0


def _launcher() -> str:
    """The program that ran us, by full path: git will call it for merges (T-14)."""
    import sys

    checkout = os.path.normpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    beside = os.path.join(checkout, "bin", "ddx")
    if os.access(beside, os.X_OK):
        return beside
    return os.path.abspath(sys.argv[0])


COMMAND = Command(
    "bead init",
    "Set up a tracker in this repository; what is there already stays as it is.",
    run,
    "ddx bead init",
    flags=(JSON,),
    schema="bead-init",
)
