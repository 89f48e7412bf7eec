"""Which files the graph is made of, and reading them (G-1, G-7, G-10).

A test or source file names its documents in tags, such as pytest's marker `requirement`.
"""

from __future__ import annotations

import os
import re

from ddx.base import value
from ddx.documents.model import Link
from ddx.documents.page import LARGEST_FILE, read_file
from ddx.documents.parser import parse, too_large, unreadable
from ddx.git import commands as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ddx.documents.model import ParsedDocument

_DOCUMENT = ".md"
_IGNORE_FILE = ".gitignore"
_OWN_IGNORE_FILE = ".git/info/exclude"
_OURS = (".ddx/", ".helix/")
_NEVER = frozenset({".git", ".ddx", ".helix", "node_modules", ".venv", "__pycache__"})

LARGEST_TAGGED_FILE = 2_000_000
"""A source file larger than this was written by a program."""

_SUFFIXES = (
    "bash bats c cc cjs clj cljs cpp cs css cts cxx dart erl ex exs feature fs go groovy h hh hpp "
    "hs html java jl js jsx kt kts lua m mjs ml mts nim nix php pl proto ps1 py pyi r rb rs scala "
    "scss sh sol sql svelte swift tf ts tsx vue zig zsh"
)
SUFFIXES = frozenset(_SUFFIXES.split())
_TEST_SUFFIXES = ("bats", "feature")
_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e"})
_TEST_ENDINGS = (
    *("_test", "-test", ".test", "_spec", "-spec", ".spec"),
    *("Test", "Tests", "Spec"),
)

# Two forms: after an at-sign in any comment, one name or several with commas, and a call with
# names in quotes, as pytest's markers are. A tag in back-quotes is only spoken of, and the word
# requirement is not ours alone: a number must follow it.
_TAG = re.compile(
    rb"(?<![\w`])@(?:spec-ref|requirement(?=[^\w\n]++[A-Za-z]+-\d))\b[ \t:=(\[\"']*+"
    rb"([A-Za-z][\w./-]*(?:[ \t]*,[ \t]*[A-Za-z]+-\d[\w-]*)*)"
    rb"|\b(?:spec_ref|mark\.requirement)\(\s*([\"'][^)]{1,500})\)"
)
_QUOTED = re.compile(rb"[\"']([A-Za-z][^\"',\s]*)[\"']")
_NEAR = 2
"""Tags of one comment stand at most this many lines apart."""
_QUICK = (b"@spec-ref", b"@requirement", b"spec_ref", b"mark.requirement")


def is_scanned(path: str) -> bool:
    return path.rpartition(".")[2].lower() in SUFFIXES


@value
class SourceFile:
    """A test or source file of the project, and the documents that it names (G-7)."""

    path: str
    links: tuple[Link, ...] = ()
    """As `tagged` finds them in its content."""

    @classmethod
    def tagged(cls, path: str, content: bytes) -> SourceFile:
        """The file with the names in its tags; what a program wrote is too large to have any."""
        if len(content) > LARGEST_TAGGED_FILE or not any(mark in content for mark in _QUICK):
            return cls(path)
        links = []
        line, position = 1, 0
        for match in _TAG.finditer(content):
            line += content.count(b"\n", position, match.start())
            position = match.start()
            names = match[1].split(b",") if match[1] else _QUOTED.findall(match[2])
            texts = (name.decode("utf-8", "replace").partition("#")[0] for name in names)
            links += [Link(name, line) for text in texts if (name := text.strip(" \t.-/"))]
        return cls(path, tuple(links))

    @property
    def is_scanned(self) -> bool:
        """Is it written in a language whose files are looked through for tags?"""
        return is_scanned(self.path)

    @property
    def kind(self) -> str:
        """`test` or `code`, by the names that the languages' own tools go by."""
        *folders, name = self.path.split("/")
        stem, _, suffix = name.rpartition(".")
        is_test = (
            not _TEST_FOLDERS.isdisjoint(folder.lower() for folder in folders)
            or suffix in _TEST_SUFFIXES
            or stem.startswith(("test_", "test-"))
            or stem.endswith(_TEST_ENDINGS)
        )
        return "test" if is_test else "code"

    @property
    def names(self) -> tuple[str, ...]:
        """What its tags name, in their order."""
        return tuple(link.target for link in self.links)

    def names_for(self, line: int) -> list[str]:
        """What a test at this line says that it proves: in its docstring, else just above it.

        A tag at the head of a file is for all tests that have none of their own; 0: no line known.
        """
        is_python = self.path.endswith(".py")
        inside = [link for link in self.links if is_python and line and link.line == line + 1]
        above = [link for link in self.links if line and link.line <= line]
        chosen = inside or above[-1:] or self.links[:1]
        return self._comment(chosen[-1].line) if chosen else []

    def _comment(self, last: int) -> list[str]:
        """The names of the comment whose lowest tag stands at a line."""
        names, edge = [], last
        for link in reversed(self.links):
            if link.line > last:
                continue
            if edge - link.line > _NEAR:
                break
            names.append(link.target)
            edge = link.line
        return names[::-1]


