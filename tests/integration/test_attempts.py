"""One attempt from the queue to its end, with real git and the script harness (X-1 to X-16)."""

# @requirement TC-301

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.attempts import CLEAN, Workshop, greeting, make_workshop, writes
from tests.support.tracker import DDX, bead


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return make_workshop(tmp_path / "w")


def test_a_ready_bead_is_built_proven_landed_and_closed(workshop: Workshop) -> None:
    before = workshop.tip()
    done = workshop.agent("execute-loop", "--once", "--harness", "script")
    row = workshop.rows()["app-1"]
    assert row["status"] == "closed"
    assert row["closing_commit_sha"] == workshop.tip()
    assert workshop.git("rev-parse", "HEAD~").id == before
    assert (workshop.root / "hello.txt").read_text() == "hello\n"
    assert {line.split()[1].split("/")[0] for line in workshop.dirty()} == {".ddx"}
    assert workshop.leftover() == CLEAN
    assert workshop.refs() == []
    assert "landed" in done.out
    (attempt,) = workshop.attempts()
    story = workshop.agent("log", attempt).out
    for word in ("claimed", "agent", "test -f hello.txt", "landed", "closed"):
        assert word in story, story


def test_settings_of_a_harness_cannot_hide_whose_attempt_it_is(workshop: Workshop) -> None:
    (workshop.folder / "config.yaml").write_text(
        "harnesses:\n  mine:\n    kind: command\n"
        "    argv: [sh, -c, 'echo $DDX_ATTEMPT_ID $ASKED > hello.txt']\n"
        "    env: {DDX_ATTEMPT_ID: forged, ASKED: for}\n"
    )
    workshop.agent("execute-loop", "--once", "--harness", "mine")
    (attempt,) = workshop.attempts()
    assert (workshop.root / "hello.txt").read_text() == f"{attempt} for\n"


def test_the_commit_says_whose_work_it_is(workshop: Workshop) -> None:
    outcome = workshop.once()
    message = workshop.git("log", "-1", "--format=%B").out
    assert message.splitlines()[0] == "Do app-1 [app-1]"
    assert "Helix-Bead: app-1" in message
    assert f"Helix-Attempt: {outcome['attempt']}" in message
    assert "Helix-Harness: script" in message
    assert workshop.git("log", "-1", "--format=%an").id == "Mara"


def test_the_record_holds_all_that_happened(workshop: Workshop) -> None:
    outcome = workshop.once()
    folder = workshop.folder / "executions" / outcome["attempt"]
    for name in ("intent.json", "manifest.json", "checks.json", "usage.json", "result.json"):
        assert json.loads((folder / name).read_text()), name
    for name in ("prompt.md", "output.log", "events.jsonl", "diffstat"):
        assert (folder / name).read_text(), name
    assert "Do app-1" in (folder / "prompt.md").read_text()
    assert outcome["usage"]["input"] == 100
    assert outcome["usage"]["output"] == 20
    assert outcome["usage"]["cost_usd"] == 0.01
    assert workshop.git("check-ignore", str(folder)).id


def test_a_lie_is_not_believed(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", greeting(script="say all done\n"))
    before = workshop.tip()
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("no_changes", "nothing_done")
    row = workshop.rows()["app-1"]
    assert row["status"] == "open"
    assert "owner" not in row
    assert row["attempts"] == 1
    assert workshop.tip() == before
    assert workshop.leftover() == CLEAN
    assert "app-1" in workshop.agent("attempts").out


def test_work_that_is_there_already_closes_with_evidence(workshop: Workshop) -> None:
    (workshop.root / "hello.txt").write_text("here\n")
    workshop.commit("by hand")
    workshop.write([greeting(script="say nothing to do\n")])
    before = workshop.tip()
    outcome = workshop.once()
    assert (outcome["outcome"], outcome["status"]) == ("no_changes", "already_satisfied")
    assert outcome["completed"]
    assert workshop.rows()["app-1"]["status"] == "closed"
    assert workshop.tip() == before
    events = workshop.ddx("events", "app-1").out
    assert "test -f hello.txt" in events


def test_work_that_breaks_its_check_is_kept_and_can_be_landed_after_a_fix(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w",
        greeting(acceptance="- `grep -q goodbye hello.txt` passes"),
    )
    before = workshop.tip()
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "check_failed")
    ref = outcome["ref"]
    assert ref == f"refs/helix/attempts/app-1/{outcome['attempt']}"
    assert workshop.git("show", f"{ref}:hello.txt").out == "hello\n"
    assert workshop.tip() == before
    assert workshop.rows()["app-1"]["status"] == "open"
    listed = workshop.agent("attempts", "app-1").out
    assert outcome["attempt"] in listed
    workshop.agent("land", outcome["attempt"], code=1)
    assert workshop.tip() == before

    workshop.ddx("update", "app-1", "--acceptance", "- `grep -q hello hello.txt` passes")
    workshop.agent("land", outcome["attempt"])
    assert (workshop.root / "hello.txt").read_text() == "hello\n"
    assert workshop.rows()["app-1"]["status"] == "closed"
    assert workshop.refs() == []
    assert workshop.leftover() == CLEAN


