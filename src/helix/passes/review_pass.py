"""Fresh eyes on exactly what changed, by an agent that knows nothing of its author (S-15, S-17).

What it is shown, what it is asked, and the verdict that is read from its reply (A-1).
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from ddx.attempts import PromptSection
from ddx.base import UsageError, changed, cut, shown, value
from ddx.documents import Page
from ddx.git import Repository
from ddx.tracker import Bead
from helix.passes.drafts import clean_text, clean_title
from helix.passes.question import PassEnd, PassResult, ask, capture, prompt_for
from helix.passes.reply import TRAILERS, UnreadableTrailer, fenced_lists, read_trailer
from helix.passes.scope import ScopeKind, is_document, resolve_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.attempts import AttemptContext
    from helix.passes.scope import Scope
    from helix.project import PassContext

NAME = "review"
LAST_COMMIT = "last-commit"
LARGEST_DIFF = 55_000
"""Characters; a section of a prompt holds a little more."""

_COMMIT = "commit:"
_RANGE = ".."
_OURS = (".ddx/", ".helix/", ".helix-logs/")
_MOST_NAMED = 200
_LONGEST_TAIL = 2000


@value
class CommitRange:
    """From one commit to another; without a base it is the whole as it stands at the end."""

    base: str
    result: str


@value
class ReviewSubject:
    """What a review is about."""

    span: CommitRange
    scope: str = ""
    beads: tuple[Bead, ...] = ()
    """What was asked for."""
    failed: str = ""
    """What the checks said, where it never passed."""


def review(desk: PassContext, subject: ReviewSubject) -> ReviewVerdict:
    """What the reviewer says of the subject, and of nothing else."""
    prompt = review_prompt(desk, subject)
    if not prompt:
        return CleanReview()
    asked = ask(
        desk,
        desk.reviewer,
        action=NAME,
        prompt=prompt,
        schema=REVIEW_SCHEMA,
        base=subject.span.result,
    )
    verdict = (
        UnreadableTrailer(asked.failure)
        if asked.failure
        else read_review(asked.reply.text, asked.reply.structured)
    )
    done = changed(_pass(verdict), attempt=asked.attempt)
    documents = tuple(dict.fromkeys(bead.spec_id for bead in subject.beads if bead.spec_id))
    capture(desk, done, documents=documents, started_at=asked.started_at)
    return verdict


def review_prompt(desk: PassContext, subject: ReviewSubject) -> str:
    """All that the reviewer is told; empty where nothing but our own files changed (S-17)."""
    span = subject.span
    if not span.result:
        return ""
    data = [PromptSection.of_bead(bead) for bead in subject.beads]
    if subject.failed:
        data.append(PromptSection("Checks that failed", subject.failed, quoted=True))
    if span.base:
        paths = reviewable(desk.site, span)
        if not paths:
            return ""
        data += _change(desk.site, span, paths)
    return prompt_for(NAME, desk, scope=subject.scope, data=data)


def landed_subject(site: AttemptContext, result: Mapping[str, object]) -> ReviewSubject:
    """The work that an attempt landed, by its record (S-15)."""
    span = CommitRange(str(result.get("base", "")), str(result.get("result", "")))
    return ReviewSubject(span, beads=tuple(_beads(site, result)))


def kept_subject(site: AttemptContext, result: Mapping[str, object]) -> ReviewSubject:
    """Work that did not pass, with what its checks said (S-10)."""
    return changed(landed_subject(site, result), failed=_failures(result))


def scope_subject(site: AttemptContext, about: Scope | str) -> ReviewSubject:
    """A document and all that follows from it, or another part, as it stands now."""
    scope = resolve_scope(site, about) if isinstance(about, str) else about
    head = Repository(site.project.root).commit_id()
    lines = [scope.described]
    if scope.kind is not ScopeKind.REPO and scope.documents:
        lines.append(f"documents: {', '.join(scope.documents[:_MOST_NAMED])}")
    return ReviewSubject(CommitRange("", head), "\n".join(lines))


def named_subject(site: AttemptContext, word: str = LAST_COMMIT) -> ReviewSubject:
    """What a person names: commits, or a part of the project."""
    span = find_span(site, word)
    return scope_subject(site, word) if span is None else ReviewSubject(span)


def find_span(site: AttemptContext, word: str = LAST_COMMIT) -> CommitRange | None:
    """The commits that a person means; None: the word names no commits."""
    repository = Repository(site.project.root)
    if word == LAST_COMMIT or word.startswith(_COMMIT):
        name = "HEAD" if word == LAST_COMMIT else word.removeprefix(_COMMIT)
        commit = _require(repository, name)
        return CommitRange(repository.parent_of(commit), commit)
    one, dots, other = word.partition(_RANGE)
    if not dots or other.startswith(("/", ".")):
        return None
    return CommitRange(_require(repository, one), _require(repository, other or "HEAD"))


def reviewable(site: AttemptContext, span: CommitRange) -> tuple[str, ...]:
    """What changed, without the tracker and without documents that were only stamped (S-17)."""
    repository = Repository(site.project.root)
    prefix = repository.prefix
    own = tuple(f"{prefix}{folder}" for folder in _OURS)
    paths = repository.paths_between(span.base, span.result)
    return tuple(
        path
        for path in paths
        if not path.startswith(own) and not _is_stamp(site, span, path.removeprefix(prefix))
    )


def _require(repository: Repository, name: str) -> str:
    commit = repository.commit_id(name)
    if not commit:
        raise UsageError(
            f"there is no commit {name!r}", hint="helix review last-commit, or commit:SHA, or A..B"
        )
    return commit


def _is_stamp(site: AttemptContext, span: CommitRange, path: str) -> bool:
    """The document says the same; only its mark of a review is another one (G-8)."""
    if not is_document(path, site.settings.document_roots):
        return False
    repository = Repository(site.project.root)
    before, after = (repository.content(commit, path) for commit in (span.base, span.result))
    if before is None or after is None:
        return False
    return Page.of(before).content_hash == Page.of(after).content_hash


def _change(site: AttemptContext, span: CommitRange, paths: Sequence[str]) -> list[PromptSection]:
    repository = Repository(site.project.root)
    diff = repository.diff_between(span.base, span.result, paths, most=LARGEST_DIFF)
    sections = [
        PromptSection("Changed files", "\n".join(_named(paths)), quoted=True),
        PromptSection("The change", diff.text, quoted=True),
    ]
    if diff.left_out:
        command = f"git diff {span.base} {span.result} -- PATH"
        text = f"These are too large to show; see them with `{command}`."
        sections += [
            PromptSection("What is not shown", text),
            PromptSection(
                "Files to look at yourself", "\n".join(_named(diff.left_out)), quoted=True
            ),
        ]
    return sections


def _named(paths: Sequence[str]) -> list[str]:
    more = len(paths) - _MOST_NAMED
    named = [path.encode("utf-8", "replace").decode() for path in paths[:_MOST_NAMED]]
    return [*named, *([f"... {more} more"] if more > 0 else [])]


def _beads(site: AttemptContext, result: Mapping[str, object]) -> list[Bead]:
    ids = result.get("beads")
    snapshot = site.tracker.snapshot()
    found = (snapshot.find_bead(str(name)) for name in _list(ids))
    return [bead for bead in found if bead is not None]


def _failures(result: Mapping[str, object]) -> str:
    parts = []
    for check in _list(result.get("checks")):
        if isinstance(check, dict) and not check.get("passed", False):
            name = str(check.get("command") or check.get("name", ""))
            tail = str(check.get("output_tail", ""))[-_LONGEST_TAIL:]
            parts.append("\n".join(filter(None, (name, str(check.get("reason", "")), tail))))
    return "\n\n".join(parts) or str(result.get("reason", ""))


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _pass(verdict: ReviewVerdict) -> PassResult:
    match verdict:
        case CleanReview():
            values = {"REVIEW_STATUS": "CLEAN", "ISSUES_COUNT": "0"}
            return PassResult(NAME, PassEnd.DONE, "CLEAN", values=values)
        case ReviewFindings(findings=findings):
            values = {"REVIEW_STATUS": "ISSUES_FOUND", "ISSUES_COUNT": str(len(findings))}
            reason = cut("; ".join(finding.title for finding in findings), _LONGEST_TAIL)
            return PassResult(NAME, PassEnd.DONE, "ISSUES_FOUND", reason=reason, values=values)
        case UnreadableTrailer(reason=reason):
            return PassResult(NAME, PassEnd.UNREADABLE, reason=reason)


MOST_FINDINGS = 100
_LONGEST_NAME = 300


class Severity(StrEnum):
    """The worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@value
