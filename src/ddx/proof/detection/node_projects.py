"""How a Node project is tested, and how its packages are installed (R-1, R-3). Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.proof.detection.command_lines import CheckKind, core_words, kind_of_target
from ddx.proof.detection.model import Ecosystem, FoundCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.proof.detection.ci_files import CiCommand
    from ddx.proof.detection.repository_files import RepositoryFiles

MANIFEST = "package.json"
_LOCKS = {
    "pnpm-lock.yaml": ("pnpm", "pnpm install --frozen-lockfile"),
    "yarn.lock": ("yarn", "yarn install --immutable"),
    "bun.lockb": ("bun", "bun install --frozen-lockfile"),
    "bun.lock": ("bun", "bun install --frozen-lockfile"),
    "package-lock.json": ("npm", "npm ci"),
    "npm-shrinkwrap.json": ("npm", "npm ci"),
}
_PLACEHOLDER = "no test specified"
_CALLS_TEST = re.compile(r"\b(npm|yarn|pnpm|bun) (run )?(t|tst|test)\b(?![-:])")
_NAMES: dict[CheckKind, tuple[str, ...]] = {
    "test": ("test", "tests", "test:unit", "unit", "test-unit", "check"),
    "lint": ("lint", "eslint"),
    "types": ("typecheck", "type-check", "check-types", "types", "tsc"),
    "build": ("build", "compile"),
}


def read_node(files: RepositoryFiles, folder: str, ci: list[CiCommand]) -> Ecosystem | None:
    """What a folder offers as a Node project; None if it is none, or has no test of its own."""
    path = posixpath.join(folder, MANIFEST)
    if path not in files:
        return None
    package = files.json(path)
    held = package.get("scripts")
    scripts = (
        {name: text for name, text in held.items() if isinstance(text, str)}
        if isinstance(held, dict)
        else {}
    )
    program, install, where = _package_manager(
        files, folder, str(package.get("packageManager", ""))
    )
    checks = [
        FoundCommand(kind, _call(program, name), source, folder=folder, program=program)
        for kind, name, source in _chosen(files, path, scripts, ci, folder)
    ]
    if not any(it.kind == "test" for it in checks):
        return None
    needs_packages = any(
        package.get(key) for key in ("dependencies", "devDependencies", "workspaces")
    )
    setup = FoundCommand("setup", install, where or path, folder=folder, program=program)
    return Ecosystem("node", folder, tuple(checks), setup=(setup,) if needs_packages else ())


def _package_manager(files: RepositoryFiles, folder: str, named: str) -> tuple[str, str, str]:
    """The program, its command for a clean installation, and the lock file that says so.

    A package of a workspace is installed by the lock file of the folder above it.
    """
    above = folder
    while True:
        for lock, (program, install) in _LOCKS.items():
            path = posixpath.join(above, lock)
            if path in files:
                return program, install, path
        if not above:
            break
        above = posixpath.dirname(above)
    program = (
        named.partition("@")[0] if named.partition("@")[0] in ("pnpm", "yarn", "bun") else "npm"
    )
    return program, f"{program} install", ""


def _chosen(
    files: RepositoryFiles, path: str, scripts: dict[str, str], ci: list[CiCommand], folder: str
) -> Iterator[tuple[CheckKind, str, str]]:
    """One script for each purpose: the one that CI runs, else the one with the usual name."""
    for kind, usual in _NAMES.items():
        by_ci = _script_of_ci(kind, scripts, ci, folder)
        if by_ci:
            yield kind, by_ci[0], by_ci[1]
            continue
        for name in usual:
            if name in scripts and _PLACEHOLDER not in scripts[name]:
                if name == "check" and kind_of_target(scripts[name].split()[0]) not in (
                    "test",
                    None,
                ):
                    continue
                yield kind, name, files.line_of(path, f'"{name}":')
                break


def _script_of_ci(
    kind: CheckKind, scripts: dict[str, str], ci: list[CiCommand], folder: str
) -> tuple[str, str] | None:
    for it in ci:
        words = core_words(it.command)
        if (
            it.why_not
            or it.folder != folder
            or words[:1] not in (["npm"], ["yarn"], ["pnpm"], ["bun"])
        ):
            continue
        plain = [word for word in words[1:] if not word.startswith("-")]
        name = next((word for word in plain if word not in ("run", "run-script")), "")
        name = "test" if name == "t" else name
        if name not in scripts or _PLACEHOLDER in scripts[name] or kind_of_target(name) != kind:
            continue
        if kind == "test" and "test" in scripts and _CALLS_TEST.search(scripts[name]):
            name = "test"  # what CI adds to it is coverage, which proves nothing more
        return name, it.where
    return None


def _call(program: str, name: str) -> str:
    if name == "test" and program != "bun":
        return f"{program} test"
    return f"{program} run {name}"
