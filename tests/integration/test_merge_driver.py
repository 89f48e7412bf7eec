"""Real merges by the real git: no side is ever lost, whatever becomes of the driver (T-14)."""

# @requirement TC-104

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.generate import encode
from tests.support.tracker import DDX, Done, Repository, bead, edge, make_repository

BEADS = [
    bead("app-1", labels=["old"]),
    bead("app-2", dependencies=[edge("app-2", "app-1")]),
    bead("app-3"),
    bead("app-4"),
]
DRIVER = "merge.ddx-beads.driver"

Edit = Callable[[Repository], object]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path, name='it\'s an "app"')
    made.write(BEADS)
    made.commit()
    return made


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH on which there is git and no ddx."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("git", "readlink", "sh"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


def diverge(repository: Repository, *, ours: Edit, theirs: Edit) -> None:
    """Two branches from one commit; we stand on `main` with our edit."""
    for branch, edit in (("theirs", theirs), ("main", ours)):
        if branch == "theirs":
            repository.git("checkout", "--quiet", "-b", "theirs")
        else:
            repository.git("checkout", "--quiet", "main")
        edit(repository)
        repository.commit(branch)


def ddx(*commands: str) -> Edit:
    """An edit by these commands, one after the other."""

    def edit(repository: Repository) -> None:
        for command in commands:
            repository.ddx(*command.split())

    return edit


def retitle(title: str) -> Edit:
    return lambda repository: repository.ddx("update", "app-1", "--title", title)


def join_merge(repository: Repository) -> Done:
    return repository.git("merge", "--no-edit", "theirs", code=None)


def join_rebase(repository: Repository) -> Done:
    return repository.git("rebase", "theirs", code=None)


def join_cherry_pick(repository: Repository) -> Done:
    return repository.git("cherry-pick", "theirs", code=None)


JOINS = {"merge": join_merge, "rebase": join_rebase, "cherry-pick": join_cherry_pick}
every_join = pytest.mark.parametrize("join", JOINS)


def settled(repository: Repository) -> bool:
    return repository.git("status", "--porcelain").out == ""


# Both sides


@every_join
def test_what_either_side_did_is_in_the_merged_tracker(repository: Repository, join: str) -> None:
    diverge(
        repository,
        ours=ddx(
            "update app-1 --add-label ours --priority 0",
            "dep add app-3 app-1",
            "evidence add app-1 --kind k --summary ours",
            "close app-4",
            "create Ours",
        ),
        theirs=ddx(
            "update app-1 --add-label theirs --remove-label old --description theirs",
            "dep add app-3 app-2",
            "evidence add app-1 --kind k --summary theirs",
            "update app-2 --set x-theirs=1",
            "create Theirs",
        ),
    )

    done = JOINS[join](repository)

    assert done.code == 0, done
    rows = repository.rows()
    first = rows["app-1"]
    assert set(first["labels"]) == {"ours", "theirs"}
    assert (first["priority"], first["description"]) == (0, "theirs")
    assert {event["summary"] for event in first["events"]} == {"ours", "theirs"}
    assert {each["depends_on_id"] for each in rows["app-3"]["dependencies"]} == {"app-1", "app-2"}
    assert rows["app-4"]["status"] == "closed"
    assert rows["app-2"]["x-theirs"] == "1"
    assert {"Ours", "Theirs"} <= {row["title"] for row in rows.values()}
    assert settled(repository)
    assert repository.ddx("list", "--json").json


def test_a_merge_touches_no_row_that_neither_side_touched(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, beads=300)
    before = repository.lines()
    one, *_, other = before
    diverge(
        repository,
        ours=ddx(f"update {one} --priority 0"),
        theirs=ddx(f"update {other} --priority 0"),
    )
    ours = repository.lines()

    assert join_merge(repository).code == 0

    theirs = repository.git("show", "theirs:.ddx/beads.jsonl").out.encode().splitlines()
    merged = repository.lines()
    assert merged == {**ours, other: merged[other]}
    assert merged[other] in theirs