class ReviewFinding:
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
class CleanReview:
    """Nothing was found."""


@value
class ReviewFindings:
    findings: tuple[ReviewFinding, ...]


ReviewVerdict: TypeAlias = CleanReview | ReviewFindings | UnreadableTrailer

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


def read_review(text: str, structured: Any = None) -> ReviewVerdict:
    """The verdict, if status, number and list of findings all say the same (A-1)."""
    if isinstance(structured, dict) and {"status", "findings"} <= structured.keys():
        return _weighed(structured["status"], None, structured["findings"])
    trailer = read_trailer(text, TRAILERS["review"])
    if isinstance(trailer, UnreadableTrailer):
        return trailer
    lists = fenced_lists(text)
    if len(lists) > 1:
        return UnreadableTrailer(f"there are {len(lists)} fenced lists, and one was asked for")
    rows = lists[0] if lists else []
    return _weighed(trailer.text("REVIEW_STATUS"), trailer.count("ISSUES_COUNT"), rows)


def _weighed(status: Any, count: int | None, rows: Any) -> ReviewVerdict:
    if status not in ("CLEAN", "ISSUES_FOUND") or not isinstance(rows, list):
        return UnreadableTrailer("the reply does not fit what was asked for")
    if len(rows) > MOST_FINDINGS:
        return UnreadableTrailer(
            f"there are {len(rows)} findings, and at most {MOST_FINDINGS} are read"
        )
    if count is not None and count != len(rows):
        return UnreadableTrailer(f"it counts {count} findings and lists {len(rows)}")
    if (status == "CLEAN") == bool(rows):
        return UnreadableTrailer(f"it says {status} and lists {len(rows)} findings")
    findings = []
    for number, row in enumerate(rows, 1):
        found = _finding(row)
        if isinstance(found, str):
            return UnreadableTrailer(f"finding {number}: {found}")
        findings.append(found)
    return ReviewFindings(tuple(findings)) if findings else CleanReview()


def _finding(row: Any) -> ReviewFinding | str:
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
        return f"its severity is {cut(shown(str(severity), one_line=True), 40)!r}"
    if not (title := clean_title(texts["title"])):
        return "it has no title"
    line = row.get("line")
    if isinstance(line, bool) or not (line is None or isinstance(line, int)):
        return "its line is no number"
    return ReviewFinding(
        severity=severities[severity.strip().lower()],
        title=title,
        file=cut(shown(texts["file"].strip(), one_line=True), _LONGEST_NAME),
        line=max(line or 0, 0),
        detail=clean_text(texts["detail"]),
        area=cut(texts["area"], _LONGEST_NAME),
        acceptance=clean_text(texts["acceptance"]),
    )
