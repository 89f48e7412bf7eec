"""`ddx agent execute-bead`"""

from __future__ import annotations

from ddx.cli.agent.drain_flags import (
    EFFORT,
    HARNESS,
    MODEL,
    PREFACE,
    TIMEOUT,
    read_orders,
)
from ddx.cli.place import here
from ddx.console.spec import JSON, Argument, Command, Flag


def run(
    *,
    id: tuple[str, ...],
    no_merge: bool,
    harness: str | None,
    model: str | None,
    effort: str | None,
    timeout: str | None,
    preface: str | None,
    manifest: str | None,
    json: bool,
    **rest: str | None,
) -> int:
    from ddx.cli.agent.drain_session import execute, read_manifest
    from ddx.values import changed

    project = here()
    orders = changed(
        read_orders(
            project, harness=harness, model=model, effort=effort, timeout=timeout, preface=preface
        ),
        from_rev=rest.get("from") or "",
        merge=not no_merge,
        most=1,
    )
    return execute(project, tuple(dict.fromkeys(id)), orders, read_manifest(manifest), json=json)


COMMAND = Command(
    "agent execute-bead",
    "Hand these beads to an agent as one attempt: prove, land, close (exit 1 if it does not land).",
    run,
    "ddx agent execute-bead app-1a2b3c4d --harness claude",
    arguments=(Argument("id", "the beads; several are one attempt and one commit", many=True),),
    flags=(
        Flag("--from", "start from this commit instead of the branch's tip"),
        Flag("--no-merge", "keep the result at a ref and do not land it", kind="switch"),
        HARNESS,
        MODEL,
        EFFORT,
        TIMEOUT,
        PREFACE,
        Flag("--manifest", "a JSON file to keep with the attempt's record"),
        JSON,
    ),
    schema="agent-outcome",
)
