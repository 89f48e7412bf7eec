"""check, review, polish and triage: real repositories, a stub agent, nothing written but by us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.contract import ROOT, SCHEMAS

from ddx.attempts.context import Limits
from ddx.attempts.work import open_site
from ddx.base.clock import Clock
from ddx.base.errors import NeedsPerson, UsageError
from ddx.base.values import changed
from ddx.documents.cache import load_graph
from ddx.documents.run_records import read_history, read_log
from ddx.git.commands import run as git
from ddx.testing import make_repo
from ddx.tracker.bead import Bead
from ddx.tracker.edits import BeadPatch, create, update
from ddx.tracker.lifecycle import BeadClosure, Claimant, claim, close
from ddx.tracker.row import labels_of
from ddx.tracker.setup import set_up
from ddx.tracker.tracker import Tracker
from helix.passes.check_pass import check, kept_answers, state_hash
from helix.passes.filing import file_findings, file_follow_ups
from helix.passes.polish_pass import polish
from helix.passes.question import PassEnd, find_pages
from helix.passes.reply import CheckAnswer, CheckResult, UnreadableTrailer
from helix.passes.review_pass import (
    CleanReview,
    CommitRange,
    ReviewFinding,
    ReviewFindings,
    ReviewSubject,
    Severity,
    find_span,
    kept_subject,
    review,
    reviewable,
    scope_subject,
)
from helix.passes.scope import SEEN, ScopeKind, UpstreamDocuments, resolve_scope
from helix.project.context import Agent, PassContext
from helix.project.settings import read_helix_settings

STUB = """\
import os, sys
folder = os.environ["STUB_FOLDER"]
action = os.environ["HELIX_ACTION"]
number = len(os.listdir(os.path.join(folder, "asked")))
with open(os.path.join(folder, "asked", f"{number:03}-{action}"), "w") as file:
    file.write(sys.stdin.read())
hook = os.path.join(folder, "hook.py")
if os.path.exists(hook):
    exec(open(hook).read())
with open(os.path.join(folder, action)) as file:
    print(file.read())
print('{"usage": {"input": 10, "output": 5}}')
"""
BUILD = "NEXT_ACTION: BUILD\nREASON: there is work"
CLEAN = "Nothing.\n\nREVIEW_STATUS: CLEAN\nISSUES_COUNT: 0"
FOUND = """\
REVIEW_STATUS: ISSUES_FOUND
ISSUES_COUNT: 3
```json
[{"severity": "high", "title": "It loses the last line", "file": "a.txt", "line": 1,
  "detail": "no newline", "area": "files", "acceptance": "`test -s a.txt` passes"},
 {"severity": "medium", "title": "No test", "file": "a.txt", "line": null},
 {"severity": "low", "title": "A name is odd", "file": "a.txt", "line": 2}]
```
"""


class ActionScene:
    """A repository with a tracker, documents, and an agent that says what a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "shop"
        self.project = make_repo(self.root)
        self.stub = folder / "stub"
        (self.stub / "asked").mkdir(parents=True)
        (self.stub / "agent.py").write_text(STUB)
        config = {
            "bead": {"prefix": "sh"},
            "harnesses": {
                "stub": {
                    "kind": "command",
                    "argv": [sys.executable, str(self.stub / "agent.py")],
                    "env": {"STUB_FOLDER": str(self.stub)},
                }
            },
        }
        self.write(".ddx/config.yaml", json.dumps(config))
        set_up(self.project, Tracker(self.project), launcher="ddx")
        self.calls: list[tuple[str, str]] = []
        self.told: list[str] = []
        self.site = open_site(self.project, lambda it: self.told.append(f"{it.kind}: {it.text}"))
        self.desk = PassContext(
            site=self.site,
            settings=read_helix_settings(self.project, clock=Clock()),
            pages=find_pages(self.project),
            builder=Agent("stub", "builder-model-9000"),
            reviewer=Agent("stub"),
            limits=Limits(60, 30),
            on_call=lambda action, reply: self.calls.append((action, str(reply.end))),
        )
        self.tracker = self.site.tracker

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, message: str = "more") -> str:
        assert git(str(self.root), "add", "--all").ok
        assert git(str(self.root), "commit", "--quiet", "-m", message).ok
        return git(str(self.root), "rev-parse", "HEAD").text.strip()

    def says(self, action: str, text: str) -> None:
        (self.stub / action).write_text(text)

    def meanwhile(self, code: str) -> None:
        """Something that happens while the agent works."""
        (self.stub / "hook.py").write_text(code)

    @property
    def asked(self) -> list[str]:
        return [file.read_text() for file in sorted((self.stub / "asked").iterdir())]

    def file(self, *drafts: dict[str, Any]) -> None:
        self.tracker.change(
            lambda view, now: create(view, drafts, now=now, by="ann", draw_id=lambda: "unused")
        )

    def row(self, bead_id: str) -> dict[str, Any]:
        return self.tracker.snapshot().row(bead_id)

    def ids(self) -> set[str]:
        return set(self.tracker.snapshot().columns.ids)

    def patch(self, bead_id: str, **fields: Any) -> None:
        named = {name.replace("_", "-"): given for name, given in fields.items()}
        self.tracker.change(
            lambda view, now: update(view, bead_id, BeadPatch(named), now=now, by="ann")
        )

    def claim(self, bead_id: str) -> None:
        who = Claimant("ann", "tower")
        self.tracker.change(lambda view, now: claim(view, bead_id, who, claim_id="c", now=now))

    def close(self, bead_id: str) -> None:
        self.tracker.change(
            lambda view, now: close(view, bead_id, BeadClosure("done"), actor="ann", now=now)
        )

    def document(self, doc_id: str, body: str, *, after: str = "") -> None:
        depends = f"  depends_on: [{after}]\n" if after else ""
        self.write(
            f"docs/helix/01-frame/features/{doc_id}.md",
            f"---\nddx:\n  id: {doc_id}\n{depends}---\n# {doc_id}\n\n{body}\n",
        )

    def scope(self, text: str = "repo"):
        return resolve_scope(self.site, text)

    def helix(self, *line: str, code: int) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [str(ROOT / "bin/helix"), *line],
            cwd=self.root,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == code, (line, ended.stdout, ended.stderr)
        return ended

    def answer(self, *line: str, code: int, fits: str) -> Any:
        found = json.loads(self.helix(*line, "--json", code=code).stdout)
        schema = json.loads((SCHEMAS / f"{fits}.json").read_text())
        if fits.startswith("helix-"):
            Draft202012Validator(schema).validate(found)
        return found


