"""Which module carries out which `helix` command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.console.spec import Command

GROUPS = {
    "config": "Settings of the policy, and where each comes from.",
    "memory": "What this repository has taught, with credit given by checks.",
    "objective": "One objective: explore, plan, build, observe.",
    "skills": "The skills that agents see.",
    "task": "The words that builders and planners answer in; for agents.",
}
"""`helix objective "<text>"` is a command as well: the longest name that fits is meant."""

SECTIONS = {
    "Start here": ("demo", "init", "input", "run", "status"),
    "Work": ("build", "implement", "objective", "triage", "start", "pause", "resume", "stop",
             "recover"),
    "Watch": ("next", "explain", "logs", "diff", "cost"),
    "Think": ("check", "frame", "design", "plan", "polish", "align", "evolve", "backfill",
              "experiment"),
    "Prove": ("review", "measure", "report", "trace"),
    "Remember": ("memory",),
    "Set up": ("doctor", "trust", "config", "install", "completion", "skills", "mcp", "task"),
}  # fmt: skip
"""Headings in the help, and the first words of commands below each."""

COMMANDS = {
    "align": "helix.cli.align",
    "backfill": "helix.cli.backfill",
    "build": "helix.cli.build",
    "check": "helix.cli.check",
    "completion": "helix.cli.completion",
    "config show": "helix.cli.config_show",
    "cost": "helix.cli.cost",
    "demo": "helix.cli.demo",
    "design": "helix.cli.design",
    "diff": "helix.cli.diff",
    "doctor": "helix.cli.doctor",
    "evolve": "helix.cli.evolve",
    "experiment": "helix.cli.experiment",
    "explain": "helix.cli.explain",
    "frame": "helix.cli.frame",
    "implement": "helix.cli.implement",
    "init": "helix.cli.init",
    "input": "helix.cli.input",
    "install": "helix.cli.install",
    "logs": "helix.cli.logs",
    "mcp": "helix.cli.mcp",
    "measure": "helix.cli.measure",
    "memory store": "helix.cli.memory.store",
    "memory recall": "helix.cli.memory.recall",
    "memory feedback-verify": "helix.cli.memory.feedback_verify",
    "memory feedback": "helix.cli.memory.feedback",
    "memory health": "helix.cli.memory.health",
    "memory prune": "helix.cli.memory.prune",
    "memory consolidate": "helix.cli.memory.consolidate",
    "memory decay": "helix.cli.memory.decay",
    "memory chunk": "helix.cli.memory.chunk",
    "memory relate": "helix.cli.memory.relate",
    "memory connected": "helix.cli.memory.connected",
    "memory get": "helix.cli.memory.get",
    "memory list": "helix.cli.memory.list",
    "memory forget": "helix.cli.memory.forget",
    "memory pin": "helix.cli.memory.pin",
    "memory unpin": "helix.cli.memory.unpin",
    "memory review": "helix.cli.memory.review",
    "memory export": "helix.cli.memory.export",
    "memory import": "helix.cli.memory.import_",
    "memory undo": "helix.cli.memory.undo",
    "memory value": "helix.cli.memory.value",
    "next": "helix.cli.next",
    "objective": "helix.cli.objective.begin",
    "objective status": "helix.cli.objective.status",
    "objective list": "helix.cli.objective.list",
    "objective resume": "helix.cli.objective.resume",
    "objective transitions": "helix.cli.objective.transitions",
    "objective clear": "helix.cli.objective.clear",
    "pause": "helix.cli.pause",
    "plan": "helix.cli.plan",
    "polish": "helix.cli.polish",
    "recover": "helix.cli.recover",
    "report": "helix.cli.report",
    "resume": "helix.cli.resume",
    "review": "helix.cli.review",
    "run": "helix.cli.run",
    "skills validate": "helix.cli.skills_validate",
    "start": "helix.cli.start",
    "status": "helix.cli.status",
    "stop": "helix.cli.stop",
    "task parse-output": "helix.cli.task.parse_output",
    "task detect-cycles": "helix.cli.task.detect_cycles",
    "task extract-mapping": "helix.cli.task.extract_mapping",
    "task feedback-verify": "helix.cli.task.feedback_verify",
    "trace": "helix.cli.trace",
    "triage": "helix.cli.triage",
    "trust": "helix.cli.trust",
}


_MOST_WORDS = 2


def find_command(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """The command that a line begins with, and the rest of the line."""
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        path = " ".join(words[:count])
        if path in COMMANDS:
            return load(path), words[count:]
    return None


def load(path: str) -> Command:
    module = __import__(COMMANDS[path], fromlist=["COMMAND"])
    command: Command = module.COMMAND
    return command


def words() -> frozenset[str]:
    """What may come first on a command line."""
    return frozenset({*GROUPS, *(path.partition(" ")[0] for path in COMMANDS)})