def test_two_claims_of_one_bead_have_one_winner_after_the_merge(repository: Repository) -> None:
    diverge(
        repository,
        ours=ddx("update app-1 --claim --owner ours"),
        theirs=ddx("update app-1 --claim --owner theirs"),
    )

    assert join_merge(repository).code == 0

    row = repository.rows()["app-1"]
    theirs = repository.git("show", "theirs:.ddx/beads.jsonl").out
    assert row["owner"] == "theirs"  # claimed first
    assert row["claim-id"] in theirs
    assert "owner" in row["events"][-1]["body"], "the claim that yielded is on record"


def test_two_beads_under_one_id_both_live_on(repository: Repository) -> None:
    def create(title: str, at: str) -> Edit:
        new = bead("app-same", title=title, created_at=at)
        return lambda repository: repository.write([*BEADS, new])

    diverge(
        repository,
        ours=create("Ours", "2025-11-02T00:00:00Z"),
        theirs=create("Theirs", "2025-11-03T00:00:00Z"),
    )

    done = join_merge(repository)

    assert done.code == 0
    rows = repository.rows()
    assert len(rows) == len(BEADS) + 2
    assert rows["app-same"]["title"] == "Ours"
    (renamed,) = [name for name, row in rows.items() if row["title"] == "Theirs"]
    assert renamed in done.err + done.out


def test_archives_and_kept_events_of_both_sides_are_merged(repository: Repository) -> None:
    """We archive what they changed meanwhile; both close app-3 (T-6)."""
    diverge(
        repository,
        ours=ddx("close app-4", "archive", "close app-3 --reason ours"),
        theirs=ddx("close app-3 --reason theirs", "archive", "update app-4 --add-label theirs"),
    )

    assert join_merge(repository).code == 0

    everywhere = {**repository.rows(repository.archive), **repository.rows()}
    assert set(everywhere) == {row["id"] for row in BEADS}
    events = repository.ddx("show", "app-3", "--json").json["events"]
    assert {event["summary"] for event in events} >= {"ours", "theirs"}
    assert repository.ddx("list", "--all", "--json").json


def test_a_merge_works_in_a_linked_worktree(repository: Repository, tmp_path: Path) -> None:
    diverge(
        repository,
        ours=ddx("update app-1 --add-label ours"),
        theirs=ddx("update app-1 --add-label theirs"),
    )
    other = repository.checked_out(tmp_path / "linked tree")
    repository.git("worktree", "add", "--quiet", "--detach", str(other.root), "main")

    other.git("merge", "--no-edit", "theirs")

    assert set(other.rows()["app-1"]["labels"]) == {"old", "ours", "theirs"}
    assert set(repository.rows()["app-1"]["labels"]) == {"old", "ours"}


# One field, two values


@every_join
def test_one_field_changed_on_both_sides_waits_for_a_person(
    repository: Repository, join: str
) -> None:
    diverge(repository, ours=retitle("Our words"), theirs=retitle("Their words"))

    done = JOINS[join](repository)

    assert done.code == 1
    assert "CONFLICT" in done.out
    row = repository.rows()["app-1"]
    (waiting,) = row["merge-conflicts"]
    assert {row["title"], waiting["theirs"]} == {"Our words", "Their words"}
    assert (waiting["field"], waiting["base"]) == ("title", "Do app-1")
    assert "app-1" not in [each["id"] for each in repository.ddx("ready", "--json").json]
    (blocked,) = [
        each for each in repository.ddx("blocked", "--json").json if each["id"] == "app-1"
    ]
    assert blocked["blocker"]["kind"] == "merge-conflict"


@pytest.mark.parametrize(("take", "title"), [("ours", "Our words"), ("theirs", "Their words")])
def test_resolve_settles_it_and_git_ends_the_merge(
    repository: Repository, take: str, title: str
) -> None:
    diverge(repository, ours=retitle("Our words"), theirs=retitle("Their words"))
    join_merge(repository)
    assert "not finished" in repository.ddx("commit", code=1).err

    repository.ddx("resolve", "app-1", "--field", "title", "--take", take)
    repository.git("add", ".ddx")
    repository.git("commit", "--quiet", "--no-edit")

    row = repository.rows()["app-1"]
    assert row["title"] == title
    assert "merge-conflicts" not in row
    assert len(repository.git("rev-list", "--parents", "-1", "HEAD").out.split()) == 3
    assert settled(repository)
    assert "app-1" in [each["id"] for each in repository.ddx("ready", "--json").json]


