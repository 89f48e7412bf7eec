"""How a Python project is tested, and what its environment needs (R-1, R-3). Pure.

Tests run by the interpreter of the workspace's own `.venv`, so that they import the code of the
workspace and no other checkout. Where tox says `pytest {posargs:tests}`, the command and its
requirements are taken from there, and tox itself is not needed.
"""

from __future__ import annotations

import configparser
import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Any

from ddx.base import value
from ddx.proof.detection.command_lines import core_words
from ddx.proof.detection.model import Ecosystem, FoundCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ddx.proof.detection.ci_files import CiCommand
    from ddx.proof.detection.repository_files import RepositoryFiles

PYTHON = ".venv/bin/python"
MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini")
_GROUPS = ("tests", "test", "testing", "dev", "development")
_REQUIREMENTS = (
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
    "tests/requirements.txt",
    "test/requirements.txt",
    "requirements.txt",
)
_POSARGS = re.compile(r"\{posargs(?::([^}]*))?\}")
_TEST_FILE = re.compile(r"(^|/)(test_[^/]+|[^/]+_test|conftest)\.py$")
_MOST_READ = 40


@value
class _Requirements:
    """What the environment gets besides the project itself, and where that is written."""

    arguments: tuple[str, ...]
    where: str
    names: str
    """All of its text, to look for a runner in it."""


def read_python(
    files: RepositoryFiles, folder: str, ci: list[CiCommand], *, is_installed: Callable[[str], bool]
) -> Ecosystem | None:
    """What a folder offers as a Python project; None if it is none, or has no tests."""
    project = _Project(files, folder)
    if not project.is_python:
        return None
    checks: list[FoundCommand] = []
    runner = "pytest" if project.uses_pytest else "unittest" if project.uses_unittest else ""
    wrapper = project.wrapper(is_installed)
    needs_venv = not wrapper and (project.is_installable or bool(project.requirements()))
    python = wrapper or (PYTHON if needs_venv or not is_installed("python3") else "python3")
    if runner == "pytest" and not wrapper and not needs_venv and not is_installed("pytest"):
        python = PYTHON
        needs_venv = True
    for command, where in project.test_commands(ci, runner):
        checks.append(
            FoundCommand("test", _in_environment(command, python, wrapper), where, folder=folder)
        )
    for tool, program in (("tox.ini", "tox"), ("noxfile.py", "nox")):
        if not checks and project.has(tool) and is_installed(program):
            session = "tox run -e py" if program == "tox" else "nox -s tests"
            where = files.line_of(
                project.path(tool), "def tests" if program == "nox" else "[testenv"
            )
            checks.append(FoundCommand("test", session, where, folder=folder, program=program))
    if not checks:
        return None
    checks.extend(
        project.static_checks(python, wrapper, has_environment=bool(wrapper) or needs_venv)
    )
    setup = project.setup(wrapper, runner) if wrapper or needs_venv else []
    return Ecosystem("python", folder, tuple(checks), setup=tuple(setup))


def _in_environment(command: str, python: str, wrapper: str) -> str:
    words = core_words(command)
    rest = " ".join(shlex.quote(word) for word in words[1:])
    head = (
        f"{wrapper} {words[0]}" if wrapper and words[0] != "unittest" else f"{python} -m {words[0]}"
    )
    if wrapper and words[0] == "unittest":
        head = f"{wrapper} python -m unittest"
    return f"{head} {rest}".strip()