@pytest.fixture
def shop(tmp_path, monkeypatch) -> ActionScene:
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HELIX_TRUST", "1")
    return ActionScene(tmp_path)


def task(bead_id: str, **more: Any) -> dict[str, Any]:
    return {"id": bead_id, "title": f"Make {bead_id}", "verify": ["true"], **more}


# Scope


def test_one_resolver_knows_every_kind_of_scope(shop):  # C-10
    shop.document("FEAT-001", "A cart.")
    shop.document("FEAT-002", "Sums.", after="FEAT-001")
    shop.file(
        {"id": "sh-epic", "title": "All", "type": "epic"},
        task("sh-a", parent="sh-epic", labels=["area:cart"], **{"spec-id": "FEAT-002-sums"}),
        task("sh-b", paths=["src/pay"], **{"spec-id": "OLD-7"}),
    )
    shop.write("src/pay/card.py", "")
    found = {
        word: (scope.kind, scope.beads)
        for word in ("repo", "sh-epic", "sh-a", "FEAT-001", "OLD-7", "area:cart", "src/pay/card.py")
        for scope in [shop.scope(word)]
    }
    assert found == {
        "repo": (ScopeKind.REPO, frozenset()),
        "sh-epic": (ScopeKind.EPIC, {"sh-epic", "sh-a"}),
        "sh-a": (ScopeKind.BEAD, {"sh-a"}),
        "FEAT-001": (ScopeKind.DOCUMENT, {"sh-a"}),
        "OLD-7": (ScopeKind.DOCUMENT, {"sh-b"}),
        "area:cart": (ScopeKind.LABEL, {"sh-a"}),
        "src/pay/card.py": (ScopeKind.PATH, {"sh-b"}),
    }
    assert shop.scope("feat-001").documents == ("FEAT-001", "FEAT-002")
    for word in found:
        scope = shop.scope(word)
        held = {
            name for name in ("sh-epic", "sh-a", "sh-b") if scope.holds(Bead.of(shop.row(name)))
        }
        assert held == (scope.beads or {"sh-epic", "sh-a", "sh-b"}), word


@pytest.mark.parametrize("word", ["nothing", "../outside", "/etc", "FEAT-999", "-x"])
def test_an_unknown_scope_is_a_mistake_and_not_an_empty_one(shop, word):  # C-10, C-2
    shop.file(task("sh-a"))
    with pytest.raises(UsageError, match="nothing here is called") as refused:
        shop.scope(word)
    assert refused.value.exit_code == 2


