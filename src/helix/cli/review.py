"""`helix review`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import Argument, Command
from helix.cli.control import tell
from helix.cli.opening import REHEARSABLE, open_desk, show_question, untouched_desk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from helix.actions.filing import Filed
    from helix.policy.review import Finding, Verdict

UNREADABLE, FOUND = 4, 10


def run(
    *,
    what: str | None,
    agent: str | None,
    model: str | None,
    effort: str | None,
    dry_run: bool,
    json: bool,
) -> int:
    from helix.actions.filing import Filed, file_findings
    from helix.actions.review import LAST_COMMIT, named_subject, review, review_prompt
    from helix.policy.review import Findings
    from helix.policy.trailers import Unreadable

    word = what or LAST_COMMIT
    nothing = f"{word} changes nothing that is reviewed: no agent is asked"
    if dry_run:
        desk = untouched_desk(agent=agent, model=model, effort=effort, reviews=True)
        prompt = review_prompt(desk, named_subject(desk.site, word))
        if not prompt:
            tell(nothing)
        show_question(desk, "review", word, prompt, json=json, reads=True)
        return 0
    with open_desk(agent=agent, model=model, effort=effort, reviews=True) as (desk, interruption):
        subject = named_subject(desk.site, word)
        if not review_prompt(desk, subject):
            tell(nothing)
        verdict = review(desk, subject)
        filed = Filed()
        if isinstance(verdict, Findings):
            filed = file_findings(desk, verdict.findings)
    if json:
        answer(_row(verdict, filed))
    else:
        _print(verdict, filed)
    if interruption.code:
        return interruption.code
    match verdict:
        case Unreadable():
            return UNREADABLE
        case Findings():
            return FOUND
        case _:
            return 0


def _row(verdict: Verdict, filed: Filed) -> dict[str, Any]:
    from helix.policy.review import Findings
    from helix.policy.trailers import Unreadable

    findings = verdict.findings if isinstance(verdict, Findings) else ()
    word = "ISSUES_FOUND" if findings else "CLEAN"
    return {
        "status": "UNREADABLE" if isinstance(verdict, Unreadable) else word,
        "reason": verdict.reason if isinstance(verdict, Unreadable) else "",
        "findings": [{**it.__dict__, "severity": str(it.severity)} for it in findings],
        "created": list(filed.created),
        "reopened": list(filed.updated),
        "known": list(filed.referenced),
        "question": filed.question,
    }


def _print(verdict: Verdict, filed: Filed) -> None:
    from helix.actions.filing import spoken
    from helix.policy.review import Clean, Findings
    from helix.policy.trailers import Unreadable

    match verdict:
        case Clean():
            say("clean: nothing was found")
        case Findings(findings=findings):
            for finding in findings:
                _print_finding(finding)
            if said := spoken(filed):
                say(said)
            for remark in (*filed.remarks, filed.question):
                if remark:
                    tell(remark)
        case Unreadable(reason=reason):
            tell(f"the review cannot be read: {reason}")


def _print_finding(finding: Finding) -> None:
    say(finding.sentence)
    for line in finding.detail.splitlines():
        say(f"  {line}")


COMMAND = Command(
    "review",
    "Have another agent look for faults; what it finds becomes beads.",
    run,
    "helix review last-commit",
    arguments=(
        Argument("what", "last-commit, commit:SHA, A..B, or a document's id", required=False),
    ),
    flags=REHEARSABLE,
    schema="helix-reviewed",
)
