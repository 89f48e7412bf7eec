"""`helix completion`"""

from __future__ import annotations

from ddx.console.spec import Argument, Command

SHELLS = ("bash", "zsh", "fish")


def run(*, shell: str) -> int:
    from ddx.console.clicking import completion_script
    from ddx.console.screen import say
    from ddx.errors import UsageError

    if shell not in SHELLS:
        raise UsageError(
            f"there is no completion for {shell!r}", hint=f"a shell is one of {', '.join(SHELLS)}"
        )
    for program in ("helix", "ddx"):
        say(completion_script(program, shell))
    return 0


COMMAND = Command(
    "completion",
    'Print what makes a shell complete commands; in a profile: eval "$(helix completion bash)".',
    run,
    "helix completion bash",
    arguments=(Argument("shell", "bash, zsh or fish", choices=SHELLS),),
)
