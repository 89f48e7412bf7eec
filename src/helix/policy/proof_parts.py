"""Beads for what proves and carries out a request: tests, then code; or a person's answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.text import listed
from helix.policy.drafts import Draft, clean_title
from helix.policy.parts import (
    ANSWER,
    BUILD,
    TESTS,
    Part,
    acceptance,
    asked,
    code_has_changed,
    has_changed,
    labels,
    paragraphs,
    passing,
    perhaps,
    priority_of,
)
from helix.policy.request import Intent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.policy.impact import Impact, Touched
    from helix.policy.parts import Ground
    from helix.policy.request import Wish

_EXPECTED = (
    "A test that cannot pass before the code follows is marked as an expected failure; the build "
    "after this takes the mark away."
)


def proofs(wish: Wish, impact: Impact, ground: Ground, after: Sequence[Part]) -> Iterator[Part]:
    """Tests that show what is wanted, then code that makes them pass."""
    spec_id = after[-1].about[-1] if after else "".join(it.id for it in impact.named[-1:])
    tests = [
        _tests(wish, impact, ground, number, chunk, spec_id=spec_id, after=_last_of(after))
        for number, chunk in _chunks(impact.tests, ground.bead_files)
    ]
    yield from tests
    waits = tuple(part.key for part in tests)
    everything = tuple(dict.fromkeys(name for part in (*after, *tests) for name in part.about))
    for number, chunk in _chunks(impact.code, ground.bead_files):
        part = _build(wish, impact, ground, number, chunk, spec_id=spec_id, after=waits)
        yield (
            part
            if part.about
            else Part(part.key, part.role, part.draft, everything, part.hit, part.name)
        )


def answer(wish: Wish, impact: Impact, ground: Ground) -> Part:
    """A question is answered by a person: nothing is built for it."""
    ids = [it.id for it in impact.named]
    draft = Draft(
        ANSWER,
        clean_title(wish.text),
        paragraphs(asked(wish), perhaps(impact.related)),
        labels=labels("frame", "question", ground.area),
        priority=priority_of(wish),
        spec_id="".join(ids[:1]),
        refs=tuple(ids[1:]),
        issue_type="decision",
        held="a person answers it",
    )
    return Part(ANSWER, ANSWER, draft, tuple(ids), name="an answer")


def _tests(
    wish: Wish,
    impact: Impact,
    ground: Ground,
    number: int,
    chunk: Sequence[Touched],
    *,
    spec_id: str,
    after: tuple[str, ...],
) -> Part:
    paths = [it.path for it in chunk]
    is_defect = wish.intent is Intent.DEFECT
    wanted = "Write a test that fails because of it." if is_defect else _SAY_IT
    draft = Draft(
        f"{TESTS}:{number}",
        clean_title(f"Tests: {wish.text}"),
        paragraphs(
            asked(wish),
            f"{wanted} {_EXPECTED}",
            f"The tests that name these documents: {listed(paths)}." if paths else "",
            f"Say in a comment of each test which document it proves: {spec_id}."
            if spec_id
            else "",
            perhaps(impact.related),
        ),
        acceptance(has_changed(ground, paths or ground.test_folders)),
        labels("test", "test", ground.area),
        priority_of(wish),
        spec_id=spec_id,
        depends_on=after,
        paths=tuple(paths),
    )
    about = tuple(it.id for it in chunk) or ((spec_id,) if spec_id else ())
    return Part(draft.key, TESTS, draft, about, _hit_of(chunk), TESTS)


_SAY_IT = "Make the tests say what the documents say now."


def _build(
    wish: Wish,
    impact: Impact,
    ground: Ground,
    number: int,
    chunk: Sequence[Touched],
    *,
    spec_id: str,
    after: tuple[str, ...],
) -> Part:
    paths = [it.path for it in chunk]
    draft = Draft(
        f"{BUILD}:{number}",
        clean_title(f"Build: {wish.text}"),
        paragraphs(
            asked(wish),
            "Change the code until its tests pass, and take away the marks of expected failures.",
            f"The code that names these documents: {listed(paths)}." if paths else "",
            perhaps(impact.related),
        ),
        acceptance(
            has_changed(ground, paths) if paths else code_has_changed(ground),
            *passing(ground.default_checks),
        ),
        labels("build", "implementation", ground.area),
        priority_of(wish),
        spec_id=spec_id,
        depends_on=after,
        paths=tuple(paths),
    )
    return Part(draft.key, BUILD, draft, tuple(it.id for it in chunk), _hit_of(chunk), BUILD)


def _last_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """Those that no other waits for: who waits for them waits for all."""
    waited_for = {key for part in parts for key in part.draft.depends_on}
    return tuple(part.key for part in parts if part.key not in waited_for)


def _hit_of(chunk: Sequence[Touched]) -> str:
    """The hit that all of it rests on; one declared file is enough to need none."""
    hits = [it.hit for it in chunk]
    return hits[0] if hits and all(hits) else ""


def _chunks(touched: Sequence[Touched], size: int) -> list[tuple[int, Sequence[Touched]]]:
    """At most so many files a bead, numbered; without any files still one bead."""
    starts = range(0, len(touched), size)
    return [(n, touched[at : at + size]) for n, at in enumerate(starts, 1)] or [(1, ())]
