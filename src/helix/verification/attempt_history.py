"""Every attempt as its record tells it, and what agents used (X-2, X-7, LAYOUT seam 3).

Read once for reports and traces. In sums an unknown cost stays unknown.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from ddx.attempts import read_attempts
from ddx.base import CorruptFile, Instant, changed, value
from helix.verification.reported_tests import ReportedState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.attempts import AttemptRecord
    from ddx.project import Project


LANDED, PRESERVED = "landed", "preserved"
LAND = "land"
"""The action of a record that only lands what an earlier attempt has made."""
MEASURE, MEASURED = "measure", "measure.json"
"""The action of a record of `helix measure`, and the file in it."""
_SHOWING = frozenset({ReportedState.PASSED, ReportedState.FAILED, ReportedState.ERROR})
_TOKENS = ("input", "cache_read", "cache_write", "output")


@value
class Spending:
    """What some calls used; a cost that nobody reported is counted as unknown, never as 0."""

    key: str
    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost_usd: float | None = None
    unknown: int = 0
    """Calls that used tokens at a cost which is not known."""

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output

    def plus(self, usage: Mapping[str, Any]) -> Spending:
        counts = {name: _count(usage.get(name)) for name in _TOKENS}
        cost = cost_in(usage)
        is_unknown = cost is None and any(counts.values())
        return changed(
            self,
            calls=self.calls + 1,
            **{name: getattr(self, name) + count for name, count in counts.items()},
            cost_usd=self.cost_usd if cost is None else (self.cost_usd or 0.0) + cost,
            unknown=self.unknown + is_unknown,
        )

    @property
    def spoken_cost(self) -> str:
        if self.cost_usd is None:
            return "unknown" if self.unknown else "-"
        at_least = "at least " if self.unknown else ""
        return f"{at_least}${self.cost_usd:,.2f}"

    @property
    def row(self) -> dict[str, Any]:
        return {**self.__dict__, "tokens": self.tokens}


def cost_in(usage: Mapping[str, Any]) -> float | None:
    """In dollars; None where nobody said it."""
    given = usage.get("cost_usd")
    if not isinstance(given, int | float) or isinstance(given, bool):
        return None
    return float(given) if isfinite(given) else None


def local_day(at: str) -> str:
    """As the person's calendar has it (C-4)."""
    moment = Instant(at).moment
    return f"{moment.astimezone():%Y-%m-%d}" if moment is not None else "unknown"


def _count(given: Any) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else 0


@value
class PastAttempt:
    """One record; `outcome` is empty while the attempt runs or if it was cut off."""

    id: str
    beads: tuple[str, ...]
    action: str
    harness: str
    model: str
    at: str
    """When it began."""
    outcome: str = ""
    status: str = ""
    reason: str = ""
    completed: bool = False
    commit: str = ""
    """What the branch moved to: the attempt's own commit, or its merge."""
    result: str = ""
    """The attempt's own commit."""
    ref: str = ""
    lands: str = ""
    """The earlier attempt whose work this record landed."""
    usage: Mapping[str, Any] = {}
    memories: tuple[str, ...] | None = None
    """The names that its prompt carried; None: nobody said."""

    @property
    def is_call(self) -> bool:
        """Was an agent asked?"""
        return self.action != LAND

    @property
    def is_work(self) -> bool:
        """On a bead, by an agent, and at its end: what can succeed or fail."""
        return bool(self.beads and self.outcome) and self.is_call


@value
class TestedFile:
    """The tests of one file, as the last measure that named it tells (V-1)."""

    file: str
    specs: tuple[str, ...]
    """The documents that these tests say they are about."""
    passed: bool
    at: str


@value
class AttemptHistory:
    """Oldest first."""

    all: tuple[PastAttempt, ...] = ()
    tested: tuple[TestedFile, ...] = ()
    unreadable: tuple[str, ...] = ()
    """What is wrong with the records that could not be read."""

    @property
    def landed_later(self) -> frozenset[str]:
        """Attempts whose kept work landed after all (X-13, X-14)."""
        return frozenset(it.lands for it in self.all if it.lands and it.outcome == LANDED)


def read_history(project: Project) -> AttemptHistory:
    """All records; one that is damaged is named, and the others count."""
    found: list[PastAttempt] = []
    tested: dict[str, TestedFile] = {}
    unreadable: list[str] = []
    for record in read_attempts(project).readable(unreadable.append):
        try:
            if record.action == MEASURE:
                tested |= {it.file: it for it in files_measured(record.file(MEASURED))}
            elif record.intent:  # a folder of evidence alone is no attempt
                found.append(_attempt(record))
        except CorruptFile as problem:
            unreadable.append(problem.message)
    return AttemptHistory(tuple(found), tuple(tested.values()), tuple(unreadable))


def _attempt(kept: AttemptRecord) -> PastAttempt:
    intent, result = kept.intent, kept.result
    either = {**intent, **result}
    return PastAttempt(
        id=kept.attempt,
        beads=tuple(str(bead) for bead in kept.beads),
        action=_text(intent, "action"),
        harness=_text(either, "harness"),
        model=_text(either, "model"),
        at=_text(intent, "at"),
        outcome=_text(result, "outcome"),
        status=_text(result, "status"),
        reason=_text(result, "reason"),
        completed=result.get("completed") is True,
        commit=_text(result, "commit"),
        result=_text(result, "result"),
        ref=_text(result, "ref"),
        lands=_text(either, "lands"),
        usage=kept.usage,
        memories=memories_in(kept.manifest) if kept.beads else None,
    )


def files_measured(measured: Mapping[str, Any]) -> Iterator[TestedFile]:
    """File by file; what was only skipped has shown nothing."""
    rows = measured.get("tests")
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and _text(row, "state") in _SHOWING:
            by_file.setdefault(_text(row, "file") or _text(row, "id"), []).append(row)
    for file, found in by_file.items():
        specs = dict.fromkeys(filter(None, (_text(row, "spec") for row in found)))
        passed = all(_text(row, "state") == ReportedState.PASSED for row in found)
        yield TestedFile(file, tuple(specs), passed, at=_text(measured, "ended_at"))


def memories_in(manifest: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Which memories the policy put into the prompt, by the manifest; None: it does not say."""
    policy = manifest.get("policy")
    said = policy.get("memories") if isinstance(policy, dict) else None
    return tuple(map(str, said)) if isinstance(said, list) else None


def _text(row: Mapping[str, Any], key: str) -> str:
    found = row.get(key)
    return found if isinstance(found, str) else ""
