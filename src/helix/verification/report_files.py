"""Which test reports a command has left: in files that it wrote, or on its output (V-1).

A file counts only if it is new or changed since the command before: what the commit holds is an old
story. Looked for are the files that the command names, those in its evidence folder, and those that
are called what test runners call them. Nothing is followed out of the workspace. No input makes the
reading fail: what cannot be read is said, what is no report is None.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ddx.base import value
from helix.verification.located_tests import words_of
from helix.verification.printed_tests import parse_pytest, parse_tap
from helix.verification.reported_tests import LARGEST, SuiteReport, UnreadableReport, parse_junit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddx.base import Masker
    from ddx.proof import Check


_NAMES = (
    *("TEST-*.xml", "*junit*.xml", "test-results.xml", "test_results.xml"),
    *("test-report.xml", "test_report.xml", "test-results*.tap", "results.tap"),
)
_FOLDERS = frozenset(
    {"surefire-reports", "failsafe-reports", "test-results", "test-reports", "junit-reports"}
)
_ENDINGS = (".xml", ".tap")
_NOT_OURS = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".ddx"})
_MOST_ENTRIES = 200_000
_MOST_FILES = 2_000
_LONGEST_OUTPUT = 16 << 20


@value
class CheckReports:
    """The reports of one check, and what is wrong with those that cannot be read."""

    check: Check
    reports: tuple[SuiteReport, ...] = ()
    problems: tuple[str, ...] = ()


class ReportCollector:
    """Asked after each command, it tells what that command reported."""

    def __init__(self, *, workspace: str, evidence: str, record: str, masker: Masker) -> None:
        self._workspace = workspace
        self._evidence = evidence
        self._record = record
        self._masker = masker
        self._seen = dict(self._marks())
        self.told: list[CheckReports] = []

    def after(self, check: Check) -> None:
        if not check.command:
            return
        marks = dict(self._marks())
        named = tuple(f"/{path}" for path in _named(check.command))
        fresh = [
            path
            for path, mark in marks.items()
            if self._seen.get(path) != mark and (self._is_usual(path) or path.endswith(named))
        ]
        self._seen = marks
        found = [(path, self._read(path)) for path in sorted(fresh)[:_MOST_FILES]]
        reports = [report for _, report in found if isinstance(report, SuiteReport)]
        problems = [
            f"{self._shown(path)}: {report.reason}"
            for path, report in found
            if isinstance(report, UnreadableReport)
        ]
        if not reports and (printed := parse_output(self._output(check))):
            reports = [printed]
        problems += [text for report in reports for text in report.problems]
        if reports or problems:
            self.told.append(CheckReports(check, tuple(reports), tuple(problems)))

    def _marks(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every file that may be a report, and what changes with it."""
        for path in (*_walk(self._workspace), *_walk(self._evidence)):
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                continue  # a child of the command is still tidying up
            if stat.S_ISREG(found.st_mode):
                yield path, (found.st_ino, found.st_size, found.st_mtime_ns)

    def _is_usual(self, path: str) -> bool:
        """Is it where reports are kept, or called as test runners call them?"""
        if path.startswith(os.path.join(self._evidence, "")):
            return True
        *folders, name = os.path.relpath(path, self._workspace).split(os.sep)
        in_place = not _FOLDERS.isdisjoint(folders)
        return in_place or any(fnmatchcase(name, pattern) for pattern in _NAMES)

    def _shown(self, path: str) -> str:
        is_kept = path.startswith(os.path.join(self._evidence, ""))
        return os.path.relpath(path, self._evidence if is_kept else self._workspace)

    def _read(self, path: str) -> SuiteReport | UnreadableReport | None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            return UnreadableReport(f"cannot be read: {problem.strerror}")
        with open(fd, "rb") as file:
            content = file.read(LARGEST + 1)
        return parse_file(path, self._masker.mask_bytes(content))

    def _output(self, check: Check) -> str:
        """The end of what it printed, which is masked already."""
        if not check.log:
            return ""
        path = os.path.join(self._record, check.log)
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _LONGEST_OUTPUT, 0))
            return file.read(_LONGEST_OUTPUT).decode("utf-8", "replace")


def _named(command: str) -> Iterator[str]:
    """Files that the command may write: `--junitxml=out.xml`, `> report.xml`, `-o results.tap`."""
    for word in words_of(command):
        path = word.rpartition("=")[2] if word.startswith("-") else word
        if path.lower().endswith(_ENDINGS) and not os.path.isabs(path):
            yield os.path.normpath(path)


def _walk(top: str) -> Iterator[str]:
    """Links are not followed, so all of it lies below."""
    seen = 0
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _NOT_OURS)
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            return
        for name in files:
            if name.lower().endswith(_ENDINGS):
                yield os.path.join(folder, name)


def parse_output(text: str) -> SuiteReport | None:
    """The tests that a command printed; None if it printed none that we understand."""
    return parse_tap(text) or parse_pytest(text)


def parse_file(name: str, content: bytes) -> SuiteReport | UnreadableReport | None:
    """The tests of a file that a command wrote, by the ending of its name."""
    if name.lower().endswith(".tap"):
        found = parse_tap(content.decode("utf-8", "replace"))
        return found or UnreadableReport("it holds no TAP")
    return parse_junit(content)