def test_what_is_kept_can_be_dropped(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", greeting(acceptance="- `false` passes"))
    outcome = workshop.once(code=1)
    workshop.agent("drop", outcome["attempt"])
    assert workshop.refs() == []
    workshop.agent("drop", outcome["attempt"], code=1)


def test_the_next_attempt_hears_what_failed(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w", greeting(acceptance="- `echo SO-IT-FAILED; false` passes")
    )
    workshop.once(code=1)
    outcome = workshop.once(code=1)
    prompt = (workshop.folder / "executions" / outcome["attempt"] / "prompt.md").read_text()
    assert "Attempt 1 did not land" in prompt
    assert "SO-IT-FAILED" in prompt
    assert "refs/helix/attempts/app-1/" in prompt
    assert workshop.rows()["app-1"]["attempts"] == 2


def test_an_agent_that_fails_loses_nothing(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w", greeting(script="write hello.txt half\nsay oh no\nexit 3\n")
    )
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "agent_failed")
    assert workshop.git("show", f"{outcome['ref']}:hello.txt").out == "half\n"
    assert workshop.leftover() == CLEAN


def test_commits_of_the_agent_are_input_and_not_history(tmp_path: Path) -> None:
    script = "write hello.txt hi\nsh git add -A && git commit -qm mine && git branch other\n"
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    workshop.once()
    subjects = workshop.git("log", "--format=%s").out.splitlines()
    assert subjects[0] == "Do app-1 [app-1]"
    assert "mine" not in subjects
    assert workshop.git("branch", "--list", "other").out == ""


def test_the_agents_edits_to_our_own_files_never_land(tmp_path: Path) -> None:
    script = (
        "write hello.txt hi\nwrite .ddx/beads.jsonl {}\nwrite .ddx/config.yaml x: 1\n"
        "write .helix/config.yaml y: 2\nsh rm -f .ddx/.gitignore\n"
    )
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    outcome = workshop.once()
    assert outcome["paths"] == ["hello.txt"]
    changed = workshop.git("diff", "--name-only", "HEAD~", "HEAD").out.split()
    assert changed == ["hello.txt"]
    assert workshop.rows()["app-1"]["status"] == "closed"


def test_the_operators_edits_elsewhere_stay_and_the_work_lands(workshop: Workshop) -> None:
    (workshop.root / "README.md").write_text("mine, not committed\n")
    (workshop.root / "notes.txt").write_text("untracked\n")
    done = workshop.agent("execute-loop", "--once", "--harness", "script")
    assert workshop.rows()["app-1"]["status"] == "closed"
    assert (workshop.root / "README.md").read_text() == "mine, not committed\n"
    assert (workshop.root / "notes.txt").read_text() == "untracked\n"
    assert "what is not committed here is not part of it (README.md and notes.txt)" in done.err


def test_the_operators_edits_in_the_way_make_the_landing_wait(workshop: Workshop) -> None:
    before = workshop.tip()
    (workshop.root / "hello.txt").write_text("my own draft\n")
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "operator_edits")
    assert (workshop.root / "hello.txt").read_text() == "my own draft\n"
    assert workshop.tip() == before
    row = workshop.rows()["app-1"]
    assert row["status"] == "open"
    assert "attempts" not in row
    assert workshop.ddx("ready", "--execution", "--json").json == []
    assert "waits to land" in workshop.ddx("blocked").out

    assert workshop.loop().json["attempted"] == 0
    (workshop.root / "hello.txt").unlink()
    workshop.loop()
    assert (workshop.root / "hello.txt").read_text() == "hello\n"
    assert workshop.rows()["app-1"]["status"] == "closed"
    assert workshop.leftover() == CLEAN
    assert workshop.refs() == []


