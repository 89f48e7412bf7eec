"""From a failing test to the bead that it is worth, and what a measure changes (V-2). Pure.

    no document is named, or none that exists      Missing spec ref
    the document and one upstream contradict       Spec conflict detected, for a person
    else                                           Implementation does not meet spec

One bead stands for a file without a tag, for a pair of documents, or for one test. Its key and the
names of its tests stay on it, so that the next measure knows it again.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ddx.base import listed, value
from helix.passes import clean_text, clean_title
from helix.verification.reported_tests import ReportedState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ddx.tracker import Bead
    from helix.intake import Conflict
    from helix.verification.located_tests import LocatedTest, SpecRef
    from helix.verification.rerun_command import Reproduction


KEY = "traceback"
TESTS = "failing-tests"
CHECK = "failing-check"
"""Where a bead keeps what it is about, which tests fail, and the command that ran them."""

MISSING, CONFLICT, UNMET = "missing-spec-ref", "spec-conflict", "unmet-spec"

_TAG = r"@spec-ref|@requirement|spec_ref\(|mark\.requirement\("
_HOW_TO_TAG = (
    "Write `@spec-ref` and the id of the document into a comment above the test; `ddx doc list` "
    "shows the ids. The next measure traces the failure from there."
)
_MOST_TOLD = 3
PASSES_AGAIN = "its tests pass again"
MOST_NEW = 50
"""A broken import may fail a thousand tests: the first few lead to it."""


@value
class FailingTest:
    """A failing test with all that decides what becomes of it."""

    test: LocatedTest
    command: str
    """The check that ran it."""
    reproduction: Reproduction
    spec: SpecRef
    conflict: Conflict | None = None
    """Between its document and one upstream."""
    upstream: str = ""
    beads: tuple[str, ...] = ()
    """Those whose criteria name the check."""
    is_provable: bool = True
    """The command that reproduces it fails as long as the test does."""


@value
class FailureBead:
    """A bead as it should be; `failures` has at least one."""

    kind: str
    key: str
    title: str
    description: str
    failures: tuple[FailingTest, ...]
    refs: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    acceptance: str = ""
    """In words of ours alone: a test's name could be read as a command to run (T-17)."""

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(failure.test.id for failure in self.failures)

    @property
    def spec_id(self) -> str:
        return self.failures[0].spec.document

    @property
    def beads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(it for failure in self.failures for it in failure.beads))

    def as_row(self) -> dict[str, Any]:
        """As the tracker takes drafts; what is empty is left out."""
        is_build = self.kind != CONFLICT
        activity = "test" if self.kind == MISSING else "build" if is_build else "design"
        row: dict[str, Any] = {
            "title": clean_title(self.title),
            "issue_type": "bug" if self.kind == UNMET else "task",
            "priority": 2 if self.kind == MISSING else 1,
            "description": clean_text(self.description),
            "acceptance": self.acceptance,
            "verify": list(self.verify),
            "labels": [
                "helix",
                f"activity:{activity}",
                "kind:build" if is_build else "kind:escalation",
                KEY,
            ],
            "spec-id": self.spec_id,
            "refs": list(self.refs),
            "paths": list(self._paths),
            KEY: self.key,
            TESTS: list(self.tests),
            CHECK: self.failures[0].command,
        }
        filled = {name: given for name, given in row.items() if given not in ("", [])}
        if is_build and self.verify:
            return filled
        why = {
            CONFLICT: "two documents contradict each other: a person decides",
            MISSING: "nobody can tell in which file the test stands",
            UNMET: "its check passes even while the test fails: nothing would prove a repair",
        }[self.kind]
        return {**filled, "execution-eligible": False, "execution-skip-reason": why}

    @property
    def _paths(self) -> tuple[str, ...]:
        return (self.failures[0].test.file,) if self.kind == MISSING and self.verify else ()