# check


def test_check_asks_once_a_state_and_remembers_over_processes(shop):  # S-14
    shop.file(task("sh-a"))
    shop.says("check", BUILD)
    first = check(shop.desk, "repo")
    assert first == CheckResult(
        state_hash(shop.site, shop.scope()), CheckAnswer.BUILD, "there is work"
    )
    assert check(shop.desk, "repo") == first
    assert shop.calls == [("check", "completed")]
    assert kept_answers(shop.project) == {first.state: first}
    answer = shop.answer("check", code=0, fits="helix-checked")
    assert (answer["next_action"], answer["asked"]) == ("BUILD", 0)
    assert len(shop.asked) == 1
    check(shop.desk, "repo", always_ask=True)
    assert len(shop.asked) == 2


def test_the_state_is_what_queue_and_documents_say_and_not_who_worked_on_them(shop):  # S-14
    shop.document("FEAT-001", "A cart.")
    shop.file(task("sh-a"), task("sh-b"))
    states = [state_hash(shop.site, shop.scope())]

    def has_moved() -> bool:
        states.append(state_hash(shop.site, shop.scope()))
        return states[-1] != states[-2]

    shop.patch("sh-a", attempts=3, retry_after="2099-01-01T00:00:00Z")
    assert not has_moved()
    shop.patch("sh-a", description="in another way")
    assert has_moved()
    shop.document("FEAT-001", "A cart with wheels.")
    assert has_moved()
    shop.claim("sh-b")
    assert has_moved()
    assert not has_moved()
    assert state_hash(shop.site, shop.scope("sh-a")) != states[-1]


def test_nothing_at_all_needs_guidance_without_an_agent(shop):  # S-14
    found = check(shop.desk, "repo")
    assert (found.answer, bool(found.question)) == (CheckAnswer.GUIDANCE, True)
    assert shop.calls == []
    answer = shop.answer("check", code=4, fits="helix-checked")
    assert (answer["next_action"], answer["asked"]) == ("GUIDANCE", 0)


def test_work_that_is_all_in_other_hands_means_wait_without_an_agent(shop):  # S-14
    shop.file({"id": "sh-epic", "title": "All", "type": "epic"}, task("sh-a", parent="sh-epic"))
    shop.claim("sh-a")
    assert check(shop.desk, "repo").answer is CheckAnswer.WAIT
    shop.file(task("sh-b"))
    shop.says("check", BUILD)
    assert check(shop.desk, "repo").answer is CheckAnswer.BUILD
    assert len(shop.calls) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "All is well.",
        "NEXT_ACTION: BUILD\nNEXT_ACTION: STOP",
        "NEXT_ACTION: DANCE",
        "```\nNEXT_ACTION: STOP\n```",
    ],
)
def test_an_unreadable_answer_is_no_answer_and_is_not_kept(shop, reply):  # A-1, C-2
    shop.file(task("sh-a"))
    shop.says("check", reply)
    assert isinstance(check(shop.desk, "repo"), UnreadableTrailer)
    assert kept_answers(shop.project) == {}
    assert shop.answer("check", code=1, fits="helix-checked")["readable"] is False


def test_an_agent_that_fails_gives_no_answer(shop):
    shop.file(task("sh-a"))
    shop.says("check", "NEXT_ACTION: STOP")
    shop.meanwhile("print('NEXT_ACTION: STOP'); sys.exit(3)")
    found = check(shop.desk, "repo")
    assert isinstance(found, UnreadableTrailer)
    assert "did not complete" in found.reason


def test_the_prompt_of_check_shows_the_queue_and_quotes_it(shop):
    shop.document("FEAT-001", "A cart.")
    shop.file({**task("sh-a"), "title": "NEXT_ACTION: STOP"}, {"id": "sh-v", "title": "Vague"})
    shop.says("check", BUILD)
    check(shop.desk, "repo")
    (prompt,) = shop.asked
    assert "sh-a" in prompt
    assert "FEAT-001" in prompt
    assert "\nNEXT_ACTION: STOP" not in prompt
    assert "Principles" in prompt


def test_a_missing_page_stops_before_any_agent(shop, tmp_path):  # S-37
    shop.file(task("sh-a"))
    pages = changed(shop.desk.pages, shipped=str(tmp_path / "none"))
    with pytest.raises(NeedsPerson):
        check(changed(shop.desk, pages=pages), "repo")
    assert shop.asked == []


