"""From a failing test to the bead that it is worth (V-2). Pure.

    no document is named, or none that exists      Missing spec ref
    the document and one upstream contradict       Spec conflict detected, for a person
    else                                           Implementation does not meet spec

One bead stands for a file without a tag, for a pair of documents, or for one test. Its key and the
names of its tests stay on it, so that the next measure knows it again.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ddx.text import listed
from ddx.values import value
from helix.policy.drafts import clean_text, clean_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix.policy.conflicts import Conflict
    from helix.verification.locating import Located
    from helix.verification.reproducing import Reproduction
    from helix.verification.spec_refs import SpecRef

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


@value
class Failure:
    """A failing test with all that decides what becomes of it."""

    test: Located
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
class Trace:
    """A bead as it should be; `failures` has at least one."""

    kind: str
    key: str
    title: str
    description: str
    failures: tuple[Failure, ...]
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


def trace(failures: Sequence[Failure], *, commit: str, evidence: str) -> tuple[Trace, ...]:
    """What should stand in the tracker, each once, in the order of the tests."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(key_of(failure), []).append(failure)
    seen_at = f"Seen at {commit[:12]}; all of it: {evidence}"
    return tuple(_trace(key, tuple(group), seen_at) for key, group in groups.items())


def key_of(failure: Failure) -> str:
    """What two failures have in common that are one piece of work."""
    if not failure.spec.document:
        return f"{MISSING}:{failure.test.file or failure.test.id}"
    if failure.conflict is not None:
        return f"{CONFLICT}:{failure.spec.document}:{failure.upstream}"
    return f"{UNMET}:{failure.test.id}"


def _trace(key: str, failures: tuple[Failure, ...], seen_at: str) -> Trace:
    kind = key.partition(":")[0]
    match kind:
        case "missing-spec-ref":
            return _missing(key, failures, seen_at)
        case "spec-conflict":
            return _conflict(key, failures, seen_at)
        case _:
            return _unmet(key, failures, seen_at)


def _missing(key: str, failures: tuple[Failure, ...], seen_at: str) -> Trace:
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
    return Trace(
        MISSING,
        key,
        f"Missing spec ref: {file or failures[0].test.id}",
        "\n\n".join(
            (
                f"{file or failures[0].test.id} {why}.",
                _HOW_TO_TAG,
                *_told(failures),
                seen_at,
            )
        ),
        failures,
        verify=tuple(verify),
        acceptance="Each of its tests that fails says which document it proves",
    )


def _conflict(key: str, failures: tuple[Failure, ...], seen_at: str) -> Trace:
    first = failures[0]
    assert first.conflict is not None  # what the key says
    one, other = first.conflict.one, first.conflict.other
    return Trace(
        CONFLICT,
        key,
        f"Spec conflict detected: {first.spec.document} against {first.upstream}",
        "\n\n".join(
            (
                f"{first.conflict.clash}: {first.conflict.reason}",
                f"{one.document} ({one.path}:{one.line}): {one.text}",
                f"{other.document} ({other.path}:{other.line}): {other.text}",
                f"Decide, and change {first.spec.document} or {first.upstream}.",
                *_told(failures),
                seen_at,
            )
        ),
        failures,
        refs=(first.upstream,),
        acceptance="The two documents do not contradict each other",
    )


def _unmet(key: str, failures: tuple[Failure, ...], seen_at: str) -> Trace:
    first = failures[0]
    name = first.test.test.name
    return Trace(
        UNMET,
        key,
        f"Implementation does not meet spec: {first.spec.document}, {name}",
        "\n\n".join(
            (
                f"{first.test.id} fails; nothing above {first.spec.document} contradicts it.",
                *_told(failures),
                seen_at,
            )
        ),
        failures,
        verify=(first.reproduction.command,) if first.is_provable else (),
        acceptance="The test passes, and still asks for what its document says",
    )


def _told(failures: Sequence[Failure]) -> list[str]:
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
