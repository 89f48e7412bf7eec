"""Where the tests of a repository live, for intake, proof and the guard (R-2). Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from ddx.base import value, word_set
from ddx.proof.project_checks import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDERS = word_set(
    "tests test testing __tests__ __test__ spec specs e2e testdata test-data test_data "
    "fixtures __fixtures__ __snapshots__ __mocks__ cypress"
)
_NAMES = re.compile(
    r"""
      test_[^/]*\.py | [^/]*_tests?\.py | conftest\.py              # Python
    | [^/]*[._-](test|tests|spec|e2e)\.[cm]?[jt]sx? | [^/]*\.snap   # JavaScript, TypeScript
    | [^/]*_test\.go                                                # Go
    | [^/]*(Test|Tests|IT|Spec)\.(java|kt|scala|groovy)             # the JVM
    | [^/]*_(test|spec)\.rb | test_[^/]*\.rb                        # Ruby
    | [^/]*_test\.exs?                                              # Elixir
    | [^/]*Test\.php                                                # PHP
    | [^/]*(Tests?|Specs?)\.(cs|fs|vb)                              # .NET
    | [^/]*_(test|tests|unittest)\.(c|cc|cpp|cxx|rs) | test_[^/]*\.(c|cc|cpp|cxx)
    """,
    re.VERBOSE,
)
_NO_TESTS = word_set("node_modules vendor third_party .venv venv site-packages")
_DEFAULT_PATTERNS = (
    "tests/**",
    "test_*.py",
    "*_test.go",
    "__tests__/**",
    "*.spec.ts",
    "src/test/**",
)


@value
class TestLocations:
    """Decides whether a path belongs to the tests; `patterns` says so in words."""

    __test__ = False  # pytest must not collect it

    patterns: tuple[str, ...]
    is_set: bool = False
    """Whether a person set them (`checks.tests`); else they are the usual ones."""

    def holds(self, path: str) -> bool:
        """Whether a path is a test, or a fixture or snapshot of tests."""
        if self.is_set:
            return any(pattern_of(glob).fullmatch(path) for glob in self.patterns)
        return is_usual_test(path)


def locate_tests(paths: Iterable[str], given: tuple[str, ...] = ()) -> TestLocations:
    """Where tests live here: as a person says, else where the repository has them."""
    if given:
        return TestLocations(given, is_set=True)
    found: dict[str, int] = {}
    for path in paths:
        if is_usual_test(path):
            pattern = _pattern_for(path)
            found[pattern] = found.get(pattern, 0) + 1
    ranked = sorted(found, key=lambda pattern: (-found[pattern], pattern))
    return TestLocations(tuple(ranked) or _DEFAULT_PATTERNS)


def is_usual_test(path: str) -> bool:
    """Whether a path is a test by the customs of its language."""
    folders = path.split("/")[:-1]
    if not _NO_TESTS.isdisjoint(folders):
        return False
    if _NAMES.fullmatch(posixpath.basename(path)):
        return True
    if not _FOLDERS.isdisjoint(folders):
        return not _is_source_folder(folders)
    return "src/test/" in path or any(it.endswith((".Tests", ".Test")) for it in folders)


def _is_source_folder(folders: list[str]) -> bool:
    """`lib/plug/adapters/test` is product code; `src/test` and `lib/cart/tests` are not."""
    first = next(number for number, it in enumerate(folders) if it in _FOLDERS)
    is_ambiguous = folders[first] in ("test", "testing", "fixtures", "spec", "specs")
    return is_ambiguous and first > 1 and folders[0] in ("src", "lib", "pkg", "app", "internal")


def _pattern_for(path: str) -> str:
    """The folder that makes a path a test, else the shape of its name."""
    parts = path.split("/")
    for number, part in enumerate(parts[:-1]):
        if part in _FOLDERS:
            return "/".join(parts[: number + 1]) + "/**"
    name = parts[-1]
    stem, dot, suffix = name.partition(".")
    if stem.startswith("test_"):
        return f"test_*.{suffix}"
    if stem.endswith("_test"):
        return f"*_test.{suffix}"
    tail = dot + suffix if dot else name
    for word in ("Test", "Tests", "Spec", "IT"):
        if stem.endswith(word):
            return f"*{word}{tail}"
    return f"*{tail}" if suffix.count(".") else name