def test_a_bead_changed_by_a_second_terminal_is_not_landed(tmp_path: Path) -> None:
    script = (
        "write hello.txt hi\n"
        'sh env -u DDX_ATTEMPT_ID -u DDX_PROJECT_ROOT sh -c \'cd "$OPERATOR" && '
        '"$DDX" bead update app-1 --spec-id TD-009\'\n'
    )
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    before = workshop.tip()
    outcome = workshop.once(
        code=1,
        OPERATOR=str(workshop.root),
        DDX=str(Path(__file__).resolve().parents[2] / "bin/ddx"),
    )
    assert (outcome["outcome"], outcome["status"]) == ("preserved", "drift")
    assert "spec-id" in outcome["reason"]
    assert workshop.tip() == before
    assert workshop.rows()["app-1"]["status"] == "open"
    assert "attempts" not in workshop.rows()["app-1"]


def test_nothing_runs_in_a_repository_that_nobody_trusts(workshop: Workshop) -> None:
    done = workshop.agent("execute-loop", "--once", "--harness", "script", code=4, HELIX_TRUST="")
    assert "helix trust" in done.err
    assert not (workshop.folder / "executions").exists()


@pytest.mark.parametrize("state", ["detached", "unborn"])
def test_without_a_branch_there_is_no_target(workshop: Workshop, state: str) -> None:
    if state == "detached":
        workshop.git("checkout", "--quiet", "--detach")
    else:
        workshop.git("checkout", "--quiet", "--orphan", "new")
    done = workshop.agent("execute-loop", "--once", "--harness", "script", code=2)
    assert "branch" in done.err
    assert workshop.rows()["app-1"]["status"] == "open"


def test_an_unready_bead_is_refused_with_the_reason(tmp_path: Path) -> None:  # T-16
    workshop = make_workshop(
        tmp_path / "w",
        greeting("app-1", dependencies=[{"issue_id": "app-1", "depends_on_id": "app-2"}]),
        greeting("app-2", **{"execution-eligible": False}),
    )
    done = workshop.agent("execute-bead", "app-1", "--harness", "script", code=1)
    assert "waits for" in done.err
    assert "ddx bead why app-1" in done.err
    done = workshop.agent("execute-bead", "app-9", "--harness", "script", code=1)
    assert "app-9" in done.err


