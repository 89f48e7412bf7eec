"""What a review says, and which beads follow from it (S-15, S-16, A-1). Pure."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.text import cut, shown_on_one_line
from ddx.values import value
from helix.policy.drafts import Draft, area_label, clean_text, clean_title, identity
from helix.policy.fences import fenced_lists
from helix.policy.trailers import TRAILERS, Unreadable, read_trailer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix.policy.drafts import Identity, KnownBead

MOST_FINDINGS = 100
MOST_DEPTH = 2
"""Findings about work, and findings about the work that those asked for; then guidance (S-13)."""

FINDING_LABEL = "review-finding"
_DEPTH_LABEL = "review-depth:"
_LONGEST_NAME = 300
_COUNTED = re.compile(r"(\d+) (?:insertion|deletion)")


class Severity(StrEnum):
    """The worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_PRIORITIES = {Severity.CRITICAL: 0, Severity.HIGH: 1, Severity.MEDIUM: 2}


@value
class Finding:
    """One thing that a reviewer found wrong."""

    severity: Severity
    title: str
    file: str = ""
    line: int = 0
    detail: str = ""
    area: str = ""
    acceptance: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file and self.line else self.file

    @property
    def sentence(self) -> str:
        return f"{self.severity}: {self.title}{f' ({self.place})' if self.place else ''}"


@value
class Clean:
    """Nothing was found."""


@value
class Findings:
    findings: tuple[Finding, ...]


Verdict: TypeAlias = Clean | Findings | Unreadable

_TEXTS = ("title", "file", "detail", "area", "acceptance")
REVIEW_SCHEMA = json.dumps(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["status", "findings"],
        "properties": {
            "status": {"type": "string", "enum": ["CLEAN", "ISSUES_FOUND"]},
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["severity", *_TEXTS[:2], "line", *_TEXTS[2:]],
                    "properties": {
                        "severity": {"type": "string", "enum": [*Severity]},
                        **{name: {"type": "string"} for name in _TEXTS},
                        "line": {"type": ["integer", "null"]},
                    },
                },
            },
        },
    }
)
"""For a harness that can hold its reply to a schema."""


def read_review(text: str, structured: Any = None) -> Verdict:
    """The verdict, if status, number and list of findings all say the same (A-1)."""
    if isinstance(structured, dict) and {"status", "findings"} <= structured.keys():
        return _weighed(structured["status"], None, structured["findings"])
    trailer = read_trailer(text, TRAILERS["review"])
    if isinstance(trailer, Unreadable):
        return trailer
    lists = fenced_lists(text)
    if len(lists) > 1:
        return Unreadable(f"there are {len(lists)} fenced lists, and one was asked for")
    rows = lists[0] if lists else []
    return _weighed(trailer.text("REVIEW_STATUS"), trailer.count("ISSUES_COUNT"), rows)


def changed_lines(diffstat: str) -> int:
    """How much there is to look at: git's insertions and deletions together (D-24)."""
    return sum(map(int, _COUNTED.findall(diffstat.rstrip().rpartition("\n")[2])))


def _weighed(status: Any, count: int | None, rows: Any) -> Verdict:
    if status not in ("CLEAN", "ISSUES_FOUND") or not isinstance(rows, list):
        return Unreadable("the reply does not fit what was asked for")
    if len(rows) > MOST_FINDINGS:
        return Unreadable(f"there are {len(rows)} findings, and at most {MOST_FINDINGS} are read")
    if count is not None and count != len(rows):
        return Unreadable(f"it counts {count} findings and lists {len(rows)}")
    if (status == "CLEAN") == bool(rows):
        return Unreadable(f"it says {status} and lists {len(rows)} findings")
    findings = []
    for number, row in enumerate(rows, 1):
        found = _finding(row)
        if isinstance(found, str):
            return Unreadable(f"finding {number}: {found}")
        findings.append(found)
    return Findings(tuple(findings)) if findings else Clean()


