"""Checks see the commit, and nothing that an agent or another check left (R-10, H-1 to H-3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.attempts import CLEAN, Workshop, greeting, make_workshop


def shop_with(
    folder: Path, row: dict[str, Any], files: dict[str, str], config: str = ""
) -> Workshop:
    """A repository that holds these files, with one bead."""
    workshop = make_workshop(folder / "w", row)
    for name, text in files.items():
        path = workshop.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if config:
        (workshop.folder / "config.yaml").write_text(config)
    workshop.commit("files")
    return workshop


def refused(workshop: Workshop) -> dict[str, Any]:
    """The outcome of an attempt that must not complete its bead."""
    before = workshop.tip()
    outcome = workshop.once(code=1)
    assert outcome["status"] in ("check_failed", "nothing_done"), outcome
    assert workshop.tip() == before
    assert workshop.rows()["app-1"]["status"] == "open"
    assert workshop.leftover() == CLEAN
    return outcome


def test_a_carried_file_that_the_agent_edited_takes_no_part(tmp_path: Path) -> None:  # C1, H-1
    row = greeting(
        acceptance="- `sh vendor/check.sh` passes",
        script="sh echo true > vendor/check.sh\nwrite junk.txt x\n",
    )
    workshop = shop_with(
        tmp_path,
        row,
        {".gitignore": "vendor/\n", "vendor/check.sh": "exit 1\n"},
        "workspace: {carry: [vendor]}\n",
    )
    refused(workshop)


def test_a_file_of_the_set_up_that_the_agent_edited_takes_no_part(tmp_path: Path) -> None:  # C1
    row = greeting(
        acceptance="- `sh deps/check.sh` passes",
        script="sh echo true > deps/check.sh\nwrite junk.txt x\n",
    )
    set_up = "workspace: {setup: ['mkdir deps && echo exit 1 > deps/check.sh']}\n"
    refused(shop_with(tmp_path, row, {".gitignore": "deps/\n"}, set_up))


def test_a_check_cannot_make_the_file_that_the_next_one_looks_for(tmp_path: Path) -> None:  # C2
    row = greeting(
        acceptance="- `sh t.sh` passes\n- `test -f hello.txt` passes",
        script="sh echo 'echo hi > hello.txt' > t.sh\n",
    )
    outcome = refused(shop_with(tmp_path, row, {"t.sh": "exit 0\n"}))
    assert [check["passed"] for check in outcome["checks"]] == [True, False]


@pytest.mark.parametrize(
    "leaves",
    [
        "mkdir -p seen",
        "mkfifo seen",
        "rm kept.txt",
        "echo spoiled > kept.txt",
        "cp -p kept.txt $HOME/old; echo mine > kept.txt; touch -r $HOME/old kept.txt",
        "echo true > deps/lib",
        "rm deps/lib",
        "mkdir -p .git/seen",
        "git config helix.seen yes",
    ],
)
def test_each_check_gets_the_commit_as_it_is(tmp_path: Path, leaves: str) -> None:  # C2, C3, H-1
    sees = (
        "test ! -e seen && test ! -e .git/seen && grep -qx kept kept.txt && grep -qx set deps/lib"
        " && ! git config helix.seen"
    )
    row = greeting(
        acceptance=f"- `sh one.sh` passes\n- `{sees}` passes",
        script="write hello.txt x\n",
    )
    workshop = shop_with(
        tmp_path,
        row,
        {"kept.txt": "kept\n", ".gitignore": "deps/\n", "one.sh": f"{leaves}\nexit 0\n"},
        "workspace: {setup: ['mkdir deps && echo set > deps/lib']}\n",
    )
    assert workshop.once()["status"] == "success"
    assert workshop.leftover() == CLEAN


@pytest.mark.parametrize(
    ("check", "does"),
    [
        ("test -d out/data", "mkdir -p out/data"),
        ("test -p out", "mkfifo out"),
        ("sh .git/m.sh", "echo true > .git/m.sh; echo x > junk.txt"),
    ],
)
def test_what_git_does_not_keep_proves_nothing(tmp_path: Path, check: str, does: str) -> None:  # C3
    refused(
        shop_with(tmp_path, greeting(acceptance=f"- `{check}` passes", script=f"sh {does}\n"), {})
    )


@pytest.mark.parametrize(
    "does",
    [
        "echo x >> kept.txt && git commit -qam mine",
        "echo x >> kept.txt && git commit -qam mine && git branch -f main",
        "git update-index --assume-unchanged kept.txt && echo x >> kept.txt",
    ],
)
@pytest.mark.parametrize("against", ["HEAD", "main"])
def test_a_check_that_asks_git_gets_no_answer_of_the_agents(  # C3, H-1
    tmp_path: Path, against: str, does: str
) -> None:
    row = greeting(
        acceptance=f"- `git diff --quiet {against} -- kept.txt` passes", script=f"sh {does}\n"
    )
    refused(shop_with(tmp_path, row, {"kept.txt": "kept\n"}))


def test_git_diff_in_a_check_compares_with_the_commit(tmp_path: Path) -> None:  # H-1
    """What generators are checked by: a clean tree before, and no difference after."""
    row = greeting(acceptance="- `test -f hello.txt && git diff --exit-code` passes")
    assert shop_with(tmp_path, row, {}).once()["status"] == "success"


@pytest.mark.parametrize(
    ("attributes", "text", "check"),
    [
        ("hello.txt ident", "$Id: PASSED$", "grep -q PASSED hello.txt"),
        ("hello.txt text eol=lf", "a\\r", r"grep -q $(printf '\\r') hello.txt"),
    ],
)
def test_attributes_of_the_product_are_applied_before_the_check(  # C4, H-2
    tmp_path: Path, attributes: str, text: str, check: str
) -> None:
    row = greeting(
        acceptance="- `sh look.sh` passes",
        script=f"sh echo '{attributes}' > .gitattributes; printf '{text}\\n' > hello.txt\n",
    )
    refused(shop_with(tmp_path, row, {"look.sh": f"{check}\n"}))


def test_new_attributes_are_applied_to_unchanged_files_too(tmp_path: Path) -> None:  # H-2
    row = greeting(
        acceptance="- `sh look.sh` passes",
        script="sh echo 'a.txt text eol=crlf' > .gitattributes\n",
    )
    refused(
        shop_with(tmp_path, row, {"a.txt": "a\n", "look.sh": "! grep -q $(printf '\\r') a.txt\n"})
    )


@pytest.mark.parametrize(
    "way", ["$DDX_EVIDENCE_DIR/..", "$DDX_PROJECT_ROOT/.ddx/executions/$DDX_ATTEMPT_ID"]
)
def test_the_index_of_the_commit_cannot_be_prepared(tmp_path: Path, way: str) -> None:  # C5, H-3
    does = (
        f"GIT_INDEX_FILE={way}/index git update-index --assume-unchanged t.sh; echo exit 0 > t.sh"
    )
    row = greeting(acceptance="- `sh t.sh` passes", script=f"sh {does}\nwrite hello.txt x\n")
    workshop = shop_with(tmp_path, row, {"t.sh": "exit 1\n"})
    outcome = workshop.once()
    assert sorted(outcome["paths"]) == ["hello.txt", "t.sh"]  # seen, so a review can object


def test_no_variable_of_the_agent_leads_to_its_record(tmp_path: Path) -> None:  # H-3
    row = greeting(
        script='sh echo kept > "$DDX_EVIDENCE_DIR/note"; ls "$DDX_EVIDENCE_DIR/.." > hello.txt\n'
    )
    workshop = shop_with(tmp_path, row, {})
    outcome = workshop.once()
    listed = (workshop.root / "hello.txt").read_text().split()
    assert "intent.json" not in listed
    assert "index" not in listed
    record = workshop.folder / "executions" / outcome["attempt"]
    assert (record / "evidence" / "note").read_text() == "kept\n"


def test_a_set_up_that_the_product_breaks_is_a_failed_check(tmp_path: Path) -> None:  # H-1
    row = greeting(script="write hello.txt x\nsh echo exit 9 > install.sh\n")
    workshop = shop_with(
        tmp_path, row, {"install.sh": "exit 0\n"}, "workspace: {setup: ['sh install.sh']}\n"
    )
    outcome = refused(workshop)
    assert "set-up command 'sh install.sh' failed (exit 9)" in outcome["reason"]
