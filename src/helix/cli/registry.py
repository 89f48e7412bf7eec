"""Which module carries out which `helix` command."""

from __future__ import annotations

from ddx.console import Program

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
    "align": "helix.cli.document_passes:align",
    "backfill": "helix.cli.document_passes:backfill",
    "build": "helix.cli.build:build",
    "check": "helix.cli.queue_passes:check",
    "completion": "helix.cli.installation:completion",
    "config show": "helix.cli.settings:CONFIG_SHOW",
    "cost": "helix.cli.records:cost",
    "demo": "helix.cli.demo:run",
    "design": "helix.cli.document_passes:design",
    "diff": "helix.cli.records:diff",
    "doctor": "helix.cli.installation:doctor",
    "evolve": "helix.cli.document_passes:evolve",
    "experiment": "helix.cli.document_passes:experiment",
    "explain": "helix.cli.next:explain",
    "frame": "helix.cli.document_passes:frame",
    "implement": "helix.cli.build:IMPLEMENT",
    "init": "helix.cli.installation:init",
    "input": "helix.cli.input:run",
    "install": "helix.cli.installation:install",
    "logs": "helix.cli.records:logs",
    "mcp": "helix.cli.installation:mcp",
    "measure": "helix.cli.measure:run",
    "memory store": "helix.cli.memory.lessons:store",
    "memory recall": "helix.cli.memory.lessons:recall",
    "memory feedback-verify": "helix.cli.memory.credit:feedback_verify",
    "memory feedback": "helix.cli.memory.credit:feedback",
    "memory health": "helix.cli.memory.upkeep:health",
    "memory prune": "helix.cli.memory.upkeep:prune",
    "memory consolidate": "helix.cli.memory.upkeep:consolidate",
    "memory decay": "helix.cli.memory.upkeep:decay",
    "memory chunk": "helix.cli.memory.lessons:chunk",
    "memory relate": "helix.cli.memory.lessons:relate",
    "memory connected": "helix.cli.memory.lessons:connected",
    "memory get": "helix.cli.memory.lessons:get",
    "memory list": "helix.cli.memory.lessons:list_memories",
    "memory forget": "helix.cli.memory.upkeep:forget",
    "memory pin": "helix.cli.memory.upkeep:PIN",
    "memory unpin": "helix.cli.memory.upkeep:UNPIN",
    "memory review": "helix.cli.memory.upkeep:review",
    "memory export": "helix.cli.memory.transfer:export_memories",
    "memory import": "helix.cli.memory.transfer:import_memories",
    "memory undo": "helix.cli.memory.upkeep:undo",
    "memory value": "helix.cli.memory.credit:value",
    "next": "helix.cli.next:next_step",
    "objective": "helix.cli.objective:begin",
    "objective status": "helix.cli.objective:status",
    "objective list": "helix.cli.objective:list_objectives",
    "objective resume": "helix.cli.objective:resume",
    "objective transitions": "helix.cli.objective:transitions",
    "objective clear": "helix.cli.objective:clear",
    "pause": "helix.cli.run_control:pause",
    "plan": "helix.cli.document_passes:PLAN",
    "polish": "helix.cli.queue_passes:polish",
    "recover": "helix.cli.run_control:recover",
    "report": "helix.cli.report:run",
    "resume": "helix.cli.run_control:resume",
    "review": "helix.cli.queue_passes:review",
    "run": "helix.cli.run:run",
    "skills validate": "helix.cli.installation:validate_skills",
    "start": "helix.cli.run_control:start",
    "status": "helix.cli.status:run",
    "stop": "helix.cli.run_control:stop",
    "task parse-output": "helix.cli.task:parse_output",
    "task detect-cycles": "helix.cli.task:detect_cycles",
    "task extract-mapping": "helix.cli.task:extract_mapping",
    "task feedback-verify": "helix.cli.memory.credit:OF_TASK",
    "trace": "helix.cli.trace:run",
    "triage": "helix.cli.triage:run",
    "trust": "helix.cli.settings:trust",
}


PROGRAM = Program(
    "helix",
    "Run AI coding agents on your repository and trust what comes back.",
    COMMANDS,
    groups=GROUPS,
    sections=SECTIONS,
)


def words() -> frozenset[str]:
    """What may come first on a command line."""
    return frozenset({*GROUPS, *(path.partition(" ")[0] for path in COMMANDS)})