def _finding(row: Any) -> Finding | str:
    """The finding, or what is wrong with it."""
    if not isinstance(row, dict):
        return "it is no object"
    texts = {name: "" if row.get(name) is None else row[name] for name in _TEXTS}
    wrong = [name for name, given in texts.items() if not isinstance(given, str)]
    severity = row.get("severity")
    severities = {str(each): each for each in Severity}
    if wrong:
        return f"its {wrong[0]} is no text"
    if not isinstance(severity, str) or severity.strip().lower() not in severities:
        return f"its severity is {cut(shown_on_one_line(str(severity)), 40)!r}"
    if not (title := clean_title(texts["title"])):
        return "it has no title"
    line = row.get("line")
    if isinstance(line, bool) or not (line is None or isinstance(line, int)):
        return "its line is no number"
    return Finding(
        severities[severity.strip().lower()],
        title,
        cut(shown_on_one_line(texts["file"].strip()), _LONGEST_NAME),
        max(line or 0, 0),
        clean_text(texts["detail"]),
        cut(texts["area"], _LONGEST_NAME),
        clean_text(texts["acceptance"]),
    )


@value
class Reviewed:
    """What a review was about; `parent` is an open bead, or none."""

    bead: str = ""
    parent: str = ""
    spec_id: str = ""
    depth: int = 0
    """0: work that no review asked for."""


@value
class Reopened:
    """A finding that was closed as done and is there again."""

    id: str
    finding: Finding
    depth: int


@value
class Filing:
    """What is done about the findings of one review."""

    new: tuple[Draft, ...] = ()
    reopened: tuple[Reopened, ...] = ()
    referenced: tuple[tuple[str, Finding], ...] = ()
    """Open beads that say the same already."""
    reported: tuple[Finding, ...] = ()
    """Of low severity, or what a person has cancelled before."""
    too_deep: tuple[Finding, ...] = ()

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
    numbers = [
        label.removeprefix(_DEPTH_LABEL) for label in labels if label.startswith(_DEPTH_LABEL)
    ]
    depths = [int(number) for number in numbers if number.isascii() and number.isdigit()]
    return max(depths, default=1 if FINDING_LABEL in labels else 0)


def plan_filing(
    findings: Sequence[Finding], existing: Sequence[KnownBead], *, about: Reviewed
) -> Filing:
    """One bead for each distinct finding; what is known is referenced or reopened (S-16)."""
    known = _Known(existing)
    fresh: list[tuple[Finding, int]] = []
    reopened: list[Reopened] = []
    referenced: list[tuple[str, Finding]] = []
    reported: list[Finding] = []
    too_deep: list[Finding] = []
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
            reopened.append(Reopened(bead.id, finding, depth))
        else:
            fresh.append((finding, depth))
    return Filing(
        tuple(_drafts(fresh, about)),
        tuple(reopened),
        tuple(referenced),
        tuple(reported),
        tuple(too_deep),
    )


def finding_labels(finding: Finding, depth: int) -> tuple[str, ...]:
    """Of a bead for this finding, new or opened again."""
    labels = (
        FINDING_LABEL,
        f"severity:{finding.severity}",
        area_label(finding.area),
        f"{_DEPTH_LABEL}{depth}",
    )
    return tuple(filter(None, labels))


def _drafts(fresh: Sequence[tuple[Finding, int]], about: Reviewed) -> Iterator[Draft]:
    """In one file the worse comes first: the order is in the priorities and in the links."""
    last_in: dict[str, str] = {}
    found_by = f"found by a review of {about.bead}" if about.bead else "found by a review"
    for number, (finding, depth) in enumerate(fresh, 1):
        before = last_in.get(finding.file)
        key = f"finding-{number}"
        if finding.file:
            last_in[finding.file] = key
        yield Draft(
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


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """The worst of each, the worst first."""
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    ordered = sorted(findings, key=lambda finding: ranks[finding.severity])
    kept: dict[Identity, Finding] = {}
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

    def find(self, finding: Finding) -> KnownBead | None:
        """The same title in the same file, or in a bead that names no file."""
        same = (identity(finding.title, finding.file), identity(finding.title))
        found = [self._by_identity[each] for each in same if each in self._by_identity]
        return min(found, key=lambda bead: bead.is_finished, default=None)