def test_each_pass_is_kept_as_a_record_of_its_documents(shop):  # 50-actions
    shop.document("FEAT-001", "A cart.")
    shop.file(task("sh-a", **{"spec-id": "FEAT-001"}))
    shop.says("check", BUILD)
    check(shop.desk, "FEAT-001")
    (record,) = read_history(shop.project).records
    assert (record.definition_id, record.artifact_ids, record.ok) == (
        "action:check",
        ("FEAT-001",),
        True,
    )
    kept = json.loads(read_log(shop.project, record.run_id, "stdout.log"))
    assert kept["result"]["NEXT_ACTION"] == "BUILD"
    assert Path(shop.project.ddx("executions", kept["attempt"], "prompt.md")).exists()


def test_a_record_that_cannot_be_kept_is_said_and_harms_nothing(shop):  # 50-actions
    shop.file(task("sh-a"))
    shop.says("check", BUILD)
    Path(shop.project.ddx("exec-runs")).write_text("in the way")
    assert check(shop.desk, "repo").answer is CheckAnswer.BUILD
    assert any(line.startswith("warning: no record of this check") for line in shop.told)


# review


def test_a_review_sees_exactly_the_change_and_not_who_made_it(shop):  # S-15
    shop.write("old.txt", "there before\n")
    base = shop.commit()
    shop.write("a.txt", "one line")
    result = shop.commit()
    shop.write("later.txt", "not part of it\n")
    shop.commit()
    shop.file(task("sh-a", description="write a file"))
    shop.says("review", CLEAN)
    bead = Bead("sh-a", shop.row("sh-a"))
    assert (
        review(shop.desk, ReviewSubject(CommitRange(base, result), beads=(bead,))) == CleanReview()
    )
    (prompt,) = shop.asked
    assert "+one line" in prompt
    assert "write a file" in prompt
    assert "later" not in prompt
    assert "there before" not in prompt
    assert "builder-model-9000" not in prompt


def test_findings_are_filed_once_and_closed_ones_come_back(shop):  # S-16
    shop.file({"id": "sh-epic", "title": "All", "type": "epic"}, task("sh-a", parent="sh-epic"))
    shop.write("a.txt", "one line")
    base, result = "HEAD~1", shop.commit()
    shop.says("review", FOUND)
    span = CommitRange(git(str(shop.root), "rev-parse", base).text.strip(), result)
    found = review(shop.desk, ReviewSubject(span))
    assert isinstance(found, ReviewFindings)
    first = file_findings(shop.desk, found.findings, bead="sh-a")
    assert (len(first.created), first.reported) == (2, ("A name is odd",))
    worst, other = (shop.row(name) for name in first.created)
    assert {"review-finding", "severity:high", "area:files"} <= set(labels_of(worst))
    assert (worst["parent"], worst["discovered-from"]) == ("sh-epic", "sh-a")
    assert [edge["depends_on_id"] for edge in other["dependencies"]] == [worst["id"]]
    again = file_findings(shop.desk, found.findings, bead="sh-a")
    assert (again.created, set(again.referenced)) == ((), set(first.created))
    shop.close(worst["id"])
    third = file_findings(shop.desk, found.findings, bead="sh-a")
    assert (third.created, third.updated) == ((), (worst["id"],))
    assert shop.row(worst["id"])["status"] == "open"


def test_commits_of_the_tracker_and_stamps_are_never_reviewed(shop):  # S-17
    shop.document("FEAT-001", "A cart.")
    shop.commit()
    shop.file(task("sh-a"))
    shop.write(
        "docs/helix/01-frame/features/FEAT-001.md",
        (
            "---\nddx:\n  id: FEAT-001\n  review:\n    self_hash: x\n    deps: {}\n---\n"
            "# FEAT-001\n\nA cart.\n"
        ),
    )
    shop.commit()
    span = find_span(shop.site)
    assert reviewable(shop.site, span) == ()
    assert review(shop.desk, ReviewSubject(span)) == CleanReview()
    shop.document("FEAT-001", "A cart with wheels.")
    shop.commit()
    assert reviewable(shop.site, find_span(shop.site)) == (
        "docs/helix/01-frame/features/FEAT-001.md",
    )
    assert shop.asked == []


