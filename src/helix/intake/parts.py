"""The beads of a request before they are filed: tests, then code, or an answer (I-6, T-17). Pure.

Each has acceptance that anybody can run: what was there must have changed since the request was
made, what was not there must exist, and no document may break.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ddx.base import changed, listed, value
from helix.intake.conflicts.detection import REQUEST as BY_REQUEST
from helix.intake.conflicts.detection import ConflictKind
from helix.intake.request import RequestIntent
from helix.passes import BeadDraft, clean_text, clean_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from helix.intake.conflicts.detection import Conflict
    from helix.intake.impact import RequestImpact, TouchedFile
    from helix.intake.request import ParsedRequest
    from helix.project import AutonomySettings

REQUEST, DOCUMENT, TESTS, BUILD, ANSWER = "request", "document", "tests", "build", "answer"
ESCALATION, GAP = "escalation", "gap"
NEW = "new:"
"""Begins the key of a part that writes documents which are not there yet."""

ACTIVITIES = {
    **dict.fromkeys(("vision", "prd", "feat", "us"), "frame"),
    **dict.fromkeys(("adr", "architecture", "contract", "api", "sd", "td"), "design"),
    **dict.fromkeys(("tp", "test", "exec", "metric"), "test"),
    **dict.fromkeys(("implementation-plan", "code"), "build"),
}
"""The activity whose page an attempt on such a document follows (I-8)."""

MOST_CONFLICTS = 20
"""Nobody settles more of them for one request; the others hold back their paths all the same."""
_PRIORITIES = {RequestIntent.DEFECT: 1}
_USUAL_PRIORITY = 2
_UNFIT = frozenset("`\n\r\0")
"""In the name of a file or in a command: it could not stand in a line of acceptance."""


@value
class RepositoryFacts:
    """What the beads stand on: the repository at the instant of the request."""

    base: str = ""
    """The commit; empty: there is none yet."""
    root: str = "docs/helix"
    names: tuple[str, ...] = ()
    """Ids and file names that are taken, by documents or by open beads of other requests."""
    own: Mapping[str, tuple[str, ...]] = {}
    """By part, the files that beads of this very request name already."""
    default_checks: tuple[str, ...] = ()
    is_valid: bool = True
    """`ddx doc validate` passes today: only then can it prove anything tomorrow."""
    test_folders: tuple[str, ...] = ("tests",)
    bead_files: int = 3
    top: str = ""
    """The document that new features follow from."""
    top_bead: str = ""
    """The bead of another request that is about to write it; empty: none is."""
    area: str = ""


@value
class RequestPart:
    """One bead of a request, before anybody has said that it may be filed."""

    draft: BeadDraft
    role: str
    name: str = ""
    """For a person: TD-001, tests, build."""
    about: tuple[str, ...] = ()
    """Ids of what it changes: a conflict about one of them holds it back."""
    hit: str = ""
    """The document that only search has found, on which it rests; empty: on none."""

    @property
    def key(self) -> str:
        return self.draft.key


@value
class RelevantConflict:
    """A conflict, and the documents on whose path it lies."""

    conflict: Conflict
    affects: frozenset[str] = frozenset()

    @property
    def is_physics(self) -> bool:
        return self.conflict.clash is ConflictKind.PHYSICS

    def holds(self, part: RequestPart) -> bool:
        """A conflict with the request itself is about everything that follows from it."""
        sides = (self.conflict.one.section, self.conflict.other.section)
        return BY_REQUEST in sides or not self.affects.isdisjoint(part.about)


@value
class IntakeCase:
    """All that is known about one request before anything is filed."""

    wish: ParsedRequest
    impact: RequestImpact
    ground: RepositoryFacts
    freedom: AutonomySettings
    conflicts: tuple[RelevantConflict, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[RelevantConflict, ...]:
        """The conflicts that a person hears of; the others only hold back their paths."""
        return self.conflicts[:MOST_CONFLICTS]

    def labels(self, activity: str, kind: str) -> tuple[str, ...]:
        found = ("helix", activity and f"activity:{activity}", f"kind:{kind}", self.ground.area)
        return tuple(filter(None, found))

    def draft(self, key: str, title: str, *texts: str, activity: str, kind: str) -> BeadDraft:
        """A bead that says the request first, as urgent as the request is."""
        return BeadDraft(
            key,
            clean_title(title),
            paragraphs(asked(self.wish), *texts),
            labels=self.labels(activity, kind),
            priority=_PRIORITIES.get(self.wish.intent, _USUAL_PRIORITY),
        )


def asked(wish: ParsedRequest) -> str:
    return f"The request: {wish.text}"


def paragraphs(*texts: str) -> str:
    return clean_text("\n\n".join(filter(None, texts)))


def acceptance(*lines: str) -> str:
    return "\n".join(f"- {line}" for line in lines if line)


def has_changed(ground: RepositoryFacts, paths: Sequence[str]) -> str:
    """Something in it differs from the commit of the request, or git does not know it yet."""
    if not paths or _UNFIT & set("".join(paths)):
        return ""
    if not ground.base:
        return f"`{paths[0]}` exists"
    names = " ".join(map(quote, paths))
    differing = f"git diff --name-only {ground.base} -- {names}"
    unknown = f"git ls-files --others --exclude-standard -- {names}"
    return f'`test -n "$({differing}; {unknown})"` passes'


def code_has_changed(ground: RepositoryFacts) -> str:
    """Something besides documents, tests and our own folders."""
    others = (ground.root, *ground.test_folders, ".ddx", ".helix")
    excluded = [f":(exclude){folder}" for folder in others]
    return has_changed(ground, [".", *excluded]) if ground.base else ""


def is_valid(ground: RepositoryFacts) -> str:
    return "`ddx doc validate` passes" if ground.is_valid else ""


def passing(commands: Sequence[str]) -> list[str]:
    return [f"`{command}` passes" for command in commands if not _UNFIT & set(command)]


def perhaps(related: Sequence[TouchedFile]) -> str:
    found = [f"{it.id} ({it.why})" for it in related]
    return f"What may be about it: {listed(found)}." if found else ""


def request_draft(case: IntakeCase, parts: Sequence[RequestPart], *, spec_id: str) -> BeadDraft:
    """The epic above several parts: it is done through them."""
    first = next(it for it in parts[0].draft.labels if it.startswith("activity:"))
    leads_to = f"It leads to {listed(part.name for part in parts)}."
    activity = first.partition(":")[2]
    draft = case.draft(REQUEST, case.wish.text, leads_to, activity=activity, kind=REQUEST)
    held = "it is done through its children"
    return changed(draft, spec_id=spec_id, issue_type="epic", held=held)


# -- tests and code ----------------------------------------------------------------------------

_FAILS = "Write a test that fails because of it."
_SAY_IT = "Make the tests say what the documents say now."
_EXPECTED = (
    "A test that cannot pass before the code follows is marked as an expected failure; the build "
    "after this takes the mark away."
)
_BUILD_IT = "Change the code until its tests pass, and take away the marks of expected failures."


def proofs(case: IntakeCase, after: Sequence[RequestPart]) -> Iterator[RequestPart]:
    """Tests that show what is wanted, then code that makes them pass."""
    wish, impact, ground = case.wish, case.impact, case.ground
    spec_id = after[-1].about[-1] if after else "".join(it.id for it in impact.named[-1:])
    waits = _last_of(after)
    tests: list[RequestPart] = []
    for key, chunk in _chunks(TESTS, impact.tests, ground.bead_files):
        paths = tuple(it.path for it in chunk)
        texts = (
            f"{_FAILS if wish.intent is RequestIntent.DEFECT else _SAY_IT} {_EXPECTED}",
            f"The tests that name these documents: {listed(paths)}." if paths else "",
            spec_id and f"Say in a comment of each test which document it proves: {spec_id}.",
            perhaps(impact.related),
        )
        draft = changed(
            case.draft(key, f"Tests: {wish.text}", *texts, activity="test", kind="test"),
            acceptance=acceptance(has_changed(ground, paths or ground.test_folders)),
            spec_id=spec_id,
            depends_on=waits,
            paths=paths,
        )
        tests.append(_proof(draft, TESTS, chunk, otherwise=(spec_id,) if spec_id else ()))
    yield from tests
    everything = tuple(dict.fromkeys(name for part in (*after, *tests) for name in part.about))
    waits = tuple(part.key for part in tests)
    for key, chunk in _chunks(BUILD, impact.code, ground.bead_files):
        paths = tuple(it.path for it in chunk)
        draft = changed(
            case.draft(
                key,
                f"Build: {wish.text}",
                _BUILD_IT,
                f"The code that names these documents: {listed(paths)}." if paths else "",
                perhaps(impact.related),
                activity="build",
                kind="implementation",
            ),
            acceptance=acceptance(
                has_changed(ground, paths) if paths else code_has_changed(ground),
                *passing(ground.default_checks),
            ),
            spec_id=spec_id,
            depends_on=waits,
            paths=paths,
        )
        yield _proof(draft, BUILD, chunk, otherwise=everything)


def _proof(
    draft: BeadDraft, role: str, chunk: Sequence[TouchedFile], *, otherwise: tuple[str, ...]
) -> RequestPart:
    """It rests on a hit if all of its files do: one declared file is enough to need none."""
    hits = [it.hit for it in chunk]
    hit = hits[0] if hits and all(hits) else ""
    about = tuple(it.id for it in chunk) or otherwise
    return RequestPart(draft, role, name=role, about=about, hit=hit)


def _last_of(parts: Sequence[RequestPart]) -> tuple[str, ...]:
    """Those that no other waits for: who waits for them waits for all."""
    waited_for = {key for part in parts for key in part.draft.depends_on}
    return tuple(part.key for part in parts if part.key not in waited_for)


def _chunks(
    role: str, touched: Sequence[TouchedFile], size: int
) -> list[tuple[str, Sequence[TouchedFile]]]:
    """At most so many files a bead, each with its key; without any files still one bead."""
    chunks = [touched[at : at + size] for at in range(0, len(touched), size)] or [()]
    return [(f"{role}:{number}", chunk) for number, chunk in enumerate(chunks, 1)]


def answer(case: IntakeCase) -> RequestPart:
    """A question is answered by a person: nothing is built for it."""
    ids = [it.id for it in case.impact.named]
    related = perhaps(case.impact.related)
    draft = changed(
        case.draft(ANSWER, case.wish.text, related, activity="frame", kind="question"),
        spec_id="".join(ids[:1]),
        refs=tuple(ids[1:]),
        issue_type="decision",
        held="a person answers it",
    )
    return RequestPart(draft, ANSWER, "an answer", about=tuple(ids))
