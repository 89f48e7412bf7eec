"""`ddx agent doctor`"""

from __future__ import annotations

from ddx.cli.agent.list import USED, harness_row
from ddx.cli.place import CLOCK, here, settings
from ddx.console.screen import answer, bold, say
from ddx.console.spec import JSON, Argument, Command, Flag
from ddx.errors import UsageError
from ddx.text import cut, shown_on_one_line
from ddx.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ddx.execution.checkup import Finding
    from ddx.harnesses.base import Reply
    from ddx.harnesses.examining import Examined
    from ddx.project import Project
    from ddx.settings import Settings

SOMETHING_FOUND = 1
PROMPT = "This is a test of the connection. Do not use any tool. Answer with the one word: ready"
_LONGEST_SENTENCE = 600


@value
class Asked:
    """What a harness answered, where somebody asked it."""

    harness: str
    reply: Reply


def run(*, name: tuple[str, ...], ask: bool, json: bool) -> int:
    from ddx.execution.checkup import examine_surroundings
    from ddx.harnesses.examining import examine

    project = here()
    found = settings(project)
    harnesses = [item for item in examine(project, found, name) if name or _counts(item, found)]
    findings = [
        *examine_surroundings(project, found, clock=CLOCK),
        *_of_harnesses(harnesses),
    ]
    asked = _ask(project, found, harnesses) if ask else []
    if json:
        answer(
            {
                "harnesses": [
                    {**harness_row(item), "asked": _asked_row(item, asked)} for item in harnesses
                ],
                "findings": [dict(finding.__dict__) for finding in findings],
            }
        )
    else:
        _print(harnesses, findings, asked)
    sound = all(finding.ok for finding in findings) and all(_answered(it.reply) for it in asked)
    return 0 if sound else SOMETHING_FOUND


def _counts(item: Examined, found: Settings) -> bool:
    """An agent that is installed, or that a file of the project or the user names."""
    from ddx.harnesses.examining import SCRIPTED

    return item.kind not in SCRIPTED and (item.is_installed or item.name in found.harnesses)


def _of_harnesses(harnesses: Sequence[Examined]) -> list[Finding]:
    from ddx.execution.checkup import Finding

    if not harnesses:
        return [
            Finding(
                "harness",
                False,
                "no agent program is installed",
                "install one, such as claude or codex; or name your own under harnesses in "
                ".ddx/config.yaml; then: ddx agent list",
            )
        ]
    return [
        Finding(
            "harness",
            False,
            f"{item.name}: {item.detected.problem}",
            f"mend it, then: ddx agent doctor {item.name}",
        )
        for item in harnesses
        if item.detected.problem
    ]


def _ask(project: Project, found: Settings, harnesses: Sequence[Examined]) -> list[Asked]:
    """One word from each that can speak for itself; this costs tokens."""
    from ddx.cli.agent.drain_flags import read_orders
    from ddx.cli.agent.watching import interruptible
    from ddx.cli.place import tell
    from ddx.execution.prompting import ask_once
    from ddx.execution.work import open_site
    from ddx.harnesses.examining import SCRIPTED
    from ddx.harnesses.registry import resolve_model
    from ddx.supervision import StopRequest

    stop = StopRequest()
    site = open_site(project, lambda happening: None, stop=stop, clock=CLOCK, tell=tell)
    wanted = [item.name for item in harnesses if item.detected.ok and item.kind not in SCRIPTED]
    if not wanted:
        raise UsageError("there is no agent to ask", hint="see: ddx agent list")
    answers = []
    with interruptible(stop):
        for name in wanted:
            if stop.asked:
                break
            tell(f"asking {name}")
            orders = read_orders(
                project, harness=name, model=None, effort=None, timeout=None, preface=None
            )
            reply = ask_once(
                site,
                prompt=PROMPT,
                harness=name,
                model=resolve_model(name, "", found),
                effort="",
                limits=orders.limits,
                read_only=True,
            )
            answers.append(Asked(name, changed(reply, text=site.masker.mask(reply.text))))
    return answers


def _answered(reply: Reply) -> bool:
    from ddx.harnesses.base import End

    return reply.end is End.COMPLETED


def _asked_row(item: Examined, asked: Sequence[Asked]) -> dict[str, Any] | None:
    from ddx.cli.agent.rendering import usage_row

    reply = next((it.reply for it in asked if it.harness == item.name), None)
    if reply is None:
        return None
    return {
        "end": str(reply.end),
        "text": reply.text,
        "reason": reply.reason,
        "usage": usage_row(reply.usage.as_row()),
    }


def _print(
    harnesses: Sequence[Examined], findings: Sequence[Finding], asked: Sequence[Asked]
) -> None:
    from ddx.cli.agent.rendering import spoken, usage_in_words

    for item in harnesses:
        if item.detected.ok:
            used = f", {USED}" if item.is_chosen else ""
            _print_line(f"{item.name} {item.detected.version or 'is installed'}{used}", is_ok=True)
    for finding in findings:
        _print_line(finding.what, is_ok=finding.ok)
        if finding.cure:
            say(f"      -> {_plain(finding.cure)}")
    for it in asked:
        said = it.reply.text or it.reply.reason
        line = f"{it.harness} answered ({spoken(it.reply.end)}): {said}"
        _print_line(line, is_ok=_answered(it.reply))
        say(f"      {usage_in_words(it.reply.usage.as_row())}")


def _print_line(text: str, *, is_ok: bool) -> None:
    say(bold("ok  " if is_ok else "mend"), f"  {_plain(text)}")


def _plain(text: str) -> str:
    return shown_on_one_line(cut(text, _LONGEST_SENTENCE))


COMMAND = Command(
    "agent doctor",
    "Look whether agents can work here, and say what to mend (exit 1 if there is something).",
    run,
    "ddx agent doctor claude --ask",
    arguments=(Argument("name", "only these harnesses", many=True, required=False),),
    flags=(
        Flag("--ask", "send each a prompt of one word; this costs tokens", kind="switch"),
        JSON,
    ),
    schema="agent-doctor",
)