class _Project:
    """One folder with Python in it, and what its files say."""

    def __init__(self, files: RepositoryFiles, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._pyproject = files.toml(self.path("pyproject.toml"))
        self._tests = [it for it in files.below(folder) if _TEST_FILE.search(it[len(folder) :])][
            :_MOST_READ
        ]

    def path(self, name: str) -> str:
        return posixpath.join(self._folder, name)

    def has(self, name: str) -> bool:
        return self.path(name) in self._files

    @property
    def is_python(self) -> bool:
        return any(map(self.has, MANIFESTS)) or bool(self._tests)

    @property
    def is_installable(self) -> bool:
        return self.has("setup.py") or any(
            key in self._pyproject for key in ("project", "build-system")
        )

    @property
    def uses_pytest(self) -> bool:
        """Whether its settings, requirements or tests name pytest."""
        if self.has("pytest.ini") or "pytest" in self._tool():
            return True
        if any(re.search(r"\bpytest\b", it.names) for it in self.requirements()):
            return True
        if "[tool:pytest]" in self._files.text(self.path("setup.cfg")):
            return True
        if re.search(r"\bpytest\b", self._files.text(self.path("tox.ini"))):
            return True
        return any(
            posixpath.basename(it) == "conftest.py"
            or re.search(
                r"^\s*(import|from) pytest\b|^def test_", self._files.text(it), re.MULTILINE
            )
            for it in self._tests
        )

    @property
    def uses_unittest(self) -> bool:
        return any("unittest" in self._files.text(it) for it in self._tests)

    def wrapper(self, is_installed: Callable[[str], bool]) -> str:
        """`uv run` or `poetry run` where the project is locked by one that is installed here."""
        if self.has("uv.lock") and is_installed("uv"):
            return "uv run"
        if self.has("poetry.lock") and is_installed("poetry"):
            return "poetry run"
        if self.has("pdm.lock") and is_installed("pdm"):
            return "pdm run"
        return ""

    def test_commands(self, ci: list[CiCommand], runner: str) -> Iterator[tuple[str, str]]:
        """Commands of pytest or unittest, with where each is written, the best first."""
        for it in ci:
            if not it.why_not and it.folder == self._folder:
                words = core_words(it.command)
                if words[:1] in (["pytest"], ["py.test"], ["unittest"]):
                    yield " ".join(map(shlex.quote, _without_reports(words))), it.where
        yield from self._tox_commands()
        if runner == "pytest":
            yield "pytest", self._where_pytest()
        elif runner == "unittest":
            folders = {posixpath.dirname(it) for it in self._tests}
            top = sorted(folders, key=len)[0] if folders else "tests"
            inner = posixpath.relpath(top or ".", self._folder or ".")
            command = "unittest discover" if inner == "." else f"unittest discover -s {inner} -t ."
            yield command, self._tests[0]

    def _where_pytest(self) -> str:
        for name, needle in (
            ("pytest.ini", "[pytest]"),
            ("pyproject.toml", "[tool.pytest"),
            ("setup.cfg", "[tool:pytest]"),
            ("tox.ini", "pytest"),
        ):
            if needle in self._files.text(self.path(name)):
                return self._files.line_of(self.path(name), needle)
        for it in self.requirements():
            if "pytest" in it.names:
                return it.where
        return self._tests[0] if self._tests else self.path("pyproject.toml")

    def _tox_commands(self) -> Iterator[tuple[str, str]]:
        """`pytest ...` of tox's own environment, without what only tox can fill in."""
        section = self._tox_section()
        for raw in section.get("commands", "").splitlines():
            line = raw.partition(": ")[2] if re.match(r"[\w,!-]+: ", raw) else raw
            command = _POSARGS.sub(lambda found: found.group(1) or "", line).strip()
            words = core_words(command)
            if words[:1] == ["pytest"] and "{" not in command:
                yield (
                    " ".join(map(shlex.quote, _without_reports(words))),
                    self._files.line_of(self.path("tox.ini"), raw.strip()),
                )
                return

    def _tox_section(self) -> dict[str, str]:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(self._files.text(self.path("tox.ini")))
        except configparser.Error:
            return {}
        return dict(parser["testenv"]) if parser.has_section("testenv") else {}

    def requirements(self) -> list[_Requirements]:
        """Every list of requirements that may hold the tests' own, the likeliest first."""
        return [*self._of_groups(), *self._of_extras(), *self._of_files(), *self._of_poetry()]

    def _of_groups(self) -> Iterator[_Requirements]:
        groups = self._pyproject.get("dependency-groups")
        if not isinstance(groups, dict):
            return
        for name in _GROUPS:
            listed = _expanded(groups, name)
            if listed:
                where = self._files.line_of(self.path("pyproject.toml"), f"{name} = ")
                yield _Requirements(tuple(listed), where, "\n".join(listed))

    def _of_extras(self) -> Iterator[_Requirements]:
        project = self._pyproject.get("project")
        extras = project.get("optional-dependencies") if isinstance(project, dict) else None
        for name in _GROUPS:
            if isinstance(extras, dict) and isinstance(extras.get(name), list):
                where = self._files.line_of(self.path("pyproject.toml"), f"{name} = ")
                listed = "\n".join(map(str, extras[name]))
                yield _Requirements(("-e", f".[{name}]"), where, listed)

    def _of_files(self) -> Iterator[_Requirements]:
        for name in _REQUIREMENTS:
            if self.has(name):
                path = self.path(name)
                yield _Requirements(("-r", name), path, self._files.text(path))

    def _of_poetry(self) -> Iterator[_Requirements]:
        """Poetry's groups by name alone: pip does not know its way to write versions."""
        poetry = self._tool().get("poetry", {})
        groups = poetry.get("group", {}) if isinstance(poetry, dict) else {}
        for name in _GROUPS if isinstance(groups, dict) else ():
            held = groups.get(name)
            wanted = held.get("dependencies") if isinstance(held, dict) else None
            if isinstance(wanted, dict):
                where = self._files.line_of(self.path("pyproject.toml"), f"group.{name}")
                yield _Requirements(tuple(wanted), where, "\n".join(wanted))

    def setup(self, wrapper: str, runner: str) -> Iterator[FoundCommand]:
        """The commands that give a fresh workspace its environment."""
        if wrapper:
            lock = {"uv run": "uv.lock", "poetry run": "poetry.lock"}.get(wrapper, "pdm.lock")
            program = wrapper.split()[0]
            command = "uv sync" if program == "uv" else f"{program} install"
            yield self._setup(command, self.path(lock))
            return
        yield self._setup(
            "python3 -m venv .venv", self.path("pyproject.toml") if self._pyproject else ""
        )
        named = [it for it in self.requirements() if runner and runner in it.names]
        chosen = named[:1] or self.requirements()[:1]
        arguments = [word for it in chosen for word in it.arguments]
        if self.is_installable and "-e" not in arguments and not _installs_itself(chosen):
            arguments[:0] = ["-e", "."]
        if runner == "pytest" and not named:
            arguments.append("pytest")
        where = chosen[0].where if chosen else self._where_pytest()
        if arguments:
            wanted = " ".join(map(shlex.quote, arguments))
            yield self._setup(f"{PYTHON} -m pip install {wanted}", where)

    def _setup(self, command: str, where: str) -> FoundCommand:
        return FoundCommand("setup", command, where or self._where_pytest(), folder=self._folder)

    def static_checks(
        self, python: str, wrapper: str, *, has_environment: bool
    ) -> list[FoundCommand]:
        """Lint and types, where the environment of the tests brings the program along."""
        found: list[FoundCommand] = []
        needs = "\n".join(it.names for it in self.requirements()[:1])
        tools: tuple[tuple[Any, str, str], ...] = (
            ("lint", "ruff", "ruff check"),
            ("types", "mypy", "mypy"),
        )
        for kind, tool, command in tools:
            if has_environment and tool in self._tool() and re.search(rf"\b{tool}\b", needs):
                where = self._files.line_of(self.path("pyproject.toml"), f"[tool.{tool}")
                text = _in_environment(command, python, wrapper)
                found.append(FoundCommand(kind, text, where, folder=self._folder))
        return found

    def _tool(self) -> dict[str, Any]:
        tool = self._pyproject.get("tool")
        return tool if isinstance(tool, dict) else {}


def _expanded(groups: dict[str, Any], name: str, depth: int = 5) -> list[str]:
    """A group's requirements with those of the groups that it includes."""
    found: list[str] = []
    for item in groups.get(name) or [] if depth else []:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict) and "include-group" in item:
            found.extend(_expanded(groups, str(item["include-group"]), depth - 1))
    return found


def _installs_itself(chosen: list[_Requirements]) -> bool:
    return any(re.search(r"^\s*-e \.", it.names, re.MULTILINE) for it in chosen)


def _without_reports(words: list[str]) -> list[str]:
    """Without coverage and report files: they slow a check down and write into the checkout."""
    kept = []
    for word in words:
        if not word.startswith(("--cov", "--junit", "--html", "--durations", "--color")):
            kept.append(word)
    return kept
