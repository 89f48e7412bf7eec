"""The passes that write documents: a row for each, and one function that carries a row out.

align        a top-down audit for drift; its report lands, and each gap becomes a bead (A-4)
backfill     documents for code that has none, as far as evidence reaches (A-3)
design       a plan, gone over in rounds until a round finds nothing more
frame        from an idea to the documents that others build on
evolve       a requirement carried through all documents that it touches
experiment   one bounded iteration towards a number, written down whatever came of it
"""

from __future__ import annotations

import hashlib
from posixpath import join, normpath
from typing import TYPE_CHECKING, TypeAlias

from ddx.attempts import PromptSection
from ddx.base import Refused, UsageError, listed, value
from ddx.documents import load_graph, slug
from ddx.git import Repository
from ddx.tracker import BeadPatch
from helix.passes import claimed_changes as claim
from helix.passes.documents import EXIT_CODES, PassOrder, write_documents
from helix.passes.drafts import clean_text
from helix.passes.pass_bead import KIND, PassSubject
from helix.passes.question import PassEnd, defused, sections_for
from helix.passes.scope import REPO, SEEN, ScopeKind, UpstreamDocuments, resolve_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ddx.tracker import TrackerEdit
    from helix.passes.claimed_changes import PassClaim
    from helix.passes.question import PassResult
    from helix.passes.scope import Scope
    from helix.project import PassContext

DESIGN_ROUNDS = 5
BACKFILL_EXIT_CODES = {**EXIT_CODES, PassEnd.GUIDANCE: 0}
"""Its questions stand in the report, so a pass that has some is done (A-3)."""

_CLOSED = "CLOSED"
_CLOSE = "End the session now: sum it up, and measure nothing new."
_MOST_NAMED = 5
_LOGS = ".helix-logs/"
_Claims: TypeAlias = "Callable[[int, tuple[str, ...]], tuple[PassClaim, ...]]"


@value
class DocumentPass:
    """What makes one of these passes another than the others."""

    endings: Mapping[str, PassEnd]
    """What each word of its status means."""
    claims: _Claims
    """What its trailer must bear out, by the rounds and the words that were asked for."""
    tells: str = ""
    """What is asked in our own words, with the `path` and the `rounds`."""
    report_key: str = ""
    folder: str = ""
    prefix: str = ""
    """Of what it writes: AR-2026-03-27-cli.md."""
    request_title: str = ""
    """It answers words of a person; empty: it needs none."""
    no_request: tuple[str, str] = ("", "")
    """What is said where they are missing, and a hint."""
    is_session: bool = False
    """The same goal has the same document on whatever day, and another pass always makes sense."""
    needs_commits: bool = False
    """A number says something only of a state that can be had again (A-3)."""
    marks_beads: bool = False
    """One that looked at everything is noted on the beads that it looked at (S-3)."""


DOCUMENT_PASSES: Mapping[str, DocumentPass] = {
    "align": DocumentPass(
        {"COMPLETE": PassEnd.DONE, "INCOMPLETE": PassEnd.UNFINISHED, "BLOCKED": PassEnd.BLOCKED},
        lambda rounds, words: (
            claim.names_report("ALIGN_REPORT"),
            claim.counts_drafts("GAPS_FOUND"),
        ),
        "Write the report to {path}.",
        report_key="ALIGN_REPORT",
        folder="06-iterate/alignment-reviews",
        prefix="AR",
        marks_beads=True,
    ),
    "backfill": DocumentPass(
        {"COMPLETE": PassEnd.DONE, "GUIDANCE_NEEDED": PassEnd.GUIDANCE, "BLOCKED": PassEnd.BLOCKED},
        lambda rounds, words: (claim.names_report("BACKFILL_REPORT"),),
        "Write the report to {path}.",
        report_key="BACKFILL_REPORT",
        folder="06-iterate/backfill-reports",
        prefix="BF",
    ),
    "design": DocumentPass(
        {
            "CONVERGED": PassEnd.DONE,
            "IN_PROGRESS": PassEnd.UNFINISHED,
            "GUIDANCE_NEEDED": PassEnd.GUIDANCE,
        },
        lambda rounds, words: (
            claim.names_report("PLAN_DOCUMENT"),
            claim.is_within("PLAN_ROUNDS", rounds),
        ),
        "Write the plan to {path}, unless the scope has one already: then go on with that one.\n"
        "Make {rounds} rounds at most.",
        report_key="PLAN_DOCUMENT",
        folder="02-design",
        prefix="plan",
    ),
    "frame": DocumentPass(
        {"COMPLETE": PassEnd.DONE, "GUIDANCE_NEEDED": PassEnd.GUIDANCE},
        lambda rounds, words: (claim.counts_created("ARTIFACTS_CREATED"),),
    ),
    "evolve": DocumentPass(
        {"COMPLETE": PassEnd.DONE, "CONFLICTS": PassEnd.GUIDANCE, "BLOCKED": PassEnd.BLOCKED},
        lambda rounds, words: (claim.counts_changed("ARTIFACTS_UPDATED"),),
        request_title="The requirement",
        no_request=("a requirement needs words", 'helix evolve "exports are in UTC"'),
    ),
    "experiment": DocumentPass(
        {
            "CONVERGED": PassEnd.DONE,
            "ITERATION_COMPLETE": PassEnd.UNFINISHED,
            "NO_IMPROVEMENT": PassEnd.UNFINISHED,
            _CLOSED: PassEnd.DONE,
        },
        lambda rounds, words: (
            claim.has_word("EXPERIMENT_STATUS", words),
            claim.quotes_metric("EXPERIMENT_BEST"),
        ),
        "The session document is {path}; make it if it is not there.",
        folder="06-iterate/reports",
        prefix="experiment",
        request_title="The goal",
        no_request=("an experiment needs a goal", 'helix experiment "start in 50 ms"'),
        is_session=True,
        needs_commits=True,
    ),
}