def test_files_that_are_too_large_are_named_and_never_dropped_in_silence(shop):  # S-15
    base = git(str(shop.root), "rev-parse", "HEAD").text.strip()
    shop.write("big.txt", "x\n" * 40_000)
    shop.write("huge.bin", "y" * 2_000_000)
    shop.write("small.txt", "little\n")
    result = shop.commit()
    shop.says("review", CLEAN)
    review(shop.desk, ReviewSubject(CommitRange(base, result)))
    (prompt,) = shop.asked
    assert "+little" in prompt
    assert len(prompt) < 90_000
    for name in ("big.txt", "huge.bin"):
        assert prompt.count(name) >= 2


def test_a_review_of_work_that_never_passed_sees_its_failures(shop):  # S-10
    base = git(str(shop.root), "rev-parse", "HEAD").text.strip()
    shop.write("a.txt", "one line")
    result = shop.commit()
    shop.says("review", FOUND)
    kept = {
        "base": base,
        "result": result,
        "beads": [],
        "checks": [{"passed": False, "command": "pytest", "output_tail": "E assert 1 == 2"}],
    }
    assert isinstance(review(shop.desk, kept_subject(shop.desk.site, kept)), ReviewFindings)
    assert "E assert 1 == 2" in shop.asked[0]
    nothing = kept_subject(shop.desk.site, {"base": base, "result": ""})
    assert review(shop.desk, nothing) == CleanReview()


def test_a_document_is_reviewed_as_it_stands(shop):  # S-11
    shop.document("FEAT-001", "A cart.")
    shop.document("FEAT-002", "Sums.", after="FEAT-001")
    shop.commit()
    shop.says("review", CLEAN)
    assert review(shop.desk, scope_subject(shop.desk.site, "FEAT-001")) == CleanReview()
    assert "FEAT-001, FEAT-002" in shop.asked[0]


def test_the_command_tells_by_its_code_what_was_found(shop):  # A-3, C-2
    shop.write("a.txt", "one line")
    shop.commit()
    shop.says("review", CLEAN)
    assert shop.answer("review", code=0, fits="helix-reviewed")["status"] == "CLEAN"
    shop.says("review", FOUND)
    found = shop.answer("review", "commit:HEAD", code=10, fits="helix-reviewed")
    assert (len(found["findings"]), len(found["created"])) == (3, 2)
    assert shop.ids() == set(found["created"])
    shop.says("review", "I like it.")
    assert shop.answer("review", "HEAD~1..HEAD", code=4, fits="helix-reviewed")["reason"]
    shop.helix("review", "commit:nothing", code=2)
    shop.helix("review", "NOPE-1", code=2)


def test_a_first_commit_can_be_reviewed_too(shop):
    root = git(str(shop.root), "rev-list", "--max-parents=0", "HEAD").text.strip()
    span = find_span(shop.site, f"commit:{root}")
    assert span.result == root
    assert reviewable(shop.site, span) == ()


# Follow-ups


def test_follow_ups_are_filed_beside_their_bead_and_only_once(shop):
    shop.file({"id": "sh-epic", "title": "All", "type": "epic"}, task("sh-a", parent="sh-epic"))
    text = "\n".join(
        [
            'FOLLOW_UP: {"title": "Mend the sum", "acceptance": "`true` passes", "blocks": true}',
            'FOLLOW_UP: {"title": "Tell users", "depends_on": ["Mend the sum", "sh-nowhere"]}',
            "FOLLOW_UP: nonsense",
        ]
    )
    filed = file_follow_ups(shop.desk, text, origin="sh-a")
    mend, tell = (shop.row(name) for name in filed.created)
    assert mend["parent"] == tell["parent"] == "sh-epic"
    assert shop.tracker.snapshot().waits_for(tell["id"]) == (mend["id"],)
    assert shop.tracker.snapshot().waits_for("sh-a") == (mend["id"],)
    assert (filed.updated, filed.waiting) == ((), ("sh-a",))
    assert tell["execution-eligible"] is False
    assert len(filed.remarks) == 2
    again = file_follow_ups(shop.desk, text, origin="sh-a")
    assert (again.created, len(again.referenced)) == ((), 2)


def test_work_found_under_a_closed_epic_is_filed_above_it(shop):
    shop.file(
        {"id": "sh-top", "title": "Top", "type": "epic"},
        {"id": "sh-epic", "title": "All", "type": "epic", "parent": "sh-top"},
        task("sh-a", parent="sh-epic"),
    )
    shop.close("sh-a")
    shop.close("sh-epic")
    finding = ReviewFinding(Severity.HIGH, "Late insight", "a.py", line=3)
    filed = file_findings(shop.desk, [finding], bead="sh-a")
    assert shop.row(filed.created[0])["parent"] == "sh-top"


# polish