def test_a_batch_is_one_commit_with_a_trailer_for_each(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", writes("app-1", "a.txt"), writes("app-2", "b.txt"))
    done = workshop.agent("execute-bead", "app-1", "app-2", "--harness", "script", "--json")
    assert done.json["beads"] == ["app-1", "app-2"]
    message = workshop.git("log", "-1", "--format=%B").out
    assert "Helix-Bead: app-1" in message
    assert "Helix-Bead: app-2" in message
    assert {row["status"] for row in workshop.rows().values()} == {"closed"}


def test_a_failed_batch_charges_nobody(tmp_path: Path) -> None:  # S-8
    workshop = make_workshop(
        tmp_path / "w", writes("app-1", "a.txt"), writes("app-2", "b.txt", verify=["false"])
    )
    workshop.agent("execute-bead", "app-1", "app-2", "--harness", "script", code=1)
    assert not any("attempts" in row for row in workshop.rows().values())
    assert {row["status"] for row in workshop.rows().values()} == {"open"}


def test_no_merge_keeps_the_proven_work_at_a_ref(workshop: Workshop) -> None:
    before = workshop.tip()
    done = workshop.agent(
        "execute-bead", "app-1", "--no-merge", "--harness", "script", "--json", code=1
    )
    assert (done.json["outcome"], done.json["status"]) == ("preserved", "unmerged")
    assert workshop.tip() == before
    assert "attempts" not in workshop.rows()["app-1"]
    workshop.agent("land", done.json["attempt"])
    assert workshop.rows()["app-1"]["status"] == "closed"


def test_an_attempt_may_start_from_an_older_commit(workshop: Workshop) -> None:
    older = workshop.tip()
    (workshop.root / "later.txt").write_text("later\n")
    workshop.commit("later")
    workshop.agent("execute-bead", "app-1", "--from", older, "--harness", "script")
    parents = workshop.git("log", "-1", "--format=%P").out.split()
    assert len(parents) == 2
    assert (workshop.root / "later.txt").exists()
    assert (workshop.root / "hello.txt").exists()


def test_a_set_up_makes_the_tests_run(tmp_path: Path) -> None:  # X-3a
    workshop = make_workshop(
        tmp_path / "w",
        greeting(acceptance="- `test -f hello.txt && test -f deps/lib && sh deps2/run` passes"),
    )
    (workshop.folder / "config.yaml").write_text(
        "workspace:\n  setup: ['mkdir deps && touch deps/lib']\n  carry: [deps2]\n"
    )
    (workshop.root / ".gitignore").write_text("deps/\ndeps2/\n")
    (workshop.root / "deps2").mkdir()
    (workshop.root / "deps2" / "run").write_text("exit 0\n")
    workshop.commit("settings")
    outcome = workshop.once()
    assert outcome["paths"] == ["hello.txt"]
    assert (workshop.root / "deps2" / "run").read_text() == "exit 0\n"


def test_a_failing_set_up_is_the_harness_fault_and_free(tmp_path: Path) -> None:  # X-3a, X-8
    workshop = make_workshop(tmp_path / "w")
    (workshop.folder / "config.yaml").write_text("workspace:\n  setup: ['echo NO; exit 7']\n")
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("failed", "harness_fault")
    assert "exit 7" in outcome["reason"]
    assert "attempts" not in workshop.rows()["app-1"]
    assert workshop.leftover() == CLEAN


def test_ignored_files_of_the_agent_prove_nothing(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w",
        greeting(
            acceptance="- `test -f hello.txt && test -f build/made` passes",
            script="write hello.txt hi\nwrite build/made x\n",
        ),
    )
    (workshop.root / ".gitignore").write_text("build/\n")
    workshop.commit("ignore")
    outcome = workshop.once(code=1)
    assert outcome["status"] == "check_failed"
    story = workshop.agent("log", outcome["attempt"]).out
    assert "build" in story


def test_a_secret_never_reaches_the_record(tmp_path: Path) -> None:
    workshop = make_workshop(
        tmp_path / "w",
        greeting(
            acceptance='- `echo "$SOME_API_KEY"; test -f hello.txt` passes',
            script='write hello.txt hi\nsh echo "key is $SOME_API_KEY" >&2; echo "$SOME_API_KEY"\n',
        ),
    )
    outcome = workshop.once(SOME_API_KEY="hunter2-hunter2-hunter2")
    folder = workshop.folder / "executions" / outcome["attempt"]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        assert b"hunter2-hunter2" not in path.read_bytes(), path
    assert "masked" in (folder / "output.log").read_text()


def test_a_bead_without_a_check_of_its_own_uses_the_projects(tmp_path: Path) -> None:
    workshop = make_workshop(tmp_path / "w", bead("app-1", acceptance="", script="write a.txt a\n"))
    (workshop.folder / "config.yaml").write_text("checks:\n  default: ['test -f a.txt']\n")
    assert workshop.once()["checks"][0]["origin"] == "checks.default"


def test_an_agent_that_removes_its_workspace_has_failed(tmp_path: Path) -> None:
    script = 'write hello.txt x\nsh rm -rf "$PWD"\n'
    workshop = make_workshop(tmp_path / "w", greeting(script=script))
    outcome = workshop.once(code=1)
    assert (outcome["outcome"], outcome["status"]) == ("failed", "agent_failed")
    assert "is gone" in outcome["reason"]
    assert workshop.rows()["app-1"]["attempts"] == 1
    assert workshop.leftover() == CLEAN


def test_a_check_sees_the_documents_of_the_workspace(tmp_path: Path) -> None:
    row = greeting(
        acceptance="- `ddx doc show FEAT-001` passes",
        script="sh mkdir -p docs/helix && printf -- '---\\nddx: {id: FEAT-001}\\n---\\n# F\\n'"
        " > docs/helix/FEAT-001.md\n",
    )
    workshop = make_workshop(tmp_path / "w", row)
    assert workshop.once()["status"] == "success"
    assert (workshop.root / "docs/helix/FEAT-001.md").exists()


@pytest.mark.parametrize("where", ["subfolder", "worktree"])
def test_a_project_may_be_a_folder_of_its_repository_or_a_worktree(  # T-13, X-13
    tmp_path: Path, where: str
) -> None:
    plain = make_workshop(tmp_path / "w")
    if where == "subfolder":
        root = plain.root / "part"
        (root / ".ddx").mkdir(parents=True)
        workshop = Workshop(root, home=plain.home)
        workshop.ddx("init")
        workshop.file_beads(greeting(paths=["hello.txt"]))
        assert workshop.once()["status"] == "success"
        assert (root / "hello.txt").read_text() == "hello\n"
        assert workshop.rows()["app-1"]["status"] == "closed"
        assert plain.rows()["app-1"]["status"] == "open"
    else:
        linked = tmp_path / "linked"
        plain.git("worktree", "add", "--quiet", "-b", "side", str(linked))
        done = plain.run(
            *(str(DDX), "agent", "execute-loop", "--once", "--harness", "script", "--json"),
            cwd=linked,
        )
        assert done.json["completed"] == 1
        assert plain.rows()["app-1"]["status"] == "closed"
        assert (plain.root / "hello.txt").exists()
        assert not (linked / "hello.txt").exists()
    assert plain.leftover() == CLEAN