def order_pass(
    desk: PassContext,
    action: str,
    scope: str = REPO,
    *,
    words: str = "",
    artifact: str = "",
    rounds: int = DESIGN_ROUNDS,
    close: bool = False,
) -> PassOrder:
    """The pass of that row about a scope: the page, data, then what is asked in our own words.

    `words` are a person's: the requirement, or the goal, which may be the name of a scope.
    `artifact` is the document to begin with; it is the scope where no other is named. `close` ends
    the session of an experiment.
    """
    row, request = DOCUMENT_PASSES[action], clean_text(words)
    if row.request_title and not request:
        said, hint = row.no_request
        raise UsageError(said, hint=hint)
    document = _document(desk, artifact) if artifact else ""
    about = document if document and scope == REPO else scope
    place = _named_by(desk, request) if row.is_session else resolve_scope(desk.site, about)
    asked = (
        row.tells.format(path=_path(desk, row, place, request), rounds=rounds) if row.tells else "",
        f"Begin with the document {document}." if document else "",
        _CLOSE if close else "",
    )
    sentences = "\n".join(filter(None, asked))
    quoted = defused(PromptSection(row.request_title, request, quoted=True))
    return PassOrder(
        PassSubject(action, place.text, document or place.document, request=quoted.text),
        (
            *sections_for(
                action, desk, scope=place.described, data=(quoted,) if quoted.text else ()
            ),
            *((PromptSection("What is asked of you", sentences),) if sentences else ()),
        ),
        row.endings,
        claims=row.claims(rounds, tuple(it for it in row.endings if (it == _CLOSED) is close)),
        report_key=row.report_key,
        parent=_parent(desk, place),
        may_repeat=row.is_session,
    )


def make_pass(desk: PassContext, order: PassOrder) -> PassResult:
    """Carry it out; what it came to is a value, and only what keeps us from it is raised."""
    row = DOCUMENT_PASSES[order.subject.action]
    if row.needs_commits:
        _require_commits(desk)
    looked_at = _look(desk, order.subject.scope) if row.marks_beads else {}
    done = write_documents(desk, order)
    if looked_at and done.ended is PassEnd.DONE and done.commit:
        _mark(desk, looked_at)
    return done


# -- what it is about, and where its words shall stand ---------------------------------------


def _document(desk: PassContext, artifact: str) -> str:
    found = resolve_scope(desk.site, artifact).document
    if not found:
        raise UsageError(f"--artifact {artifact} is no document", hint="see: ddx doc list")
    return found


def _named_by(desk: PassContext, goal: str) -> Scope:
    """What the goal names, if it is a name; a goal in words is about the whole repository."""
    try:
        return resolve_scope(desk.site, goal)
    except UsageError:
        return resolve_scope(desk.site, REPO)


def _path(desk: PassContext, row: DocumentPass, scope: Scope, goal: str) -> str:
    """Where it belongs: `AR-2026-03-27-cli.md`, numbered where there is one already."""
    home = normpath(join(desk.site.settings.document_roots[0], row.folder))
    if row.is_session:
        return f"{home}/{row.prefix}-{_short(goal)}.md"
    parts = [row.prefix, desk.site.clock.stamp()[:10]]
    if scope.kind is not ScopeKind.REPO:
        parts.append(_short(scope.text))
    name = f"{home}/{'-'.join(parts)}"
    files = Repository(desk.site.project.root).entries("HEAD", [home])
    there = {entry.path for entry in files}
    number, path = 1, f"{name}.md"
    while path in there:
        number += 1
        path = f"{name}-{number}.md"
    return path


def _short(text: str) -> str:
    """For a file's name; words without a letter of ASCII are told apart all the same."""
    return slug(text) or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _parent(desk: PassContext, scope: Scope) -> str:
    """Below the epic that is the scope, or beside the bead that is."""
    if scope.kind is ScopeKind.EPIC:
        return scope.text
    return desk.site.tracker.snapshot().parent(scope.text) if scope.kind is ScopeKind.BEAD else ""


# -- what differs from one to the other ------------------------------------------------------


def _require_commits(desk: PassContext) -> None:
    uncommitted = Repository(desk.site.project.root).uncommitted()
    edited = [path for path in uncommitted if not path.startswith(_LOGS)]
    if edited:
        some = [*edited[:_MOST_NAMED], *(["more"] if len(edited) > _MOST_NAMED else [])]
        raise Refused(
            f"there are uncommitted changes, so nothing can be measured: {listed(some)}",
            hint="commit or stash them first: git status",
        )


def _look(desk: PassContext, scope: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Each open bead of a scope: its revision before the audit, and what its documents said."""
    site = desk.site
    place = resolve_scope(site, scope)
    upstream = UpstreamDocuments(
        load_graph(site.project, site.settings.document_roots, clock=site.clock)
    )
    return {
        bead.id: (bead.revision, hashes)
        for bead in site.tracker.snapshot().beads()
        if bead.status == "open" and KIND not in bead.labels and place.holds(bead)
        if (hashes := upstream.hashes(bead))
    }


def _mark(desk: PassContext, looked_at: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    """What somebody changed meanwhile was not looked at."""

    def decide(edit: TrackerEdit) -> None:
        for bead_id, (revision, hashes) in looked_at.items():
            if bead_id in edit and edit.before.revision(bead_id) == revision:
                edit.update(bead_id, BeadPatch({SEEN: hashes}))

    desk.site.tracker.edit(decide)