@value
class FileListing:
    """Paths relative to the project's root; a change of a folder means: list again."""

    documents: tuple[str, ...]
    code: tuple[str, ...]
    folders: tuple[str, ...]
    ignores: tuple[str, ...]


def list_files(root: str, document_roots: Sequence[str]) -> FileListing:
    """What git would track, ignored files left out; every file where there is no git."""
    in_git = bool(git.common_folder(root))
    visible = git.visible_files(root) if in_git else None
    everything = _walk(root) if visible is None else visible
    paths = [path for path in everything if not path.startswith(_OURS)]
    prefixes = tuple(_prefix(folder) for folder in document_roots)
    folders = _folders(root, paths, in_git=in_git)
    # A folder that is called like a document is there to be reported.
    documents = [
        path
        for path in (*paths, *folders)
        if path.endswith(_DOCUMENT) and path.startswith(prefixes)
    ]
    code = [path for path in paths if is_scanned(path)]
    ignores = [path for path in paths if path.rpartition("/")[2] == _IGNORE_FILE]
    return FileListing(
        tuple(documents), tuple(code), tuple(folders), ignores=(*ignores, _OWN_IGNORE_FILE)
    )


def read_document(root: str, path: str) -> ParsedDocument:
    """One document; whatever is wrong with its file becomes a finding."""
    try:
        content, size = read_file(os.path.join(root, path), most=LARGEST_FILE)
    except OSError as problem:
        return unreadable(path, f"cannot be read: {problem.strerror}")
    return too_large(path, size) if size > LARGEST_FILE else parse(path, content)


def read_code(root: str, path: str) -> SourceFile:
    """One source file; what cannot be read, or is too large to be written by hand, names none."""
    try:
        content, _ = read_file(os.path.join(root, path), most=LARGEST_TAGGED_FILE)
    except OSError:
        return SourceFile(path)
    return SourceFile.tagged(path, content)


def _prefix(folder: str) -> str:
    normal = os.path.normpath(folder)
    return "" if normal == "." else f"{normal}/"


def _walk(root: str) -> Iterator[str]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _NEVER)
        links = [name for name in inner if os.path.islink(os.path.join(folder, name))]
        for name in sorted((*names, *links)):
            yield os.path.relpath(os.path.join(folder, name), root)


def _folders(root: str, paths: Iterable[str], *, in_git: bool) -> list[str]:
    """Every folder that a file may be added to: on the way to others, or still empty."""
    found = {"."}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    border = set(found)
    while border:
        inner = {name for folder in border for name in _inner_folders(root, folder)} - found
        border = inner - git.ignored(root, sorted(inner)) if in_git and inner else inner
        found |= border
    return sorted(found)


def _inner_folders(root: str, folder: str) -> list[str]:
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []  # it is gone, or closed to us
    if folder != "." and os.path.lexists(os.path.join(root, folder, ".git")):
        return []  # a repository of its own
    return [name if folder == "." else f"{folder}/{name}" for name in names if name not in _NEVER]