def trace(
    failures: Sequence[FailingTest], *, commit: str, evidence: str
) -> tuple[FailureBead, ...]:
    """What should stand in the tracker, each once, in the order of the tests."""
    groups: dict[str, list[FailingTest]] = {}
    for failure in failures:
        groups.setdefault(key_of(failure), []).append(failure)
    seen_at = f"Seen at {commit[:12]}; all of it: {evidence}"
    return tuple(_trace(key, tuple(group), seen_at) for key, group in groups.items())


def key_of(failure: FailingTest) -> str:
    """What two failures have in common that are one piece of work."""
    if not failure.spec.document:
        return f"{MISSING}:{failure.test.file or failure.test.id}"
    if failure.conflict is not None:
        return f"{CONFLICT}:{failure.spec.document}:{failure.upstream}"
    return f"{UNMET}:{failure.test.id}"


def _trace(key: str, failures: tuple[FailingTest, ...], seen_at: str) -> FailureBead:
    kind = key.partition(":")[0]
    words = {MISSING: _missing, CONFLICT: _conflict, UNMET: _unmet}[kind](failures)
    said = "\n\n".join((*words.said, *_told(failures), seen_at))
    return FailureBead(
        kind,
        key,
        words.title,
        description=said,
        failures=failures,
        refs=words.refs,
        verify=words.verify,
        acceptance=words.acceptance,
    )


@value
class _Words:
    """What is special to a bead of one kind."""

    title: str
    said: tuple[str, ...]
    acceptance: str
    verify: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()


def _missing(failures: tuple[FailingTest, ...]) -> _Words:
    file, unknown = failures[0].test.file, failures[0].spec.unknown
    why = "names no document, so nobody can tell whether the test or the code is wrong"
    if unknown:
        why = f"names {listed(unknown)}, and there is no such document"
    verify = [f"grep -qE {shlex.quote(_TAG)} -- {shlex.quote(file)}"] if file else []
    for name in unknown if file else ():
        word = shlex.quote(name)
        verify.append(
            f"ddx doc show {word} >/dev/null 2>&1 || ! grep -qF -e {word} -- {shlex.quote(file)}"
        )
    named = file or failures[0].test.id
    return _Words(
        f"Missing spec ref: {named}",
        (f"{named} {why}.", _HOW_TO_TAG),
        "Each of its tests that fails says which document it proves",
        verify=tuple(verify),
    )


def _conflict(failures: tuple[FailingTest, ...]) -> _Words:
    first = failures[0]
    assert first.conflict is not None  # what the key says
    one, other = first.conflict.one, first.conflict.other
    return _Words(
        f"Spec conflict detected: {first.spec.document} against {first.upstream}",
        (
            f"{first.conflict.clash}: {first.conflict.reason}",
            f"{one.document} ({one.path}:{one.line}): {one.text}",
            f"{other.document} ({other.path}:{other.line}): {other.text}",
            f"Decide, and change {first.spec.document} or {first.upstream}.",
        ),
        "The two documents do not contradict each other",
        refs=(first.upstream,),
    )


def _unmet(failures: tuple[FailingTest, ...]) -> _Words:
    first = failures[0]
    document, name = first.spec.document, first.test.test.name
    return _Words(
        f"Implementation does not meet spec: {document}, {name}",
        (f"{first.test.id} fails; nothing above {document} contradicts it.",),
        "The test passes, and still asks for what its document says",
        verify=(first.reproduction.command,) if first.is_provable else (),
    )


def _told(failures: Sequence[FailingTest]) -> list[str]:
    """What is known of the first failures: the message, the output's tail, how to see it again."""
    said = []
    for failure in failures[:_MOST_TOLD]:
        test, how = failure.test.test, failure.reproduction
        whole = "" if how.is_exact else " (the whole check: nobody knows how to run it alone)"
        parts = (
            failure.test.id,
            test.message,
            f"To reproduce{whole}: {how.command}",
            f"Output, its end:\n{test.output}" if test.output else "",
        )
        said.append("\n".join(filter(None, parts)))
    more = [failure.test.id for failure in failures[_MOST_TOLD:]]
    return [*said, f"Also: {listed(more[:20])}"] if more else said


