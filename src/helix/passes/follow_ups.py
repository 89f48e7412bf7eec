"""Work that agents bring up, planned as beads: follow-ups and findings (A-7, S-16). Pure.

A follow-up is a line of its own in the reply of a build, `FOLLOW_UP:` and a JSON object:

    title         what is to be done; without one it is no follow-up
    description, acceptance, area
    blocks        true: the bead that was being built cannot be done before this
    depends_on    ids of beads, or titles of other follow-ups, that come before this

What cannot be read is not lost: it is named, with its text, for a person to see. A finding is what
a review says (helix.passes.review_pass); one that is known already is referenced or opened again.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ddx.base import cut, shown, value
from ddx.documents import Page
from helix.passes.drafts import BeadDraft, area_label, clean_text, clean_title, identity
from helix.passes.review_pass import ReviewFinding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from helix.passes.drafts import Identity, KnownBead

MOST_FOLLOW_UPS = 20
MOST_DEPTH = 2
"""Findings about the work that findings asked for, and follow-ups of follow-ups (S-13).

Deeper findings ask for guidance; deeper follow-ups are filed, but a person hands them out.
"""
LABEL = "follow-up"
FINDING_LABEL = "review-finding"
DEPTH_LABEL = "review-depth:"
TOO_DEEP = f"it follows from follow-ups, {MOST_DEPTH} deep: a person decides whether it is built"
LARGEST_FOLLOW_UP = 8 << 10
MARK = "FOLLOW_UP:"
_LONGEST_SHOWN = 400
_LONGEST_TITLE = 80
_LINE = re.compile(rf"[ \t]{{0,3}}(?:[-*+] +)?[*_`]{{0,3}}{MARK}[*_`]{{0,3}}(.*)")
_TEXTS = ("title", "description", "acceptance", "area")
_PRIORITIES = {Severity.CRITICAL: 0, Severity.HIGH: 1, Severity.MEDIUM: 2}


@value
class FollowUp:
    """One piece of work that an agent proposes."""

    title: str
    description: str = ""
    acceptance: str = ""
    area: str = ""
    blocks: bool = False
    depends_on: tuple[str, ...] = ()


@value
class RejectedFollowUp:
    """A follow-up that cannot be filed: its text, and why."""

    text: str
    reason: str


@value
class FollowUpList:
    """All follow-ups of one reply."""

    found: tuple[FollowUp, ...] = ()
    rejected: tuple[RejectedFollowUp, ...] = ()


def read_follow_ups(text: str) -> FollowUpList:
    """What a reply proposes; a line in a code fence is quoted and not meant."""
    found: list[FollowUp] = []
    rejected: list[RejectedFollowUp] = []
    for given, is_quoted in _lines(text):
        read: FollowUp | str
        if is_quoted:
            read = "it stands in a code fence"
        elif len(given) > LARGEST_FOLLOW_UP:
            read = f"it is larger than {LARGEST_FOLLOW_UP >> 10} KB"
        elif len(found) >= MOST_FOLLOW_UPS:
            read = f"at most {MOST_FOLLOW_UPS} are filed for one attempt"
        else:
            read = _read(given)
        if isinstance(read, FollowUp):
            found.append(read)
        elif len(rejected) < MOST_FOLLOW_UPS:
            rejected.append(
                RejectedFollowUp(cut(shown(given, one_line=True), _LONGEST_SHOWN), read)
            )
    return FollowUpList(tuple(found), tuple(rejected))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """What stands after each mark, and whether it is quoted."""
    if MARK not in text:
        return
    for line, meant in zip(text.split("\n"), Page(text).prose.split("\n"), strict=True):
        if match := _LINE.fullmatch(line.rstrip("\r")):
            yield match[1].strip().strip("*_`").strip(), line != meant


def _read(given: str) -> FollowUp | str:
    """The follow-up, or what is wrong with it."""
    try:
        row: Any = json.loads(given)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(row, dict):
        return "it is no JSON object"
    texts = {name: "" if row.get(name) is None else row[name] for name in _TEXTS}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if wrong:
        return f"its {wrong[0]} is no text"
    if not (title := clean_title(texts["title"])):
        return "it has no title"
    wanted = row.get("depends_on") or []
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(wanted, list) or not all(isinstance(each, str) for each in wanted):
        return "its depends_on is no list of texts"
    return FollowUp(
        title=title,
        description=clean_text(texts["description"]),
        acceptance=clean_text(texts["acceptance"]),
        area=texts["area"],
        blocks=row.get("blocks") is True,
        depends_on=tuple(each.strip() for each in wanted if each.strip()),
    )


@value
class FollowUpOrigin:
    """The bead whose attempt proposed them; `parent` is an open bead, or none."""

    bead: str
    parent: str = ""
    above: tuple[str, ...] = ()
    """The ancestors of its parent: nothing below them can wait for them (T-12)."""
    spec_id: str = ""
    is_open: bool = False
    """It did not land, or was left open: what blocks it must come first."""
    depth: int = 0
    """How many follow-ups and findings one after another have led to it, itself included."""


@value
class FollowUpPlan:
    """What is done about the follow-ups of one attempt."""

    new: tuple[BeadDraft, ...] = ()
    referenced: tuple[tuple[str, FollowUp], ...] = ()
    """Unfinished beads that say the same already."""
    waits_for: tuple[str, ...] = ()
    """Keys of drafts and ids of beads that the origin must wait for."""
    remarks: tuple[str, ...] = ()


def plan_follow_ups(
    found: Sequence[FollowUp], existing: Sequence[KnownBead], *, origin: FollowUpOrigin
) -> FollowUpPlan:
    """One draft for each that no unfinished bead says already, beside its origin (A-7, T-18)."""
    known = {identity(bead.title): bead.id for bead in existing if not bead.is_finished}
    distinct: dict[Identity, FollowUp] = {}
    for each in found:
        distinct.setdefault(identity(each.title), each)
    fresh = {same: each for same, each in distinct.items() if same not in known}
    keys = {same: f"follow-up-{number}" for number, same in enumerate(fresh, 1)}
    names = {**known, **keys}
    waits_for = tuple(
        names[same]
        for same, each in distinct.items()
        if each.blocks and origin.is_open and names[same] != origin.bead
    )
    order = _Order(names, existing, origin, waits_for)
    new = [_draft(each, keys[same], origin, order) for same, each in fresh.items()]
    said = tuple((known[same], each) for same, each in distinct.items() if same in known)
    return FollowUpPlan(tuple(new), said, waits_for, remarks=tuple(order.remarks))


class _Order:
    """What comes before what; a wish that the tracker would refuse is dropped and said."""

    def __init__(
        self,
        names: Mapping[Identity, str],
        existing: Sequence[KnownBead],
        origin: FollowUpOrigin,
        waits_for: tuple[str, ...],
    ) -> None:
        self._names = names
        self._ids = {bead.id for bead in existing if bead.status != "cancelled"}
        self._above = {origin.parent, *origin.above}
        self._before: dict[str, tuple[str, ...]] = {origin.bead: waits_for}
        self.remarks: list[str] = []

    def before(self, each: FollowUp, key: str) -> tuple[str, ...]:
        """The keys and ids that this one waits for."""
        kept: list[str] = []
        for wanted in dict.fromkeys(each.depends_on):
            name = wanted if wanted in self._ids else self._names.get(identity(wanted), "")
            if problem := self._problem(key, name):
                said = cut(shown(wanted, one_line=True), _LONGEST_TITLE)
                self.remarks.append(f"{each.title!r} does not wait for {said!r}: {problem}")
            else:
                kept.append(name)
        self._before[key] = tuple(dict.fromkeys(kept))
        return self._before[key]

    def _problem(self, key: str, name: str) -> str:
        if not name:
            return "there is no such bead"
        if name in self._above:
            return "it is above it"
        return "each would wait for the other" if key in self._reached(name) else ""

    def _reached(self, name: str) -> set[str]:
        reached: set[str] = set()
        unseen = [name]
        while unseen:
            if (step := unseen.pop()) not in reached:
                reached.add(step)
                unseen += self._before.get(step, ())
        return reached


def _draft(each: FollowUp, key: str, origin: FollowUpOrigin, order: _Order) -> BeadDraft:
    return BeadDraft(
        key,
        each.title,
        description="\n\n".join(filter(None, (each.description, f"left over from {origin.bead}"))),
        acceptance=each.acceptance,
        labels=tuple(filter(None, (LABEL, area_label(each.area)))),
        parent=origin.parent,
        spec_id=origin.spec_id,
        depends_on=order.before(each, key),
        discovered_from=origin.bead,
        held=TOO_DEEP if origin.depth >= MOST_DEPTH else "",
    )


@value
class ReviewedWork:
    """What a review was about; `parent` is an open bead, or none."""

    bead: str = ""
    parent: str = ""
    spec_id: str = ""
    depth: int = 0
    """0: work that no review asked for."""


@value
class ReopenedFinding:
    """A finding that was closed as done and is there again."""

    id: str
    finding: ReviewFinding
    depth: int


@value
class ReviewFilingPlan:
    """What is done about the findings of one review."""

    new: tuple[BeadDraft, ...] = ()
    reopened: tuple[ReopenedFinding, ...] = ()
    referenced: tuple[tuple[str, ReviewFinding], ...] = ()
    """Open beads that say the same already."""
    reported: tuple[ReviewFinding, ...] = ()
    """Of low severity, or what a person has cancelled before."""
    too_deep: tuple[ReviewFinding, ...] = ()

    @property
    def question(self) -> str:
        """What a person must decide before it goes on; empty: nothing (S-13)."""
        if not self.too_deep:
            return ""
        return (
            f"reviews find fault with the mending of faults, {MOST_DEPTH} deep: "
            f"is {self.too_deep[0].title!r} worth more work?"
        )


def depth_of(labels: Sequence[str]) -> int:
    """How many reviews this bead goes back to; a finding without a number goes back to one."""
    numbers = [label.removeprefix(DEPTH_LABEL) for label in labels if label.startswith(DEPTH_LABEL)]
    depths = [int(number) for number in numbers if number.isascii() and number.isdigit()]
    return max(depths, default=1 if FINDING_LABEL in labels else 0)


def plan_filing(
    findings: Sequence[ReviewFinding], existing: Sequence[KnownBead], *, about: ReviewedWork
) -> ReviewFilingPlan:
    """One bead for each distinct finding; what is known is referenced or reopened (S-16)."""
    known = _Known(existing)
    fresh: list[tuple[ReviewFinding, int]] = []
    reopened: list[ReopenedFinding] = []
    referenced: list[tuple[str, ReviewFinding]] = []
    reported: list[ReviewFinding] = []
    too_deep: list[ReviewFinding] = []
    for finding in _distinct(findings):
        bead = known.find(finding)
        depth = max(about.depth, depth_of(bead.labels) if bead and bead.is_finished else 0) + 1
        if finding.severity is Severity.LOW or (bead and bead.status == "cancelled"):
            reported.append(finding)
        elif bead and not bead.is_finished:
            referenced.append((bead.id, finding))
        elif depth > MOST_DEPTH:
            too_deep.append(finding)
        elif bead:
            reopened.append(ReopenedFinding(bead.id, finding, depth))
        else:
            fresh.append((finding, depth))
    return ReviewFilingPlan(
        tuple(_drafts(fresh, about)),
        tuple(reopened),
        tuple(referenced),
        reported=tuple(reported),
        too_deep=tuple(too_deep),
    )


def finding_labels(finding: ReviewFinding, depth: int) -> tuple[str, ...]:
    """Of a bead for this finding, new or opened again."""
    labels = (
        FINDING_LABEL,
        f"severity:{finding.severity}",
        area_label(finding.area),
        f"{DEPTH_LABEL}{depth}",
    )
    return tuple(filter(None, labels))


def _drafts(fresh: Sequence[tuple[ReviewFinding, int]], about: ReviewedWork) -> Iterator[BeadDraft]:
    """In one file the worse comes first: the order is in the priorities and in the links."""
    last_in: dict[str, str] = {}
    found_by = f"found by a review of {about.bead}" if about.bead else "found by a review"
    for number, (finding, depth) in enumerate(fresh, 1):
        before = last_in.get(finding.file)
        key = f"finding-{number}"
        if finding.file:
            last_in[finding.file] = key
        yield BeadDraft(
            key,
            finding.title,
            description="\n\n".join(filter(None, (finding.place, finding.detail, found_by))),
            acceptance=finding.acceptance,
            labels=finding_labels(finding, depth),
            priority=_PRIORITIES[finding.severity],
            parent=about.parent,
            spec_id=about.spec_id,
            depends_on=(before,) if before else (),
            discovered_from=about.bead,
            file=finding.file,
        )


def _distinct(findings: Sequence[ReviewFinding]) -> list[ReviewFinding]:
    """The worst of each, the worst first."""
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    ordered = sorted(findings, key=lambda finding: ranks[finding.severity])
    kept: dict[Identity, ReviewFinding] = {}
    for finding in ordered:
        kept.setdefault(identity(finding.title, finding.file), finding)
    return list(kept.values())


class _Known:
    """The beads that are there, by what they say; an open one before a finished one."""

    def __init__(self, beads: Sequence[KnownBead]) -> None:
        self._by_identity: dict[Identity, KnownBead] = {}
        for bead in sorted(beads, key=lambda bead: (bead.is_finished, bead.status, bead.id)):
            is_finding = FINDING_LABEL in bead.labels
            if is_finding or not bead.is_finished:  # other work that was closed is not opened again
                self._by_identity.setdefault(identity(bead.title, bead.file), bead)

    def find(self, finding: ReviewFinding) -> KnownBead | None:
        """The same title in the same file, or in a bead that names no file."""
        same = (identity(finding.title, finding.file), identity(finding.title))
        found = [self._by_identity[each] for each in same if each in self._by_identity]
        return min(found, key=lambda bead: bead.is_finished, default=None)
