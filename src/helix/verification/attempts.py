"""Every attempt as its record tells it, read once for reports and traces (X-2, LAYOUT seam 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddx.errors import CorruptFile, NotFound
from ddx.execution.record import MANIFEST, USAGE, attempts, read_record
from ddx.values import value
from helix.verification.measure import ACTION as MEASURE
from helix.verification.measure import FILE as MEASURED
from helix.verification.model import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ddx.execution.record import Kept
    from ddx.project import Project

LANDED, PRESERVED = "landed", "preserved"
LAND = "land"
"""The action of a record that only lands what an earlier attempt has made."""
_SHOWING = frozenset({State.PASSED, State.FAILED, State.ERROR})


@value
class Attempt:
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
class Tested:
    """The tests of one file, as the last measure that named it tells (V-1)."""

    file: str
    specs: tuple[str, ...]
    """The documents that these tests say they are about."""
    passed: bool
    at: str


@value
class Attempts:
    """Oldest first."""

    all: tuple[Attempt, ...] = ()
    tested: tuple[Tested, ...] = ()
    unreadable: tuple[str, ...] = ()
    """What is wrong with the records that could not be read."""

    @property
    def landed_later(self) -> frozenset[str]:
        """Attempts whose kept work landed after all (X-13, X-14)."""
        return frozenset(it.lands for it in self.all if it.lands and it.outcome == LANDED)


def read_attempts(project: Project) -> Attempts:
    """All records; one that is damaged is named, and the others count."""
    found: list[Attempt] = []
    tested: dict[str, Tested] = {}
    unreadable: list[str] = []
    for name in attempts(project):
        try:
            kept = read_record(project, name)
            if kept.intent.get("action") == MEASURE:
                tested |= {it.file: it for it in files_measured(kept.file(MEASURED))}
            elif kept.intent:  # a folder of evidence alone is no attempt
                found.append(_attempt(kept))
        except NotFound:
            continue  # pruned a moment ago
        except CorruptFile as problem:
            unreadable.append(problem.message)
    return Attempts(tuple(found), tuple(tested.values()), tuple(unreadable))


def _attempt(kept: Kept) -> Attempt:
    intent, result = kept.intent, kept.result
    usage = result.get("usage")
    either = {**intent, **result}
    return Attempt(
        kept.attempt,
        tuple(str(bead) for bead in kept.beads),
        _text(intent, "action"),
        _text(either, "harness"),
        _text(either, "model"),
        _text(intent, "at"),
        _text(result, "outcome"),
        _text(result, "status"),
        _text(result, "reason"),
        result.get("completed") is True,
        _text(result, "commit"),
        _text(result, "result"),
        _text(result, "ref"),
        _text(either, "lands"),
        usage if isinstance(usage, dict) else kept.file(USAGE),
        memories_in(kept.file(MANIFEST)) if kept.beads else None,
    )


def files_measured(measured: Mapping[str, Any]) -> Iterator[Tested]:
    """File by file; what was only skipped has shown nothing."""
    rows = measured.get("tests")
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and _text(row, "state") in _SHOWING:
            by_file.setdefault(_text(row, "file") or _text(row, "id"), []).append(row)
    for file, found in by_file.items():
        specs = dict.fromkeys(filter(None, (_text(row, "spec") for row in found)))
        passed = all(_text(row, "state") == State.PASSED for row in found)
        yield Tested(file, tuple(specs), passed, _text(measured, "ended_at"))


def memories_in(manifest: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Which memories the policy put into the prompt, by the manifest; None: it does not say."""
    policy = manifest.get("policy")
    said = policy.get("memories") if isinstance(policy, dict) else None
    return tuple(map(str, said)) if isinstance(said, list) else None


def _text(row: Mapping[str, Any], key: str) -> str:
    found = row.get(key)
    return found if isinstance(found, str) else ""