# Without a driver that works


def edits_of_both(repository: Repository) -> Iterator[bytes]:
    """Our and their version of the one row that both changed."""
    for branch in ("main", "theirs"):
        content = repository.git("show", f"{branch}:.ddx/beads.jsonl").out.encode()
        yield next(line for line in content.splitlines() if b'"app-1"' in line[:200])


def assert_markers(repository: Repository, done: Done) -> None:
    """Git's own markers, both sides between them, and every command stops there (T-11)."""
    assert done.code == 1, done
    content = repository.file.read_bytes()
    for line in edits_of_both(repository):
        assert line in content
    number = content[: content.index(b"<<<<<<<")].count(b"\n") + 1
    for words in (["list"], ["ready", "--json"], ["create", "x"], ["update", "app-2", "--claim"]):
        assert f"{repository.file}:{number}: " in repository.ddx(*words, code=1).err
    assert repository.file.read_bytes() == content
    assert repository.git("ls-files", "--unmerged").out


def set_launcher(repository: Repository, launcher: Path) -> None:
    """Git is configured by a ddx that stood elsewhere."""
    configured = repository.git("config", DRIVER).out.strip()
    assert str(DDX) in configured
    repository.git("config", DRIVER, configured.replace(str(DDX), str(launcher)))


@pytest.fixture
def retitled(repository: Repository) -> Repository:
    diverge(repository, ours=retitle("Our words"), theirs=retitle("Their words"))
    return repository


def test_without_any_ddx_git_leaves_its_markers(retitled: Repository, tools: Path) -> None:
    set_launcher(retitled, tools / "gone/bin/ddx")

    assert_markers(retitled, retitled.git("merge", "theirs", code=None, PATH=str(tools)))


def test_without_the_configured_ddx_the_one_on_path_merges(
    retitled: Repository, tools: Path
) -> None:
    set_launcher(retitled, tools / "gone/bin/ddx")
    (tools / "ddx").symlink_to(DDX)

    assert retitled.git("merge", "theirs", code=None, PATH=str(tools)).code == 1
    assert retitled.rows()["app-1"]["merge-conflicts"][0]["theirs"] == "Their words"


@pytest.mark.parametrize(
    "ending", ["exit 1", "exit 2", "exit 3", "kill -9 $$", "echo setting up >&2; exit 1"]
)
def test_a_ddx_that_cannot_work_leaves_markers_and_not_just_our_side(
    retitled: Repository, tools: Path, ending: str
) -> None:
    broken = tools / "broken ddx"
    broken.write_text(f"#!/bin/sh\n{ending}\n")
    broken.chmod(0o755)
    set_launcher(retitled, broken)

    assert_markers(retitled, join_merge(retitled))


def test_a_clone_that_was_never_set_up_merges_line_by_line(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    clone = repository.checked_out(tmp_path / "clone")

    diverge(clone, ours=retitle("Our words"), theirs=retitle("Their words"))

    assert clone.git("config", DRIVER, code=1).out == ""
    assert_markers(clone, join_merge(clone))


def test_a_side_that_cannot_be_read_is_merged_line_by_line(repository: Repository) -> None:
    broken = b"".join(map(encode, BEADS)).replace(b'"Do app-1"', b'"Do app-1')
    diverge(
        repository,
        ours=retitle("Our words"),
        theirs=lambda repository: repository.write(broken),
    )

    done = join_merge(repository)

    assert_markers(repository, done)
    assert "line by line" in done.out


def test_a_merge_by_hand_says_what_it_did(repository: Repository, tmp_path: Path) -> None:
    base, ours, theirs = (tmp_path / name for name in ("base", "ours", "theirs"))
    repository.write(BEADS, base)
    repository.write([bead("app-1", title="Ours"), *BEADS[1:]], ours)
    repository.write([bead("app-1", title="Theirs"), *BEADS[1:]], theirs)

    done = repository.ddx("merge", str(base), str(ours), str(theirs), code=1)

    assert "app-1: both sides changed title" in done.out
    assert repository.rows(ours)["app-1"]["merge-conflicts"][0]["theirs"] == "Theirs"
    assert repository.rows(theirs)["app-1"]["title"] == "Theirs"
