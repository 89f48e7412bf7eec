"""`ddx checks detect`"""

from __future__ import annotations

from ddx.cli.context import here, settings
from ddx.console import JSON, Command, answer, say, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.proof import Detection

_MOST_LEFT_OUT = 5


@Command.of(example="ddx checks detect", flags=(JSON,), schema="checks-detected")
def run(*, json: bool) -> int:
    """Find out how this repository is tested and set up, from its CI and its own files."""
    from ddx.proof import detect_checks

    project = here()
    found = detect_checks(project.root, given_tests=settings(project).test_patterns)
    if json:
        answer(found.as_row())
    else:
        _print(found)
    return 0


def _print(found: Detection) -> None:
    commands = [*found.checks, *found.setup]
    if commands:
        rows = [(it.kind, it.shell_text, it.where) for it in commands]
        table(("for", "command", "read from"), rows)
    if found.left_out:
        say("")
        say("not proposed:")
    for it in found.left_out[:_MOST_LEFT_OUT]:
        say(f"  {it.where}: `{it.command}` {it.why}")
    if len(found.left_out) > _MOST_LEFT_OUT:
        say(f"  ... {len(found.left_out) - _MOST_LEFT_OUT} more; --json gives them all")
    say("")
    if found.test_checks:
        say(f"tests live in {', '.join(found.tests.patterns[:4])}")
        say("Next: `helix init --yes` writes the test and the set-up into .ddx/config.yaml")
    else:
        say("no command that runs tests was found, so nothing can prove work here")
        say('Next: name one in .ddx/config.yaml: checks: {default: ["make test"]}')
