"""Which file a test stands in, the one name that it keeps, and what it proves (G-7, V-2). Pure.

Reports speak of tests in many ways: by a path, by the dots of a Python module or a Java class, by
the import path of a Go package, or not at all. The name is made of the file and the test's own
name and never of a line or a number, which move.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import shlex
from functools import lru_cache
from typing import TYPE_CHECKING

from ddx.base import changed, value
from ddx.documents import SourceFile
from helix.verification.reported_tests import LONGEST_NAME, ReportedTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_CLASS_SUFFIXES = ("java", "kt", "kts", "scala", "groovy", "cs", "php", "swift")
_SEPARATOR = "::"
_PLACE = re.compile(r"(?<![\w./@+-])([\w./@+-]{1,300}):(\d{1,7})")
"""A line of a file, as stacks and compilers write it."""
_MARK_LENGTH = 12
_PARAMETERS = re.compile(r"[\[(/]")


@value
class LocatedTest:
    """A test with its place in the project; `file` is empty where nobody can tell."""

    id: str
    test: ReportedTest
    file: str = ""
    said: str = ""
    """The file as the command that ran it would call it, seen from where it ran."""
    names: tuple[str, ...] = ()
    """Classes and suites around it in that file, the outermost first."""


class ProjectFiles:
    """The files of a project, found by their whole path or by its end."""

    def __init__(self, paths: Iterable[str], *, root: str = "") -> None:
        """`root` is where they lie, for reports that name files by absolute paths."""
        self._paths = frozenset(paths)
        self._root = root.rstrip("/")
        self._by_name: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            folder, name = posixpath.split(path)
            self._by_name.setdefault(name, []).append(path)
            self._by_folder.setdefault(folder, []).append(path)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def find(self, said: str) -> str:
        """The file that is meant; empty if none is, or more than one could be."""
        path = said.removeprefix("file://").replace("\\", "/")
        if self._root and path.startswith(f"{self._root}/"):
            path = path[len(self._root) + 1 :]
        path = posixpath.normpath(path.lstrip("/")) if path else ""
        if path in self._paths:
            return path
        ends = [it for it in self._by_name.get(posixpath.basename(path), ()) if _ends(it, path)]
        return ends[0] if len(ends) == 1 else ""

    def in_folder(self, said: str, ending: str) -> list[str]:
        """Files of one folder, which is named by an import path: the longest end that fits."""
        parts = said.strip("/").split("/")
        for begin in range(len(parts) + 1):
            files = self._by_folder.get("/".join(parts[begin:]), ())
            if found := [path for path in files if path.endswith(ending)]:
                return found
        return []


def locate(
    test: ReportedTest, tree: ProjectFiles, *, command: str, read: Callable[[str], str]
) -> LocatedTest:
    """The test in its file; `read` gives a file's text where only that can tell.

    Where only a failure says the file, the name goes without it: it must stay when the test passes.
    """
    file, said, names = _by_file(test, tree) or _by_group(test, tree, read) or ("", "", ())
    is_told = bool(file)
    if not file:
        file = said = _script_of(command, tree)
        names = tuple(filter(None, (test.group,)))
    is_module = bool(file) and test.name in (file, said, _module_of(said))
    own = () if is_module else (*names, test.name)
    name = _bounded(_SEPARATOR.join(filter(None, (file, *own))))
    if is_told:
        return LocatedTest(name, test, file, said=said, names=names)
    failing, line = _by_failure(test, tree)
    if not failing:
        return LocatedTest(name, test, file, said=said, names=names)
    return LocatedTest(name, changed(test, line=line), failing, said=failing, names=names)


def _module_of(path: str) -> str:
    """What Python calls a file: one that cannot be imported is told of by this name."""
    return posixpath.splitext(path)[0].replace("/", ".")


def _by_file(test: ReportedTest, tree: ProjectFiles) -> tuple[str, str, tuple[str, ...]] | None:
    file = tree.find(test.file) if test.file else ""
    if not file:
        return None
    said = file if posixpath.isabs(test.file) or "://" in test.file else test.file
    return file, posixpath.normpath(said), _names_within(test.group, file)


def _names_within(group: str, file: str) -> tuple[str, ...]:
    """A group without the part of it that only says the file again."""
    if _SEPARATOR in group:
        return tuple(filter(None, group.split(_SEPARATOR)))
    stem = posixpath.splitext(file)[0].split("/")
    parts = group.replace("/", ".").split(".")
    for length in range(min(len(parts), len(stem)), 0, -1):
        if parts[:length] == stem[-length:]:
            return tuple(parts[length:])
    if group == file or posixpath.basename(file) in group.split("/"):
        return ()
    return (group,) if group else ()


def _by_group(
    test: ReportedTest, tree: ProjectFiles, read: Callable[[str], str]
) -> tuple[str, str, tuple[str, ...]] | None:
    for group in filter(None, (test.group, test.name if not test.group else "")):
        if file := tree.find(group):
            return file, group, ()
        if found := _python_module(group, tree) or _class_file(group, tree):
            return found
        if file := _go_file(group, test.name, tree, read):
            return file, file, ()
    return None


def _by_failure(test: ReportedTest, tree: ProjectFiles) -> tuple[str, int]:
    """The one file of tests that a failure names as its place, and the line; else nothing and 0."""
    if file := tree.find(test.fails_at):
        return file, test.line
    places: dict[str, int] = {}
    for path, line in _PLACE.findall(test.output) if test.is_failure else ():
        file = tree.find(path)
        if file and SourceFile(file).kind == "test":
            places.setdefault(file, int(line))
    return places.popitem() if len(places) == 1 else ("", 0)


def _python_module(group: str, tree: ProjectFiles) -> tuple[str, str, tuple[str, ...]] | None:
    parts = group.split(".")
    for length in range(len(parts), 0, -1):
        said = f"{'/'.join(parts[:length])}.py"
        if file := tree.find(said):
            return file, said, tuple(parts[length:])
    return None


def _class_file(group: str, tree: ProjectFiles) -> tuple[str, str, tuple[str, ...]] | None:
    outer, _, inner = group.partition("$")
    whole = outer.replace(".", "/")
    for path in (whole, posixpath.basename(whole)):  # C# and Kotlin need no folder for a package
        for suffix in _CLASS_SUFFIXES:
            if file := tree.find(f"{path}.{suffix}"):
                return file, file, tuple(filter(None, inner.split("$")))
    return None


def _go_file(group: str, name: str, tree: ProjectFiles, read: Callable[[str], str]) -> str:
    function = name.partition("/")[0]
    if not function.isidentifier():
        return ""
    for path in tree.in_folder(group, "_test.go"):
        if f"func {function}(" in read(path):
            return path
    return ""


def _script_of(command: str, tree: ProjectFiles) -> str:
    """The one file of tests, or else the one program, that the command names."""
    words = [word for word in words_of(command) if word.removeprefix("./") in tree]
    files = list(dict.fromkeys(word.removeprefix("./") for word in words))
    tests = [file for file in files if SourceFile(file).kind == "test"]
    scripts = tests or [file for file in files if SourceFile(file).is_scanned] or files
    return scripts[0] if len(scripts) == 1 else ""


@lru_cache(maxsize=64)
def words_of(command: str) -> tuple[str, ...]:
    """The words of a shell command, as well as they can be told apart."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        return tuple(lexer)
    except ValueError:
        return tuple(command.split())


