"""What a doctor found, as one value for the tracker, the documents, the agents and the machine."""

from __future__ import annotations

from ddx.base.errors import DdxError
from ddx.base.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Row: TypeAlias = tuple[str, str, str, int, str]
    """Kind, severity, path, line and sentence, as the caches of documents hold a finding."""

ERROR, WARNING, INFO, OK = "error", "warning", "info", "ok"
_MEND_BY_HAND = "mend it by hand, then look again"
SEVERITIES = (ERROR, WARNING, INFO)
"""The worst first. `error`: commands fail or work is lost; `info`: there is nothing to do."""


@value
class Finding:
    """One thing that was looked at: what is wrong with it, or that it is `ok`."""

    kind: str
    severity: str
    where: str
    """A path, `path:line` or the id of a bead; empty: the machine or the whole project."""
    what: str
    line: int = 0
    """The line in the file that `where` names; 0: `where` says it all."""
    cure: str = ""
    """What to type, or to do, so that it is not found again."""
    fixable: bool = False
    """The doctor's own `--fix` does it."""

    @classmethod
    def ok(cls, kind: str, what: str) -> Finding:
        """Something that was looked at, and that is as it should be."""
        return cls(kind, OK, "", what=what)

    @classmethod
    def fault(cls, kind: str, what: str, *, cure: str) -> Finding:
        """Something that keeps work from being done until somebody mends it."""
        return cls(kind, ERROR, "", what=what, cure=cure)

    @classmethod
    def warning(cls, kind: str, what: str, *, cure: str) -> Finding:
        """Something that a person should know of; work goes on all the same."""
        return cls(kind, WARNING, "", what=what, cure=cure)

    @classmethod
    def look(cls, kind: str, look: Callable[[], str]) -> Finding:
        """What a look finds sound, or its complaint."""
        try:
            return cls.ok(kind, look())
        except DdxError as problem:
            return cls.fault(kind, problem.message, cure=problem.hint or _MEND_BY_HAND)
        except OSError as problem:
            what = ": ".join(filter(None, (str(problem.filename or ""), problem.strerror)))
            return cls.fault(kind, what or str(problem), cure=_MEND_BY_HAND)

    def as_row(self) -> dict[str, Any]:
        """As the doctors of agents and of the machine answer it in JSON."""
        return {"name": self.kind, "ok": self.is_ok, "what": self.what, "cure": self.cure}

    @property
    def is_ok(self) -> bool:
        """Whether it was looked at and is as it should be."""
        return self.severity == OK

    @property
    def is_error(self) -> bool:
        """Whether commands fail, or work is lost, until somebody mends it."""
        return self.severity == ERROR

    @property
    def needs_work(self) -> bool:
        """Whether there is something to do about it."""
        return self.severity in (ERROR, WARNING)


def finding_of(row: Row) -> Finding:
    """The finding that a row holds."""
    kind, severity, path, line, what = row
    return Finding(kind, severity, path, what=what, line=line)


def row_of(finding: Finding) -> Row:
    """The row that `finding_of` reads."""
    return finding.kind, finding.severity, finding.where, finding.line, finding.what