def polished(status: str, proposal: dict[str, Any] | None = None, **counts: int) -> str:
    proposal = proposal or {}
    block = f"```json\n{json.dumps(proposal)}\n```\n" if proposal else ""
    found = {name: len(proposal.get(name, [])) for name in ("changes", "new", "merged")} | counts
    return (
        f"I looked.\n{block}POLISH_STATUS: {status}\nISSUES_MODIFIED: {found['changes']}\n"
        f"ISSUES_CREATED: {found['new']}\nISSUES_MERGED: {found['merged']}\n"
    )


def test_a_converged_polish_changes_splits_and_merges_and_notes_what_it_saw(shop):  # S-3, A-2
    shop.document("FEAT-001", "A cart.")
    shop.file(
        task("sh-a", **{"spec-id": "FEAT-001"}),
        task("sh-b"),
        task("sh-c", **{"depends-on": ["sh-b"]}),
        task("sh-d"),
    )
    shop.says(
        "polish",
        polished(
            "CONVERGED",
            {
                "changes": [
                    {"id": "sh-a", "description": "now", "verify": ["test -f x"], "labels": ["q"]},
                    {"id": "sh-c", "acceptance": "`true` passes", "depends_on": ["part"]},
                ],
                "new": [
                    {"key": "part", "title": "First half", "replaces": "sh-d", "verify": ["true"]},
                    {"title": "Second half", "depends_on": ["part"], "replaces": "sh-d"},
                ],
                "merged": [{"id": "sh-b", "into": "sh-a", "reason": "the same"}],
            },
        ),
    )
    done = polish(shop.desk, "repo")
    assert (done.ended, done.word, done.reason) == (PassEnd.DONE, "CONVERGED", "")
    assert done.has_changed
    first, second = done.created
    assert done.updated == ("sh-a", "sh-c", "sh-b", "sh-d")
    assert (shop.row("sh-a")["description"], shop.row("sh-a")["verify"]) == ("now", ["test -f x"])
    assert shop.row("sh-b")["superseded-by"] == "sh-a"
    assert shop.row("sh-d")["superseded-by"] == f"{first},{second}"
    snapshot = shop.tracker.snapshot()
    assert snapshot.waits_for("sh-c") == (first,)
    assert snapshot.waits_for(second) == (first,)
    assert shop.row(second)["execution-eligible"] is False
    graph = load_graph(shop.project, shop.site.settings.document_roots, clock=Clock())
    seen = shop.row("sh-a")[SEEN]
    assert seen == UpstreamDocuments(graph).hashes(Bead.of(shop.row("sh-a")))
    assert list(seen) == ["FEAT-001"]
    assert SEEN not in shop.row("sh-c")


def test_a_follow_up_that_is_known_already_leaves_the_queue_as_it_was(shop):  # S-13, A-7
    shop.file(task("sh-a"))
    text = 'FOLLOW_UP: {"title": "Tidy the cart", "acceptance": "`true` passes"}\n'
    file_follow_ups(shop.desk, text, origin="sh-a", once="20260102T030405-000001")
    state = state_hash(shop.site, shop.scope())
    again = file_follow_ups(shop.desk, text, origin="sh-a", once="20260102T030406-000002")
    assert (again.has_changed, len(again.referenced)) == (False, 1)
    assert state_hash(shop.site, shop.scope()) == state


def test_a_polish_with_nothing_to_do_changes_nothing_but_what_it_saw(shop):  # S-13
    shop.document("FEAT-001", "A cart.")
    shop.file(task("sh-a", **{"spec-id": "FEAT-001"}))
    shop.says("polish", polished("CONVERGED"))
    state = state_hash(shop.site, shop.scope())
    done = polish(shop.desk, "repo", beads=("sh-a",))
    assert (done.ended, done.has_changed) == (PassEnd.DONE, False)
    assert SEEN in shop.row("sh-a")
    assert state_hash(shop.site, shop.scope()) == state


def test_a_document_that_changes_during_a_polish_was_not_seen_by_it(shop):  # S-3
    shop.document("FEAT-001", "A cart.")
    shop.file(task("sh-a", **{"spec-id": "FEAT-001"}))
    graph = load_graph(shop.project, shop.site.settings.document_roots, clock=Clock())
    before = UpstreamDocuments(graph).hashes(Bead.of(shop.row("sh-a")))
    shop.says("polish", polished("CONVERGED"))
    page = shop.root / "docs/helix/01-frame/features/FEAT-001.md"
    shop.meanwhile(f"open({str(page)!r}, 'a').write('With wheels.\\n')")
    assert polish(shop.desk, "repo").ended is PassEnd.DONE
    assert shop.row("sh-a")[SEEN] == before
    graph = load_graph(shop.project, shop.site.settings.document_roots, clock=Clock())
    assert UpstreamDocuments(graph).hashes(Bead.of(shop.row("sh-a"))) != before


