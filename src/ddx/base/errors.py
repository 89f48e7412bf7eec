"""Everything that stops a command, as one tree; each branch knows its exit code (C-2).

DdxError             1  expected failure
├── NotFound         1  no such bead, file or project
├── Refused          1  a rule of the tracker forbids it
├── CorruptFile      1  a file of ours cannot be read; names path:line
├── Busy             1  another process holds the lock too long
├── UsageError       2  what was typed cannot be understood
├── NeedsPerson      4  a person must act first
└── ConcurrentChange 5  someone else changed or holds it
"""

from __future__ import annotations


class DdxError(Exception):
    """What went wrong and with which one; `hint` says what to type next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFound(DdxError):
    pass


class Refused(DdxError):
    pass


class CorruptFile(DdxError):
    pass


class Busy(DdxError):
    pass


class UsageError(DdxError):
    exit_code = 2


class NeedsPerson(DdxError):
    exit_code = 4


class ConcurrentChange(DdxError):
    exit_code = 5
