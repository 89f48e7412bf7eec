"""Go, Rust, Java, Ruby, Elixir, PHP, C, C++ and .NET, each as a row of one table. Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.base import value
from ddx.proof.detection.command_lines import core_words, kind_of
from ddx.proof.detection.model import Ecosystem, FoundCommand

if TYPE_CHECKING:
    from ddx.proof.detection.ci_files import CiCommand
    from ddx.proof.detection.command_lines import CheckKind
    from ddx.proof.detection.repository_files import RepositoryFiles


@value
class _Row:
    """One ecosystem: its manifest, how it is tested, and how it gets what it needs."""

    name: str
    manifest: re.Pattern[str]
    program: str
    test: str
    lint: str = ""
    setup: str = ""
    wrapper: str = ""
    """A script of the repository that stands for the program: `./gradlew`."""
    tests: re.Pattern[str] | None = None
    """Without a file like this there is nothing to test; None: the manifest is enough."""
    runs: tuple[str, ...] = ()
    """Programs whose command in CI is taken over instead of `test`."""


def _manifest(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


ROWS = (
    _Row(
        "go",
        _manifest(r"go\.mod"),
        "go",
        test="go test ./...",
        lint="go vet ./...",
        setup="go mod download",
        tests=re.compile(r"_test\.go$"),
        runs=("go",),
    ),
    _Row(
        "rust",
        _manifest(r"Cargo\.toml"),
        "cargo",
        test="cargo test",
        setup="cargo fetch",
        runs=("cargo",),
    ),
    _Row(
        "maven",
        _manifest(r"pom\.xml"),
        "mvn",
        test="mvn -B test",
        wrapper="mvnw",
        tests=re.compile(r"src/test/"),
        runs=("mvn", "./mvnw"),
    ),
    _Row(
        "gradle",
        _manifest(r"build\.gradle(\.kts)?"),
        "gradle",
        test="gradle test",
        wrapper="gradlew",
        tests=re.compile(r"src/test/"),
        runs=("gradle", "./gradlew"),
    ),
    _Row(
        "ruby",
        _manifest(r"Gemfile"),
        "bundle",
        test="bundle exec rake",
        setup="bundle install",
        tests=re.compile(r"(_spec|_test|/test_[^/]+)\.rb$"),
        runs=("rake", "rspec"),
    ),
    _Row(
        "elixir",
        _manifest(r"mix\.exs"),
        "mix",
        test="mix test",
        setup="mix deps.get",
        tests=re.compile(r"_test\.exs$"),
        runs=("mix",),
    ),
    _Row(
        "php",
        _manifest(r"composer\.json"),
        "composer",
        test="vendor/bin/phpunit",
        setup="composer install",
        tests=re.compile(r"Test\.php$"),
        runs=("phpunit", "./vendor/bin/phpunit", "vendor/bin/phpunit", "vendor/bin/simple-phpunit"),
    ),
    _Row(
        "cmake",
        _manifest(r"CMakeLists\.txt"),
        "cmake",
        test="cmake --build build && ctest --test-dir build --output-on-failure",
        setup="cmake -S . -B build",
        tests=re.compile(r"(^|/)tests?/"),
    ),
    _Row(
        "dotnet",
        _manifest(r"[^/]+\.sln"),
        "dotnet",
        test="dotnet test",
        setup="dotnet restore",
        runs=("dotnet",),
    ),
)


def read_other(files: RepositoryFiles, folder: str, ci: list[CiCommand]) -> list[Ecosystem]:
    """What a folder offers in the other languages."""
    here = [it for it in files.below(folder) if posixpath.dirname(it) == folder]
    found = []
    for row in ROWS:
        manifest = next((it for it in here if row.manifest.fullmatch(posixpath.basename(it))), None)
        if manifest is None:
            continue
        if row.tests and not any(row.tests.search(it) for it in files.below(folder)):
            continue
        found.append(_ecosystem(row, files, folder, ci, manifest=manifest))
    return found


def _ecosystem(
    row: _Row, files: RepositoryFiles, folder: str, ci: list[CiCommand], *, manifest: str
) -> Ecosystem:
    has_wrapper = row.wrapper and posixpath.join(folder, row.wrapper) in files
    program = f"./{row.wrapper}" if has_wrapper else row.program

    def command(kind: CheckKind, text: str) -> FoundCommand:
        spoken = text.replace(row.program, program, 1) if text.startswith(row.program) else text
        needed = "" if has_wrapper else row.program
        return FoundCommand(kind, spoken, manifest, folder=folder, program=needed)

    checks = []
    by_ci = _of_ci(row, ci, folder)
    if by_ci is not None:
        checks.append(
            FoundCommand("test", by_ci.command, by_ci.where, folder=folder, program=row.program)
        )
    elif row.name == "ruby" and posixpath.join(folder, "Rakefile") not in files:
        is_spec = any(it.endswith("_spec.rb") for it in files.below(folder))
        checks.append(
            command("test", "bundle exec rspec" if is_spec else "bundle exec ruby -Itest")
        )
    else:
        checks.append(command("test", row.test))
    if row.lint:
        checks.append(command("lint", row.lint))
    setup = (command("setup", row.setup),) if row.setup else ()
    return Ecosystem(row.name, folder, tuple(checks), setup=setup)


def _of_ci(row: _Row, ci: list[CiCommand], folder: str) -> CiCommand | None:
    """The test command that CI runs by one of the row's own programs."""
    for it in ci:
        words = core_words(it.command)
        if (
            not it.why_not
            and it.folder == folder
            and words
            and words[0] in row.runs
            and kind_of(it.command) == "test"
        ):
            return it
    return None