# -- what a measure changes in the tracker, given the beads of earlier ones -------------------


def kind_of(bead: Bead) -> str:
    return bead.text(KEY).partition(":")[0]


def is_alive(bead: Bead) -> bool:
    """A bead of an earlier measure that is not settled yet."""
    return not bead.is_finished and not bead.superseded_by


def _is_flaky(bead: Bead) -> bool:
    """A measure closed it, and nobody mended anything: it is the same work again."""
    return bead.status == "closed" and bead.close_reason.startswith(PASSES_AGAIN)


@value
class FailureFilingPlan:
    """What a measure changes in the tracker."""

    new: tuple[FailureBead, ...] = ()
    again: tuple[tuple[str, FailureBead], ...] = ()
    reopened: tuple[tuple[str, FailureBead], ...] = ()
    closed: tuple[tuple[str, str], ...] = ()
    """Beads and why."""
    waits: tuple[tuple[str, str], ...] = ()
    """Beads, and the keys of those that must be settled first."""
    remarks: tuple[str, ...] = ()


def plan_filing(
    traces: Sequence[FailureBead],
    known: Sequence[Bead],
    *,
    states: Mapping[str, ReportedState],
    gone: Collection[str],
) -> FailureFilingPlan:
    """`states` are all tests of this measure, `gone` those of earlier ones that are no more."""
    alive = {bead.text(KEY): bead for bead in known if is_alive(bead)}
    flaky = {bead.text(KEY): bead for bead in known if _is_flaky(bead)}
    rest = [it for it in traces if it.key not in alive]
    new = [it for it in rest if it.key not in flaky]
    told = {it.key for it in traces}
    left = [bead for key, bead in alive.items() if key not in told]
    settled = [_settled(bead, traces, states=states, gone=gone) for bead in left]
    more = len(new) - MOST_NEW
    enough = f"{more} more beads were not filed: {MOST_NEW} at once are enough"
    return FailureFilingPlan(
        new=tuple(new[:MOST_NEW]),
        again=tuple((alive[it.key].id, it) for it in traces if it.key in alive),
        reopened=tuple((flaky[it.key].id, it) for it in rest if it.key in flaky),
        closed=tuple(pair for each in settled for pair in each.closed),
        waits=tuple(pair for each in settled for pair in each.waits),
        remarks=(
            *(text for each in settled for text in each.remarks),
            *([enough] if more > 0 else []),
        ),
    )


def _settled(
    bead: Bead,
    traces: Sequence[FailureBead],
    *,
    states: Mapping[str, ReportedState],
    gone: Collection[str],
) -> FailureFilingPlan:
    """What becomes of a bead whose own failure did not come again."""
    tests = bead.texts(TESTS)
    if tests and all(states.get(test) is ReportedState.PASSED for test in tests):
        return FailureFilingPlan(closed=((bead.id, PASSES_AGAIN),))
    remarks = [f"{it} is no more; {bead.id} stays as it is" for it in tests if it in gone]
    remarks += [
        f"{it} is skipped now; {bead.id} stays as it is"
        for it in tests
        if states.get(it) is ReportedState.SKIPPED
    ]
    now = {test: it for it in traces for test in it.tests if test in tests}
    if len(now) < len(tests):
        return FailureFilingPlan(remarks=tuple(remarks))
    if kind_of(bead) == UNMET:  # nobody should build on what a person has yet to decide
        waits = [(bead.id, it.key) for it in now.values() if it.kind == CONFLICT]
        return FailureFilingPlan(waits=tuple(dict.fromkeys(waits)))
    heirs = listed(dict.fromkeys(it.title for it in now.values()))
    return FailureFilingPlan(closed=((bead.id, f"its tests are traced anew: {heirs}"),))