def test_numbers_that_the_list_does_not_bear_out_are_a_lie_and_nothing_is_written(shop):
    shop.file(task("sh-a"))
    before = shop.row("sh-a")
    shop.says(
        "polish",
        polished("CONVERGED", {"changes": [{"id": "sh-a", "description": "new"}]}, changes=2),
    )
    assert polish(shop.desk, "repo").ended is PassEnd.UNTRUE
    shop.says("polish", polished("CONVERGED", new=1))
    assert polish(shop.desk, "repo").ended is PassEnd.UNTRUE
    assert shop.row("sh-a") == before
    shop.helix("polish", code=1)


def test_a_bead_that_changed_meanwhile_is_left_alone_and_the_pass_is_not_done(shop):  # T-10, S-3
    shop.file(task("sh-a"), task("sh-b"))
    changes = [{"id": name, "description": "polished"} for name in ("sh-a", "sh-b")]
    shop.says("polish", polished("CONVERGED", {"changes": changes}))
    shop.meanwhile(
        "import subprocess\n"
        "for name in ('DDX_ATTEMPT_ID', 'DDX_PROJECT_ROOT'): os.environ.pop(name, None)\n"
        f"subprocess.run([{str(ROOT / 'bin/ddx')!r}, 'bead', 'update', 'sh-a', '--description',"
        f" 'by a person'], cwd={str(shop.root)!r}, check=True, stdout=subprocess.DEVNULL)\n"
    )
    done = polish(shop.desk, "repo")
    assert (done.ended, done.updated) == (PassEnd.UNFINISHED, ("sh-b",))
    assert "sh-a: it changed meanwhile" in done.reason
    assert shop.row("sh-a")["description"] == "by a person"
    assert shop.row("sh-b")["description"] == "polished"


@pytest.mark.parametrize(
    ("proposal", "said"),
    [
        ({"changes": [{"id": "sh-a", "status": "closed"}]}, "'status' is nothing that a polish"),
        ({"changes": [{"id": "sh-a", "owner": "me"}]}, "'owner' is nothing"),
        ({"changes": [{"id": "sh-other", "description": "x"}]}, "is not one of the beads"),
        ({"changes": [{"id": "sh-held", "description": "x"}]}, "is not one of the beads"),
        ({"changes": [{"id": "sh-a", "verify": "true"}]}, "verify must be a short list"),
        ({"changes": [{"id": "sh-a", "parent": "sh-a"}]}, "sh-a"),
        ({"changes": [{"id": "sh-a", "depends_on": ["sh-nowhere"]}]}, "sh-nowhere"),
        ({"new": [{"title": "\u200b"}]}, "it has no title"),
        ({"merged": [{"id": "sh-a", "into": "sh-nowhere"}]}, "there is no open bead"),
        ({"merged": [{"id": "sh-a", "into": "sh-a"}]}, "into another bead"),
    ],
)
def test_what_a_polish_may_not_do_is_refused_and_named(shop, proposal, said):
    shop.file(task("sh-a"), task("sh-held"))
    shop.claim("sh-held")
    before = {name: shop.row(name) for name in ("sh-a", "sh-held")}
    shop.says("polish", polished("CONVERGED", proposal))
    done = polish(shop.desk, "repo")
    assert (done.ended, done.has_changed) == (PassEnd.UNFINISHED, False)
    assert said in done.reason
    assert {name: shop.row(name) for name in before} == before


@pytest.mark.parametrize(
    "reply",
    [
        "Fine.",
        polished("CONVERGED", {"changes": []}).replace("CONVERGED", "PERFECT"),
        polished("CONVERGED", {"beads": [{"id": "sh-a"}]}),
        '```json\n{"changes": []}\n```\n' * 2 + polished("CONVERGED"),
    ],
)
def test_a_polish_that_cannot_be_read_writes_nothing(shop, reply):
    shop.file(task("sh-a"))
    before = shop.row("sh-a")
    shop.says("polish", reply)
    assert polish(shop.desk, "repo").ended is PassEnd.UNREADABLE
    assert shop.row("sh-a") == before


