"""`helix install`"""

from __future__ import annotations

from ddx.console.screen import answer, say
from ddx.console.spec import JSON, Command, Flag


def run(*, skills_only: bool, remove: bool, json: bool) -> int:
    from ddx.errors import UsageError
    from helix.installing import launchers

    if remove and skills_only:
        raise UsageError("--remove and --skills-only exclude each other")
    done = list(launchers.remove() if remove else launchers.install(skills_only=skills_only))
    if json:
        answer({"done": done})
        return 0
    for sentence in done:
        say(sentence)
    if not done:
        say("there was nothing of ours" if remove else "everything is in its place already")
    if not remove and not skills_only and not launchers.are_on_path():
        folder = launchers.launcher_folder()
        say(f"next: {folder} is not on your PATH; add it in your shell's profile:")
        say(f'  export PATH="{folder}:$PATH"')
    return 0


COMMAND = Command(
    "install",
    "Link the skills for agents and put helix and ddx on the PATH; --remove undoes just that.",
    run,
    "helix install --skills-only",
    flags=(
        Flag("--skills-only", "link the skills; write no launchers", kind="switch"),
        Flag("--remove", "take away what an earlier install put here, and nothing else", "switch"),
        JSON,
    ),
    schema="helix-install",
)
