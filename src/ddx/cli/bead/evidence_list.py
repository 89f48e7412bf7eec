"""`ddx bead evidence list`"""

from __future__ import annotations

from ddx.cli.bead.events import run
from ddx.console.spec import ID, JSON, Command

COMMAND = Command(
    "bead evidence list",
    "Show what was recorded about a bead, oldest first.",
    run,
    "ddx bead evidence list app-1a2b3c4d --json",
    arguments=(ID,),
    flags=(JSON,),
    schema="bead-events",
)
