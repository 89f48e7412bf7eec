"""`helix memory feedback`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag
from helix.cli.memory.session import open_session, read_names, tell


def run(*, utilized: str, injected: str, json: bool) -> int:
    from helix.memory.crediting import credit_report

    used = read_names(utilized, flag="--utilized")
    shown = read_names(injected, flag="--injected")
    tell("feedback is deprecated: a builder's word is no proof; use helix memory feedback-verify")
    with open_session(writes="crediting memories") as session:
        done = credit_report(session.store, used, shown)
    if json:
        answer({"helped": done.helped, "unhelpful": done.unhelpful, "missing": list(done.missing)})
    else:
        say(f"{done.helped} helped, {done.unhelpful} did not, {len(done.missing)} unknown")
    return 0


COMMAND = Command(
    "memory feedback",
    "Credit memories by a builder's own word (deprecated: use feedback-verify).",
    run,
    """helix memory feedback --utilized '["a-name"]' --injected '["a-name", "another"]'""",
    flags=(
        Flag("--utilized", "the names that it says to have used, as a JSON list", required=True),
        Flag("--injected", "the names that it was shown, as a JSON list", required=True),
        JSON,
    ),
    schema="memory-feedback",
)
