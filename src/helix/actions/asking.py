"""One question to an agent that only reads, and its record (A-10, X-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import DdxError
from ddx.execution.model import Happening
from ddx.execution.prompting import ask_once
from ddx.fastjson import to_bytes
from ddx.graph.proof.records import FAILED, SUCCESS, OpenRun, Record
from ddx.harnesses.base import End
from ddx.values import changed, value
from helix.desk import model_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ddx.harnesses.base import Reply
    from helix.actions.model import Pass
    from helix.desk import Agent, Desk

WARNING = "warning"


@value
class Asked:
    """The reply to one question; `failure` says why there is none worth reading."""

    reply: Reply
    attempt: str
    started_at: str

    @property
    def failure(self) -> str:
        if self.reply.end is End.COMPLETED:
            return ""
        how = str(self.reply.end).replace("_", " ")
        return f"the agent did not complete ({how}){self.reply.reason and f': {self.reply.reason}'}"


def ask(
    desk: Desk, agent: Agent, *, action: str, prompt: str, schema: str = "", base: str = ""
) -> Asked:
    """What the agent says, in a throw-away workspace; the desk hears of every call."""
    site = desk.site
    attempt = ""

    def hear(happening: Happening) -> None:
        nonlocal attempt
        attempt = happening.attempt
        site.on_event(happening)

    started_at = site.clock.stamp()
    reply = ask_once(
        changed(site, on_event=hear),
        prompt=prompt,
        harness=agent.harness,
        model=model_for(action, agent, site),
        effort=agent.effort,
        limits=desk.limits,
        action=action,
        read_only=True,
        schema=schema,
        base=base,
    )
    desk.on_call(action, reply)
    return Asked(reply, attempt, started_at)


def capture(desk: Desk, done: Pass, *, documents: Sequence[str] = (), started_at: str = "") -> None:
    """Keep what a pass came to as the record `action:<name>` of its documents.

    Where that fails, whoever watches hears of it; the action itself is as good as before.
    """
    site = desk.site
    now = site.clock.stamp()
    try:
        with OpenRun(site.project, clock=site.clock) as run:
            row = {"word": done.word, "attempt": done.attempt, "result": dict(done.values)}
            run.stdout.write(to_bytes(site.masker.mask_row(row)) + b"\n")
            run.stdout.close()
            run.stderr.close()
            run.finish(
                Record(
                    run.run_id,
                    f"action:{done.action}",
                    tuple(documents),
                    started_at or now,
                    now,
                    SUCCESS if done.ok else FAILED,
                    None,
                    {},
                    site.masker.mask(done.reason),
                )
            )
    except (DdxError, OSError) as problem:
        what = problem.message if isinstance(problem, DdxError) else str(problem)
        said = f"no record of this {done.action} could be kept: {what}"
        site.on_event(Happening(now, done.attempt, WARNING, site.masker.mask(said)))