def _ends(path: str, end: str) -> bool:
    return bool(end) and path.endswith(f"/{end}")


def _bounded(name: str) -> str:
    """A name that is too long keeps its begin, and a mark that only it has."""
    if len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK_LENGTH]
    return f"{name[: LONGEST_NAME - _MARK_LENGTH - 1]}~{mark}"


@value
class SpecRef:
    """What a test says that it proves; `unknown` are names that no document has."""

    document: str = ""
    unknown: tuple[str, ...] = ()


def find_spec(file: SourceFile, *, line: int, resolve: Callable[[str], str]) -> SpecRef:
    """The document that the test at a line of a file names; `line` 0: nobody knows where it is."""
    names = file.names_for(line)
    documents = [document for name in names if (document := resolve(name))]
    if documents:
        return SpecRef(documents[0])
    return SpecRef(unknown=tuple(dict.fromkeys(names)))  # never what another test is about


def line_of(text: str, test: LocatedTest) -> int:
    """Where the test stands in its file: its own name tells better than a report's number."""
    name = _PARAMETERS.split(test.test.name)[0].strip()
    lines = text.split("\n")
    for sought in (f"def {name}(", f"func {name}(", name):
        for number, line in enumerate(lines, start=1):
            if name and sought in line:
                return number
    return test.test.line if test.test.line <= len(lines) else 0
