"""`ddx agent list` and `ddx agent doctor`: which agent programs there are, and if they work."""

from __future__ import annotations

from ddx.base import UsageError, cut, shown
from ddx.cli.agent.execute import read_orders
from ddx.cli.context import CLOCK, here, settings, tell
from ddx.console import JSON, Argument, Command, Flag, answer, bold, say, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ddx.agents import HarnessStatus, Reply
    from ddx.base import Finding
    from ddx.project import Project, Settings

SOMETHING_FOUND = 1
PROMPT = "This is a test of the connection. Do not use any tool. Answer with the one word: ready"
_USED = "the one that is used"
_LONGEST_SENTENCE = 600


@Command.of(example="ddx agent list", flags=(JSON,), schema="agent-list")
def list_harnesses(*, json: bool) -> int:
    """List the harnesses: which agent programs are installed, and which one would be used."""
    from ddx.agents import Harnesses

    project = here()
    found = Harnesses(settings(project)).examine(project)
    if json:
        answer([harness_row(item) for item in found])
        return 0
    table(
        ("harness", "kind", "installed", "version", "note"),
        [
            (
                item.name,
                item.kind,
                "yes" if item.is_installed else "no",
                item.detected.version or "-",
                item.detected.problem or (_USED if item.is_chosen else ""),
            )
            for item in found
        ],
    )
    if not any(item.is_chosen for item in found):
        say("several would do, or none: say which by --harness NAME")
    return 0


def harness_row(item: HarnessStatus) -> dict[str, Any]:
    there = item.detected
    return {
        "name": item.name,
        "kind": item.kind,
        "installed": item.is_installed,
        "usable": there.ok,
        "chosen": item.is_chosen,
        "program": there.program,
        "path": there.path,
        "version": there.version,
        "capabilities": sorted(there.capabilities),
        "problem": there.problem,
    }


@Command.of(
    example="ddx agent doctor claude --ask",
    arguments=(Argument("name", "only these harnesses", many=True, required=False),),
    flags=(Flag("--ask", "send each a prompt of one word; this costs tokens", kind="switch"), JSON),
    schema="agent-doctor",
)
def doctor(*, name: tuple[str, ...], ask: bool, json: bool) -> int:
    """Look whether agents can work here, and say what to mend (exit 1 if there is something)."""
    from ddx.agents import Harnesses
    from ddx.attempts import examine_surroundings

    project = here()
    found = settings(project)
    harnesses = [
        item for item in Harnesses(found).examine(project, name) if name or _counts(item, found)
    ]
    findings = [*examine_surroundings(project, found, clock=CLOCK), *_of_harnesses(harnesses)]
    asked = _ask(project, harnesses) if ask else {}
    if json:
        answer(
            {
                "harnesses": [
                    {**harness_row(item), "asked": _asked_row(asked.get(item.name))}
                    for item in harnesses
                ],
                "findings": [finding.as_row() for finding in findings],
            }
        )
    else:
        _print(harnesses, findings, asked)
    sound = all(finding.is_ok for finding in findings) and all(map(_answered, asked.values()))
    return 0 if sound else SOMETHING_FOUND


def _counts(item: HarnessStatus, found: Settings) -> bool:
    """An agent that is installed, or that a file of the project or the user names."""
    return not item.is_scripted and (item.is_installed or item.name in found.harnesses)


def _of_harnesses(harnesses: Sequence[HarnessStatus]) -> list[Finding]:
    from ddx.base import Finding

    if not harnesses:
        return [
            Finding.fault(
                "harness",
                "no agent program is installed",
                cure="install one, such as claude or codex; or name your own under harnesses in "
                ".ddx/config.yaml; then: ddx agent list",
            )
        ]
    return [
        Finding.fault(
            "harness",
            f"{item.name}: {item.detected.problem}",
            cure=f"mend it, then: ddx agent doctor {item.name}",
        )
        for item in harnesses
        if item.detected.problem
    ]


def _ask(project: Project, harnesses: Sequence[HarnessStatus]) -> dict[str, Reply]:
    """One word from each that can speak for itself; this costs tokens."""
    from ddx.agents import StopRequest
    from ddx.attempts import open_site
    from ddx.cli.agent.execution import ask_agent
    from ddx.console import Interruption

    stop = StopRequest()
    site = open_site(project, lambda happening: None, stop=stop, clock=CLOCK, tell=tell)
    wanted = [item.name for item in harnesses if item.detected.ok and not item.is_scripted]
    if not wanted:
        raise UsageError("there is no agent to ask", hint="see: ddx agent list")
    answers: dict[str, Reply] = {}
    with Interruption(stop):
        for name in wanted:
            if stop.asked:
                break
            tell(f"asking {name}")
            orders = read_orders(project, {"harness": name})
            answers[name] = ask_agent(site, PROMPT, orders, read_only=True)
    return answers


def _answered(reply: Reply) -> bool:
    from ddx.agents import CallEnd

    return reply.end is CallEnd.COMPLETED


def _asked_row(reply: Reply | None) -> dict[str, Any] | None:
    from ddx.cli.agent.output import usage_row

    if reply is None:
        return None
    return {
        "end": str(reply.end),
        "text": reply.text,
        "reason": reply.reason,
        "usage": usage_row(reply.usage.as_row()),
    }


def _print(
    harnesses: Sequence[HarnessStatus], findings: Sequence[Finding], asked: Mapping[str, Reply]
) -> None:
    from ddx.cli.agent.output import spoken, usage_in_words

    for item in harnesses:
        if item.detected.ok:
            used = f", {_USED}" if item.is_chosen else ""
            _print_line(f"{item.name} {item.detected.version or 'is installed'}{used}", is_ok=True)
    for finding in findings:
        _print_line(finding.what, is_ok=finding.is_ok)
        if finding.cure:
            say(f"      -> {_plain(finding.cure)}")
    for name, reply in asked.items():
        line = f"{name} answered ({spoken(reply.end)}): {reply.text or reply.reason}"
        _print_line(line, is_ok=_answered(reply))
        say(f"      {usage_in_words(reply.usage.as_row())}")


def _print_line(text: str, *, is_ok: bool) -> None:
    say(bold("ok  " if is_ok else "mend"), f"  {_plain(text)}")


def _plain(text: str) -> str:
    return shown(cut(text, _LONGEST_SENTENCE), one_line=True)
