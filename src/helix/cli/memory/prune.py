"""`helix memory prune`"""

from __future__ import annotations

from ddx.console.screen import answer
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.removal import show_removed
from helix.cli.memory.session import DRY_RUN, open_session, read_share


def run(*, min_effectiveness: str | None, min_uses: int | None, dry_run: bool, json: bool) -> int:
    from helix.memory.tending import LEAST_EFFECTIVENESS, LEAST_USES, prune

    least = read_share(min_effectiveness, flag="--min-effectiveness", default=LEAST_EFFECTIVENESS)
    with open_session(writes="pruning memories") as session:
        done = prune(
            session.store,
            now=session.now,
            dry_run=dry_run,
            least_effectiveness=least,
            least_uses=LEAST_USES if min_uses is None else float(min_uses),
        )
    if json:
        answer(
            {
                "dry_run": dry_run,
                "pruned": len(done.memories),
                "names": [memory.name for memory in done.memories],
                "remaining": done.remaining,
                "undo": done.undo,
            }
        )
    else:
        show_removed(done, dry_run=dry_run, verb="pruned")
    return 0


COMMAND = Command(
    "memory prune",
    "Remove memories that were tried often and hardly ever helped; pinned ones stay.",
    run,
    "helix memory prune --dry-run",
    flags=(
        Flag("--min-effectiveness", "what helped less often goes; 0.25 if not given"),
        Flag(
            "--min-uses",
            "points that a verdict needs, half of one an outcome; 3 if not given",
            kind="number",
        ),
        DRY_RUN,
        JSON,
    ),
    schema="memory-pruned",
)
