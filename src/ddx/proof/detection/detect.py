"""What proves work in this repository: the commands of CI first, then manifests (R-1, R-3).

Only what can be run here is proposed: a command of CI that needs a variable, a matrix or a service
is shown with the reason, and the next best way to run the tests is proposed instead.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from typing import TYPE_CHECKING, Any

from ddx.base import changed, value, word_set
from ddx.git import Repository
from ddx.proof.detection.ci_files import ci_commands, is_ci_file
from ddx.proof.detection.command_lines import KINDS, core_words, kind_of
from ddx.proof.detection.model import Ecosystem, FoundCommand, LeftOut
from ddx.proof.detection.node_projects import read_node
from ddx.proof.detection.other_ecosystems import read_other
from ddx.proof.detection.python_projects import read_python
from ddx.proof.detection.repository_files import RepositoryFiles, read_text
from ddx.proof.detection.task_files import is_test_like, target_of_call, targets_of, usual_target
from ddx.proof.detection.test_locations import TestLocations, locate_tests

if TYPE_CHECKING:
    from collections.abc import Callable

    from ddx.proof.detection.ci_files import CiCommand
    from ddx.proof.detection.task_files import Target

_MANIFESTS = re.compile(
    r"pyproject\.toml|setup\.py|package\.json|go\.mod|Cargo\.toml|pom\.xml|build\.gradle(\.kts)?|Gemfile"
    r"|mix\.exs|composer\.json|CMakeLists\.txt|[^/]+\.sln"
)
_NO_PACKAGE = word_set(
    "example examples sample samples fixture fixtures test tests testing testdata __tests__ "
    "spec docs doc node_modules vendor vendor-bin third_party template templates benchmark "
    "benchmarks bench e2e playground demo demos tools scripts support fuzz metrics"
)
_DEEPEST_PACKAGE = 3
_MOST_PACKAGES = 30


@value
class Detection:
    """What was found: the checks and the set-up to propose, and what is shown beside them."""

    checks: tuple[FoundCommand, ...]
    setup: tuple[FoundCommand, ...]
    left_out: tuple[LeftOut, ...]
    tests: TestLocations

    @property
    def test_checks(self) -> tuple[FoundCommand, ...]:
        return tuple(it for it in self.checks if it.kind == "test")

    def as_row(self) -> dict[str, Any]:
        """The detection as `ddx checks detect --json` prints it."""
        return {
            "checks": [it.as_row() for it in self.checks],
            "setup": [it.as_row() for it in self.setup],
            "left_out": [
                {"command": it.command, "where": it.where, "why": it.why} for it in self.left_out
            ],
            "tests": list(self.tests.patterns),
        }


def detect_checks(root: str, *, given_tests: tuple[str, ...] = ()) -> Detection:
    """Read a repository's files and say how it is tested, linted, typed, built and set up."""
    files = RepositoryFiles(
        Repository(root).visible_files() or (), lambda path: read_text(root, path)
    )
    return detect(
        files,
        is_installed=lambda program: shutil.which(program) is not None,
        given_tests=given_tests,
    )


def detect(
    files: RepositoryFiles,
    *,
    is_installed: Callable[[str], bool],
    given_tests: tuple[str, ...] = (),
) -> Detection:
    """The same for any set of files; `is_installed` says which programs can be started here."""
    ci = [
        it for path in files.paths if is_ci_file(path) for it in ci_commands(path, files.text(path))
    ]
    found: list[Ecosystem] = []
    for folder in _package_folders(files):
        covered = {it.name for it in found if _covers(it.folder, folder)}
        targets = targets_of(files, folder)
        resolved = _resolved(ci, targets, folder)
        read = [
            read_python(files, folder, resolved, is_installed=is_installed),
            read_node(files, folder, resolved),
            *read_other(files, folder, resolved),
        ]
        ecosystems = [it for it in read if it is not None and it.name not in covered]
        by_target = _by_targets(targets, resolved, folder)
        if by_target and not ecosystems and (folder == "" or not covered):
            ecosystems = [by_target]
        found.extend(ecosystems)
    return _proposal(found, ci, locate_tests(files.paths, given_tests), is_installed)


def _covers(outer: str, inner: str) -> bool:
    return outer != inner and (not outer or inner.startswith(f"{outer}/"))


def _package_folders(files: RepositoryFiles) -> list[str]:
    """The top, and folders that are projects of their own, the nearest to the top first."""
    folders = {""}
    for path in files.paths:
        folder, name = posixpath.split(path)
        parts = folder.split("/")
        if (
            folder
            and _MANIFESTS.fullmatch(name)
            and len(parts) <= _DEEPEST_PACKAGE
            and _NO_PACKAGE.isdisjoint(parts)
            and not any(part.startswith(".") for part in parts)
        ):
            folders.add(folder)
    return sorted(folders, key=lambda it: (it.count("/") if it else -1, it))[:_MOST_PACKAGES]


def _resolved(ci: list[CiCommand], targets: dict[str, Target], folder: str) -> list[CiCommand]:
    """CI's commands, each `make ci` also as the plain test command of that target's recipe."""
    found = []
    for it in ci:
        target = target_of_call(it.command, targets) if it.folder == folder else None
        inner = target.runner_command() if target else ""
        found.append(changed(it, command=inner) if inner else it)
    return found


def _by_targets(targets: dict[str, Target], ci: list[CiCommand], folder: str) -> Ecosystem | None:
    """Targets and scripts of the repository's own, where no language says how it is tested."""
    checks = []
    for it in ci:
        words = core_words(it.command)
        if it.why_not or it.folder != folder or kind_of(it.command) != "test" or not words:
            continue
        if target_of_call(it.command, targets) or words[0].startswith(
            ("./", "scripts/", "script/", "bin/")
        ):
            checks.append(FoundCommand("test", it.command, it.where, folder=folder))
            break
    for kind in KINDS[:-1]:
        target = usual_target(targets, kind)
        if target and not (kind == "test" and (checks or not is_test_like(target))):
            checks.append(
                FoundCommand(kind, target.call, target.where, folder=folder, program=target.program)
            )
    has_test = any(it.kind == "test" for it in checks)
    return Ecosystem("targets", folder, tuple(checks)) if has_test else None


def _proposal(
    found: list[Ecosystem],
    ci: list[CiCommand],
    tests: TestLocations,
    is_installed: Callable[[str], bool],
) -> Detection:
    """One check for each purpose and package, in the order test, lint, types, build."""
    checks: list[FoundCommand] = []
    setup: list[FoundCommand] = []
    left_out = [
        LeftOut(it.command, it.where, it.why_not)
        for it in ci
        if it.why_not and kind_of(it.command) == "test"
    ]
    for ecosystem in found:
        missing = next(
            (it.program for it in ecosystem.checks if it.program and not is_installed(it.program)),
            "",
        )
        if missing:
            left_out.extend(
                LeftOut(it.shell_text, it.where, f"{missing} is not installed")
                for it in ecosystem.checks
                if it.kind == "test"
            )
            continue
        taken: set[str] = set()
        for it in ecosystem.checks:
            if it.kind not in taken:
                taken.add(it.kind)
                checks.append(it)
        setup.extend(ecosystem.setup)
    checks.sort(key=lambda it: KINDS.index(it.kind))
    return Detection(tuple(checks), tuple(setup), tuple(dict.fromkeys(left_out)), tests=tests)