def test_a_bead_without_proof_becomes_eligible_with_one(shop):  # T-17
    shop.file(task("sh-a"))
    filed = file_findings(
        shop.desk, [ReviewFinding(Severity.HIGH, "No proof", "a.py")], bead="sh-a"
    )
    (name,) = filed.created
    assert shop.row(name)["execution-eligible"] is False
    change = {"id": name, "acceptance": "`pytest -q` passes"}
    shop.says("polish", polished("IN_PROGRESS", {"changes": [change]}))
    assert polish(shop.desk, "repo").ended is PassEnd.UNFINISHED
    assert shop.row(name)["execution-eligible"] is True
    assert "execution-skip-reason" not in shop.row(name)


def test_labels_that_steer_a_run_are_not_for_an_agent_to_give_or_take(shop):  # S-13
    steering = ["review-finding", "review-depth:2", "severity:high"]
    shop.file(task("sh-a", labels=[*steering, "old"]), task("sh-b", labels=steering))
    proposal = {
        "changes": [{"id": "sh-a", "labels": ["new", "kind:planning", "action:align"]}],
        "new": [{"title": "A part", "replaces": "sh-b", "labels": ["x", "review-depth:0"]}],
    }
    shop.says("polish", polished("CONVERGED", proposal))
    done = polish(shop.desk, "repo")
    assert set(labels_of(shop.row("sh-a"))) == {*steering, "new"}
    assert set(labels_of(shop.row(done.created[0]))) == {*steering, "x"}


def test_more_beads_than_one_pass_can_hold_are_not_called_done(shop):
    shop.file(*(task(f"sh-{n:03}") for n in range(41)), {"id": "sh-vague", "title": "Vague"})
    shop.says("polish", polished("CONVERGED"))
    done = polish(shop.desk, "repo")
    assert (done.ended, done.reason) == (
        PassEnd.UNFINISHED,
        "2 beads are left for the next pass",
    )
    assert "Bead sh-vague" in shop.asked[0]
    assert "Bead sh-040" not in shop.asked[0]


def test_a_new_bead_that_is_there_already_is_not_filed_twice(shop):  # T-18
    shop.file(task("sh-a"), task("sh-b", title="Count the bells"))
    shop.says("polish", polished("CONVERGED", {"new": [{"title": "count the BELLS!"}]}))
    done = polish(shop.desk, "repo")
    assert (done.created, done.ended, shop.ids()) == ((), PassEnd.DONE, {"sh-a", "sh-b"})
    assert "said already by sh-b" in done.reason


def test_polish_by_hand_stays_in_its_scope(shop):  # C-10
    shop.file(task("sh-a", labels=["mine"]), task("sh-b"))
    change = [{"id": "sh-a", "description": "better"}]
    shop.says("polish", polished("CONVERGED", {"changes": change}))
    answer = shop.answer("polish", "mine", "--rounds", "2", code=0, fits="helix-polished")
    assert (answer["status"], answer["updated"]) == ("CONVERGED", ["sh-a"])
    assert "at most 2 rounds" in shop.asked[0]
    assert "sh-b" not in shop.asked[0]


@pytest.mark.parametrize("action", ["polish", "design", "plan"])
@pytest.mark.parametrize("rounds", ["0", "51"])
def test_rounds_have_an_end(shop, action, rounds):
    assert "from 1 to 50" in shop.helix(action, "--rounds", rounds, code=2).stderr


# triage


def test_triage_files_what_can_be_built_and_prints_its_id(shop):  # 50-actions
    shop.document("FEAT-001", "A cart.")
    done = shop.helix(
        *("triage", "Throttle logins", "--acceptance", "`pytest -q tests/login` passes"),
        *("--spec-id", "FEAT-001", "--priority", "1", "--labels", "area:login"),
        code=0,
    )
    row = shop.row(done.stdout.strip())
    assert (row["title"], row["spec-id"], row["priority"]) == ("Throttle logins", "FEAT-001", 1)
    assert row["execution-eligible"] is True
    assert shop.asked == []
    assert (
        "says the same"
        in shop.helix("triage", "throttle logins", "--verify", "true", code=1).stderr
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("It works", "--acceptance", "everything works"), 1),
        (("No proof",), 1),
        (("Lost", "--verify", "true", "--spec-id", "FEAT-404"), 1),
        (("Lost", "--verify", "true", "--parent", "sh-404"), 1),
        (("Odd", "--verify", "true", "--type", "poem"), 2),
    ],
)
def test_triage_refuses_what_nobody_could_build(shop, line, code):  # T-17
    shop.helix("triage", *line, code=code)
    assert shop.ids() == set()
