"""Which module carries out which `helix` command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.console.spec import Command

COMMANDS = {
    "align": "helix.cli.align",
    "backfill": "helix.cli.backfill",
    "check": "helix.cli.check",
    "cost": "helix.cli.cost",
    "demo": "helix.cli.demo",
    "design": "helix.cli.design",
    "diff": "helix.cli.diff",
    "evolve": "helix.cli.evolve",
    "experiment": "helix.cli.experiment",
    "explain": "helix.cli.explain",
    "frame": "helix.cli.frame",
    "logs": "helix.cli.logs",
    "next": "helix.cli.next",
    "pause": "helix.cli.pause",
    "plan": "helix.cli.plan",
    "polish": "helix.cli.polish",
    "recover": "helix.cli.recover",
    "resume": "helix.cli.resume",
    "review": "helix.cli.review",
    "run": "helix.cli.run",
    "start": "helix.cli.start",
    "status": "helix.cli.status",
    "stop": "helix.cli.stop",
    "triage": "helix.cli.triage",
    "trust": "helix.cli.trust",
}


def load(path: str) -> Command:
    module = __import__(COMMANDS[path], fromlist=["COMMAND"])
    command: Command = module.COMMAND
    return command
