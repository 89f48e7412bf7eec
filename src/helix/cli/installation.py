"""HELIX in a repository and on a machine: set up, looked after, and offered to other programs."""

from __future__ import annotations

import os
import sys

from ddx.base import Clock, DdxError, NotFound, UsageError, cut, shown
from ddx.console import JSON, Argument, Command, Flag, answer, bold, has_person, say
from ddx.project import find_project
from helix.cli.context import present, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ddx.project import Project

SOMETHING_FOUND = 1
SHELLS = ("bash", "zsh", "fish")
_LONGEST_SENTENCE = 600


@Command.of(
    example='helix init --docs "Bread club"',
    flags=(
        Flag("--docs", "begin vision and requirements for the product of this name"),
        Flag(
            "--trust", "also let commands of this repository run: hooks, checks, set-up", "switch"
        ),
        Flag("--yes", "also write the checks and the set-up that were found", "switch"),
        JSON,
    ),
    schema="helix-init",
)
def init(*, docs: str | None, trust: bool, yes: bool, json: bool) -> int:
    """Set this repository up: queue, settings, a section in AGENTS.md; what is there stays."""
    from ddx.tracker import Tracker
    from helix.install import launcher_of, set_up_repository
    from helix.project import require_resources

    if docs is not None and not docs.strip():
        raise UsageError("--docs needs the product's name", hint='helix init --docs "Bread club"')
    require_resources()
    project = find_project(os.getcwd())
    tracker = Tracker(project, clock=Clock(), command="helix init", tell=tell)
    sentences = set_up_repository(
        project,
        tracker,
        launcher=launcher_of("ddx"),
        clock=Clock(),
        documents=(docs or "").strip(),
        trust=trust,
    )
    done = list(sentences)
    if not json:
        for sentence in done or [f"{project.root} is set up already"]:
            say(sentence)
    checks = _propose_checks(project, done, yes=yes, json=json)
    trusted = project.is_trusted()
    row = {"root": project.root, "done": done, "trusted": trusted, "checks": checks}
    lines = [
        *(["next: commit what was made; git status shows it"] if done else ()),
        *(() if trusted else ["next: look at what its checks would run, then: helix trust"]),
        'next: helix input "<what you want>", then: helix run',
    ]
    return present(row, lines, json=json)


def _propose_checks(project: Project, done: list[str], *, yes: bool, json: bool) -> list[str]:
    """What was found to prove work here; written into the settings if a person agrees (R-1)."""
    from ddx.project import read_settings
    from ddx.proof import propose_checks

    proposal = propose_checks(project, read_settings(project, clock=Clock()))
    if proposal is None:
        return []
    found = [*proposal.sentences]
    if not json:
        for sentence in found:
            say(sentence)
    if proposal.has_test and (yes or (not json and _agrees())):
        done.append(proposal.write())
        if not json:
            say(done[-1])
    elif not json and not proposal.has_test:
        say("next: name one in .ddx/config.yaml: checks: {default: [...]}")
    elif not json:
        say("next: helix init --yes, to write these settings into .ddx/config.yaml")
    return found


def _agrees() -> bool:
    """Whether somebody is there to ask, and says yes."""
    if not has_person():
        return False
    tell("use these checks? [Y/n]")
    line = (
        sys.stdin.readline()
    )  # empty, without a line's end: the input was closed, which is no yes
    return bool(line) and line.strip().lower() in ("", "y", "yes")


@Command.of(
    example="helix doctor --fix",
    flags=(Flag("--fix", "mend what can be mended without losing anything", "switch"), JSON),
    schema="helix-doctor",
)
def doctor(*, fix: bool, json: bool) -> int:
    """Look whether HELIX can work here, and say what to type where not (exit 1 then)."""
    from ddx.base import Finding
    from ddx.tracker import Tracker
    from helix.cli.registry import words
    from helix.install import examine_machine, examine_repository, mend

    mended: list[str] = []
    findings = []
    try:
        project = find_project(os.getcwd())
    except NotFound as problem:
        findings.append(Finding.fault("set-up", problem.message, cure="git init, then: helix init"))
    else:
        tracker = Tracker(project, clock=Clock(), command="helix doctor", tell=tell)
        if fix:
            try:
                mended += mend(project, tracker, clock=Clock(), tell=tell)
            except DdxError as problem:  # what is left is looked at all the same
                findings.append(Finding.fault("mending", problem.message, cure=problem.hint))
        findings += examine_repository(project, tracker, clock=Clock())
    findings = [*examine_machine(commands=words()), *findings]
    if json:
        answer({"mended": mended, "findings": [it.as_row() for it in findings]})
    else:
        for sentence in mended:
            say(bold("done"), f"  {_plain(sentence)}")
        for it in findings:
            word = "ok  " if it.is_ok else "mend" if it.is_error else "warn"
            say(bold(word), f"  {it.kind}: {_plain(it.what)}")
            if it.cure:
                say(f"      -> {_plain(it.cure)}")
    return SOMETHING_FOUND if any(it.is_error for it in findings) else 0


def _plain(text: str) -> str:
    return shown(cut(text, _LONGEST_SENTENCE), one_line=True)


@Command.of(
    example="helix install --skills-only",
    flags=(
        Flag("--skills-only", "link the skills; write no launchers", "switch"),
        Flag("--remove", "take away what an earlier install put here, and nothing else", "switch"),
        JSON,
    ),
    schema="helix-install",
)
def install(*, skills_only: bool, remove: bool, json: bool) -> int:
    """Link the skills for agents and put helix and ddx on the PATH; --remove undoes just that."""
    from helix.install import launchers

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


@Command.of(
    example="helix skills validate",
    arguments=(Argument("root", "the plugin's folder; without it our own", required=False),),
    flags=(JSON,),
    schema="helix-skills",
)
def validate_skills(*, root: str | None, json: bool) -> int:
    """Look whether the skills can be loaded and name only what exists (exit 1 if not)."""
    from ddx import __version__
    from helix.cli.registry import words
    from helix.install import validate_skills
    from helix.project import plugin_root

    place = os.path.abspath(root or plugin_root())
    if not os.path.isdir(os.path.join(place, "skills")):
        raise NotFound(f"there is no folder skills in {place}", hint="helix skills validate ROOT")
    faults = validate_skills(place, commands=words(), version=__version__)
    lines = [f"{os.path.relpath(it.path, place)}: {it.what}\n  -> {it.cure}" for it in faults]
    row = {"root": place, "faults": [fault.__dict__ for fault in faults]}
    present(row, lines or [f"the skills in {place} are sound"], json=json)
    return SOMETHING_FOUND if faults else 0


# -- for other programs -----------------------------------------------------------------------


@Command.of(
    example="helix completion bash",
    arguments=(Argument("shell", "bash, zsh or fish", choices=SHELLS),),
)
def completion(*, shell: str) -> int:
    """Print what makes a shell complete commands; in a profile: eval "$(helix completion bash)"."""
    from ddx.console import Program

    if shell not in SHELLS:
        raise UsageError(
            f"there is no completion for {shell!r}", hint=f"a shell is one of {', '.join(SHELLS)}"
        )
    for program in ("helix", "ddx"):
        say(Program.completion(program, shell))
    return 0


@Command.of(example="helix mcp")
def mcp() -> int:
    """Serve the queue, the documents and the memory to agents by MCP, on stdin and stdout."""
    from helix.mcp import serve

    serve()
    return 0
