"""Which module carries out which command; nothing is imported until it is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.console.spec import Command

GROUPS = {
    "agent": "hand beads to agents, prove what they made, land or keep it",
    "bead": "the work queue: file, find, claim, close",
    "bead dep": "what a bead waits for",
    "bead evidence": "what proves a bead",
    "config": "settings of this project",
    "doc": "the documents: what governs what, what a change touches, what is stale",
    "exec": "execution documents: commands that prove what documents say",
    "metric": "numbers that may not get worse",
}

COMMANDS = {
    "agent list": "ddx.cli.agent.list",
    "agent doctor": "ddx.cli.agent.doctor",
    "agent execute-bead": "ddx.cli.agent.execute_bead",
    "agent execute-loop": "ddx.cli.agent.execute_loop",
    "agent run": "ddx.cli.agent.run",
    "agent attempts": "ddx.cli.agent.attempts",
    "agent show": "ddx.cli.agent.show",
    "agent log": "ddx.cli.agent.log",
    "agent land": "ddx.cli.agent.land",
    "agent drop": "ddx.cli.agent.drop",
    "bead init": "ddx.cli.bead.init",
    "bead create": "ddx.cli.bead.create",
    "bead show": "ddx.cli.bead.show",
    "bead update": "ddx.cli.bead.update",
    "bead close": "ddx.cli.bead.close",
    "bead reopen": "ddx.cli.bead.reopen",
    "bead cancel": "ddx.cli.bead.cancel",
    "bead block": "ddx.cli.bead.block",
    "bead supersede": "ddx.cli.bead.supersede",
    "bead list": "ddx.cli.bead.list",
    "bead ready": "ddx.cli.bead.ready",
    "bead blocked": "ddx.cli.bead.blocked",
    "bead take": "ddx.cli.bead.take",
    "bead why": "ddx.cli.bead.why",
    "bead dep add": "ddx.cli.bead.dep_add",
    "bead dep remove": "ddx.cli.bead.dep_remove",
    "bead dep tree": "ddx.cli.bead.dep_tree",
    "bead graph": "ddx.cli.bead.graph",
    "bead status": "ddx.cli.bead.status",
    "bead evidence add": "ddx.cli.bead.evidence_add",
    "bead evidence list": "ddx.cli.bead.evidence_list",
    "bead events": "ddx.cli.bead.events",
    "bead import": "ddx.cli.bead.import_",
    "bead export": "ddx.cli.bead.export",
    "bead archive": "ddx.cli.bead.archive",
    "bead doctor": "ddx.cli.bead.doctor",
    "bead validate-ready": "ddx.cli.bead.validate_ready",
    "bead merge": "ddx.cli.bead.merge",
    "bead resolve": "ddx.cli.bead.resolve",
    "bead commit": "ddx.cli.bead.commit",
    "bead diff": "ddx.cli.bead.diff",
    "config show": "ddx.cli.config_show",
    "doc list": "ddx.cli.doc.list",
    "doc show": "ddx.cli.doc.show",
    "doc deps": "ddx.cli.doc.deps",
    "doc dependents": "ddx.cli.doc.dependents",
    "doc impact": "ddx.cli.doc.impact",
    "doc search": "ddx.cli.doc.search",
    "doc graph": "ddx.cli.doc.graph",
    "doc stale": "ddx.cli.doc.stale",
    "doc stamp": "ddx.cli.doc.stamp",
    "doc history": "ddx.cli.doc.history",
    "doc validate": "ddx.cli.doc.validate",
    "doc new": "ddx.cli.doc.new",
    "exec define": "ddx.cli.exec_.define",
    "exec list": "ddx.cli.exec_.list",
    "exec run": "ddx.cli.exec_.run",
    "exec history": "ddx.cli.exec_.history",
    "exec show": "ddx.cli.exec_.show",
    "metric list": "ddx.cli.metric.list",
    "metric show": "ddx.cli.metric.show",
    "metric run": "ddx.cli.metric.run",
    "metric trend": "ddx.cli.metric.trend",
    "metric compare": "ddx.cli.metric.compare",
}

_MOST_WORDS = 3


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
