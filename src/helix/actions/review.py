"""Fresh eyes on exactly what changed, by an agent that knows nothing of its author (S-15, S-17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddx.errors import UsageError
from ddx.execution.model import Bead, Section
from ddx.execution.prompt import bead_sections
from ddx.git import commit_id, trees
from ddx.git.diffs import diff_between, parent_of, paths_between
from ddx.git.repository import read_repository
from ddx.graph.parse import parse
from ddx.text import cut
from ddx.values import changed, value
from helix.actions.asking import ask, capture
from helix.actions.model import Ended, Pass
from helix.actions.scope import Kind, resolve_scope
from helix.actions.territory import is_document
from helix.policy.review import REVIEW_SCHEMA, Clean, Findings, Verdict, read_review
from helix.policy.trailers import Unreadable
from helix.prompts import prompt_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ddx.execution.work import Site
    from helix.actions.scope import Scope
    from helix.desk import Desk

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
class Span:
    """From one commit to another; without a base it is the whole as it stands at the end."""

    base: str
    result: str


@value
class Subject:
    """What a review is about."""

    span: Span
    scope: str = ""
    beads: tuple[Bead, ...] = ()
    """What was asked for."""
    failed: str = ""
    """What the checks said, where it never passed."""


def review(desk: Desk, subject: Subject) -> Verdict:
    """What the reviewer says of the subject, and of nothing else."""
    prompt = review_prompt(desk, subject)
    if not prompt:
        return Clean()
    asked = ask(
        desk,
        desk.reviewer,
        action=NAME,
        prompt=prompt,
        schema=REVIEW_SCHEMA,
        base=subject.span.result,
    )
    verdict = (
        Unreadable(asked.failure)
        if asked.failure
        else read_review(asked.reply.text, asked.reply.structured)
    )
    done = changed(_pass(verdict), attempt=asked.attempt)
    documents = tuple(dict.fromkeys(bead.spec_id for bead in subject.beads if bead.spec_id))
    capture(desk, done, documents=documents, started_at=asked.started_at)
    return verdict


def review_prompt(desk: Desk, subject: Subject) -> str:
    """All that the reviewer is told; empty where nothing but our own files changed (S-17)."""
    span = subject.span
    if not span.result:
        return ""
    data = [section for bead in subject.beads for section in bead_sections(bead)]
    if subject.failed:
        data.append(Section("Checks that failed", subject.failed, quoted=True))
    if span.base:
        paths = reviewable(desk.site, span)
        if not paths:
            return ""
        data += _change(desk.site, span, paths)
    return prompt_for(NAME, desk, scope=subject.scope, data=data)


def landed_subject(site: Site, result: Mapping[str, object]) -> Subject:
    """The work that an attempt landed, by its record (S-15)."""
    span = Span(str(result.get("base", "")), str(result.get("result", "")))
    return Subject(span, beads=tuple(_beads(site, result)))


def kept_subject(site: Site, result: Mapping[str, object]) -> Subject:
    """Work that did not pass, with what its checks said (S-10)."""
    return changed(landed_subject(site, result), failed=_failures(result))


def scope_subject(site: Site, about: Scope | str) -> Subject:
    """A document and all that follows from it, or another part, as it stands now."""
    scope = resolve_scope(site, about) if isinstance(about, str) else about
    head = commit_id(site.project.root, "HEAD")
    lines = [scope.described]
    if scope.kind is not Kind.REPO and scope.documents:
        lines.append(f"documents: {', '.join(scope.documents[:_MOST_NAMED])}")
    return Subject(Span("", head), "\n".join(lines))


def named_subject(site: Site, word: str = LAST_COMMIT) -> Subject:
    """What a person names: commits, or a part of the project."""
    span = find_span(site, word)
    return scope_subject(site, word) if span is None else Subject(span)


def find_span(site: Site, word: str = LAST_COMMIT) -> Span | None:
    """The commits that a person means; None: the word names no commits."""
    root = site.project.root
    if word == LAST_COMMIT or word.startswith(_COMMIT):
        name = "HEAD" if word == LAST_COMMIT else word.removeprefix(_COMMIT)
        commit = _require(root, name)
        return Span(parent_of(root, commit), commit)
    one, dots, other = word.partition(_RANGE)
    if not dots or other.startswith(("/", ".")):
        return None
    return Span(_require(root, one), _require(root, other or "HEAD"))


def reviewable(site: Site, span: Span) -> tuple[str, ...]:
    """What changed, without the tracker and without documents that were only stamped (S-17)."""
    prefix = read_repository(site.project.root).prefix
    own = tuple(f"{prefix}{folder}" for folder in _OURS)
    paths = paths_between(site.project.root, span.base, span.result)
    return tuple(
        path
        for path in paths
        if not path.startswith(own) and not _is_stamp(site, span, path.removeprefix(prefix))
    )


def _require(root: str, name: str) -> str:
    commit = commit_id(root, name)
    if not commit:
        raise UsageError(
            f"there is no commit {name!r}", hint="helix review last-commit, or commit:SHA, or A..B"
        )
    return commit


def _is_stamp(site: Site, span: Span, path: str) -> bool:
    """The document says the same; only its mark of a review is another one (G-8)."""
    if not is_document(path, site.settings.document_roots):
        return False
    before, after = (
        trees.content(site.project.root, commit, path) for commit in (span.base, span.result)
    )
    if before is None or after is None:
        return False
    return parse(path, before).content_hash == parse(path, after).content_hash


def _change(site: Site, span: Span, paths: Sequence[str]) -> list[Section]:
    root = site.project.root
    diff = diff_between(root, span.base, span.result, paths, most=LARGEST_DIFF)
    sections = [
        Section("Changed files", "\n".join(_named(paths)), quoted=True),
        Section("The change", diff.text, quoted=True),
    ]
    if diff.left_out:
        command = f"git diff {span.base} {span.result} -- PATH"
        text = f"These are too large to show; see them with `{command}`."
        sections += [
            Section("What is not shown", text),
            Section("Files to look at yourself", "\n".join(_named(diff.left_out)), quoted=True),
        ]
    return sections


def _named(paths: Sequence[str]) -> list[str]:
    more = len(paths) - _MOST_NAMED
    named = [path.encode("utf-8", "replace").decode() for path in paths[:_MOST_NAMED]]
    return [*named, *([f"... {more} more"] if more > 0 else [])]


def _beads(site: Site, result: Mapping[str, object]) -> list[Bead]:
    ids = result.get("beads")
    found = [(str(name), site.tracker.snapshot().find(str(name))) for name in _list(ids)]
    return [Bead(name, row) for name, row in found if row is not None]


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


def _pass(verdict: Verdict) -> Pass:
    match verdict:
        case Clean():
            values = {"REVIEW_STATUS": "CLEAN", "ISSUES_COUNT": "0"}
            return Pass(NAME, Ended.DONE, "CLEAN", values=values)
        case Findings(findings=findings):
            values = {"REVIEW_STATUS": "ISSUES_FOUND", "ISSUES_COUNT": str(len(findings))}
            reason = cut("; ".join(finding.title for finding in findings), _LONGEST_TAIL)
            return Pass(NAME, Ended.DONE, "ISSUES_FOUND", reason, values=values)
        case Unreadable(reason=reason):
            return Pass(NAME, Ended.UNREADABLE, reason=reason)
