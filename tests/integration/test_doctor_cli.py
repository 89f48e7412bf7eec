"""`ddx bead doctor` on real files and real git: it finds, keeps and mends (D-15, T-14a)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ddx.project.project import Project
from ddx.tracker.doctor.repair import treat
from ddx.tracker.row import encode
from ddx.tracker.tracker import Tracker

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/schemas/bead-doctor.json").read_text())
NOON = "2026-01-02T12:00:00Z"


def bead(bead_id: str, **fields: Any) -> dict[str, Any]:
    row = {"id": bead_id, "title": f"Bead {bead_id}", "status": "open", "created_at": NOON}
    return {**row, "verify": ["true"], **fields}


def lines_of(*rows: dict[str, Any]) -> bytes:
    return b"".join(encode(row) + b"\n" for row in rows)


class DamagedRepository:
    """A git repository with a tracker, and the two programs that work on it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "app"
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.tracker = self.root / ".ddx/beads.jsonl"
        self.backups = self.root / ".ddx/backups"

    def run(self, *argv: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        variables = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "DDX_BEAD_PREFIX": "app",
        }
        done = subprocess.run(
            argv, cwd=self.root, env=variables, capture_output=True, text=True, timeout=60
        )
        assert code is None or done.returncode == code, (done.args, done.stdout, done.stderr)
        return done

    def ddx(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "ddx", "bead", *words, code=code)

    def git(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return self.run("git", *who, *words, code=code)

    def doctor(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ddx("doctor", *words, "--json", code=code).stdout)
        jsonschema.validate(answer, SCHEMA)
        return answer

    def kinds(self, *words: str, code: int | None = 0) -> list[str]:
        return [finding["kind"] for finding in self.doctor(*words, code=code)["findings"]]

    def rows(self) -> dict[str, dict[str, Any]]:
        rows = [json.loads(line) for line in self.tracker.read_bytes().splitlines()]
        return {row["id"]: row for row in rows}

    def kept(self, pattern: str) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.backups.glob(pattern))]


@pytest.fixture
def repository(tmp_path: Path) -> DamagedRepository:
    made = DamagedRepository(tmp_path)
    made.root.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    made.ddx("init")
    return made


@pytest.fixture
def filled(repository: DamagedRepository) -> DamagedRepository:
    """Three beads that our own commands wrote, all of them committed."""
    drafts = [{"title": name, "verify": ["true"]} for name in ("One", "Two", "Three")]
    (repository.root / "drafts.json").write_text(json.dumps(drafts))
    repository.ddx("create", "--from-file", "drafts.json")
    repository.git("add", ".ddx")
    repository.git("commit", "--quiet", "-m", "tracker")
    return repository


def files_of(folder: Path) -> dict[str, bytes]:
    """All but the lock's note of who held it last."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path): path.read_bytes() for path in paths}


def test_a_sound_tracker_says_so_in_one_line(filled):
    assert filled.ddx("doctor").stdout == "the tracker is sound\n"
    assert filled.doctor() == {"findings": [], "fixed": []}
    assert filled.doctor("--fix", "--bring-back") == {"findings": [], "fixed": []}
    assert not filled.backups.exists()


def test_where_no_tracker_is_none_is_made(tmp_path):
    bare = DamagedRepository(tmp_path)
    bare.root.mkdir()
    bare.git("init", "--quiet")
    assert "ddx bead init" in bare.ddx("doctor", code=1).stderr
    assert not (bare.root / ".ddx").exists()


def test_looking_changes_no_file(filled):  # T-20
    filled.tracker.write_bytes(filled.tracker.read_bytes() + b"{torn\n")
    filled.doctor(code=1)
    before = files_of(filled.root / ".ddx")
    filled.doctor(code=1)
    assert files_of(filled.root / ".ddx") == before


def test_a_corrupt_line_stops_every_command_until_it_is_mended(filled):  # D-15, T-11
    whole = filled.tracker.read_bytes()
    first, rest = whole.split(b"\n", 1)
    broken = first + b'\n{"id":"app-torn","ti\n' + rest
    filled.tracker.write_bytes(broken)
    assert f"{filled.tracker}:2" in filled.ddx("list", code=1).stderr
    [finding] = filled.doctor(code=1)["findings"]
    assert finding["where"] == f"{filled.tracker}:2"

    done = filled.doctor("--fix")
    assert [fix["kind"] for fix in done["fixed"]] == ["corrupt-line"]
    assert filled.tracker.read_bytes() == whole
    assert filled.kept("fix-*") == [broken]
    assert filled.kept("unreadable-*") == [b'{"id":"app-torn","ti\n']
    assert filled.ddx("create", "Four", "--verify", "true").stderr == ""


def test_a_bead_whose_line_was_torn_comes_back_from_our_copy(filled):  # D-15, T-14a
    lines = filled.tracker.read_bytes().splitlines(keepends=True)
    filled.ddx("create", "Four", "--verify", "true")
    four = filled.tracker.read_bytes()
    torn = b"".join(lines[:1]) + lines[1][:20] + b"\n" + lines[2]
    filled.tracker.write_bytes(torn)
    assert set(filled.kinds(code=1)) == {"corrupt-line", "lost-row"}
    filled.ddx("doctor", "--bring-back", code=1)
    assert filled.tracker.read_bytes() == torn
    filled.doctor("--fix", "--bring-back", code=None)
    assert set(filled.tracker.read_bytes().splitlines()) >= set(b"".join(lines).splitlines())
    assert set(filled.tracker.read_bytes().splitlines()) <= set(four.splitlines())


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_the_markers_of_a_real_merge_are_joined_with_what_both_sides_began_with(filled, style):
    """T-11, T-14: a clone that never ran `init` has no driver, so git leaves markers."""
    filled.git("config", "--remove-section", "merge.ddx-beads")
    filled.git("config", "merge.conflictStyle", style)
    one = next(iter(filled.rows()))
    filled.git("checkout", "--quiet", "-b", "other")
    filled.ddx("update", one, "--notes", "theirs", "--add-label", "b")
    filled.ddx("create", "Their own", "--verify", "true")
    filled.git("commit", "--quiet", "-am", "theirs")
    filled.git("checkout", "--quiet", "main")
    filled.ddx("update", one, "--priority", "0", "--add-label", "a")
    filled.ddx("create", "Our own", "--verify", "true")
    filled.git("commit", "--quiet", "-am", "ours")
    filled.git("merge", "--quiet", "other", code=1)
    assert "git conflict markers" in filled.ddx("list", code=1).stderr

    assert "conflict-markers" in filled.kinds(code=1)
    filled.doctor("--fix", code=None)
    rows = filled.rows()
    assert {row["title"] for row in rows.values()} == {
        "One",
        "Two",
        "Three",
        "Their own",
        "Our own",
    }
    joined = rows[one]
    assert (joined["notes"], joined["priority"]) == ("theirs", 0)
    assert joined["labels"] == ["a", "b"]
    assert "merge-conflicts" not in joined
    assert filled.ddx("list").returncode == 0


def test_rows_that_git_took_away_are_shown_and_come_back_on_request(filled):  # T-14a
    before = filled.tracker.read_bytes()
    made = filled.ddx("create", "Four", "--verify", "true").stdout.strip()
    kept = filled.tracker.read_bytes()
    filled.git("checkout", "--quiet", "--", ".ddx/beads.jsonl")
    assert filled.tracker.read_bytes() == before

    [finding] = filled.doctor(code=1)["findings"]
    assert (finding["kind"], finding["where"]) == ("lost-row", made)
    assert filled.kinds("--fix", code=1) == ["lost-row"]
    done = filled.doctor("--bring-back")
    assert [(fix["kind"], fix["where"]) for fix in done["fixed"]] == [("lost-row", made)]
    assert filled.tracker.read_bytes() == kept


def test_rows_stay_findable_after_the_next_writes(filled):  # T-14a
    made = filled.ddx("create", "Four", "--verify", "true").stdout.strip()
    filled.git("checkout", "--quiet", "--", ".ddx/beads.jsonl")
    assert "ddx bead doctor" in filled.ddx("create", "Five", "--verify", "true").stderr
    filled.ddx("create", "Six", "--verify", "true")
    assert filled.kinds(code=1) == ["lost-row"]
    assert filled.kinds("--bring-back") == []
    assert made in filled.rows()
    assert len(filled.rows()) == 6


def test_a_row_that_git_rewound_is_named_with_its_fields_and_left(filled):  # T-14a
    one = next(iter(filled.rows()))
    filled.ddx("update", one, "--notes", "mine")
    filled.git("checkout", "--quiet", "--", ".ddx/beads.jsonl")
    [finding] = filled.doctor("--bring-back", code=1)["findings"]
    assert (finding["kind"], finding["where"]) == ("rewound-row", one)
    assert "notes" in finding["what"]
    assert f"ddx bead show {one}" in finding["cure"]
    assert "notes" not in filled.rows()[one]


@pytest.mark.parametrize("loss", ["missing", "emptied", "replaced by nothing", "garbage"])
def test_a_tracker_that_is_gone_is_brought_back(filled, loss):  # T-14a
    filled.ddx("update", next(iter(filled.rows())), "--notes", "one more write")
    whole = filled.tracker.read_bytes()
    match loss:
        case "missing":
            filled.tracker.unlink()
        case "emptied":
            os.truncate(filled.tracker, 0)
        case "replaced by nothing":
            filled.tracker.unlink()
            filled.tracker.touch()
        case "garbage":
            filled.tracker.unlink()
            filled.tracker.write_bytes(b"not a tracker\n")
    assert "doctor" in filled.ddx("list", code=1).stderr
    assert "missing-tracker" in filled.kinds(code=1)
    assert "missing-tracker" in filled.kinds("--fix", code=1)
    filled.doctor("--fix", "--bring-back", code=None)
    if loss != "emptied":
        assert filled.tracker.read_bytes() == whole
    assert len(filled.rows()) == 3
    assert filled.ddx("create", "Four", "--verify", "true").stderr == ""


def test_duplicate_ids_are_joined_and_the_copy_kept(filled):  # T-11, T-14
    rows = [*filled.rows().values()]
    twice = lines_of(*rows, {**rows[0], "labels": ["late"]})
    filled.tracker.write_bytes(twice)
    assert filled.kinds(code=1) == ["duplicate-id"]
    assert [fix["kind"] for fix in filled.doctor("--fix", code=None)["fixed"]] == ["duplicate-id"]
    assert filled.rows()[rows[0]["id"]]["labels"] == ["late"]
    assert twice in filled.kept("fix-*")


def test_a_file_replaced_while_it_is_mended_is_read_again(filled):  # T-14a
    rows = [*filled.rows().values()]
    filled.tracker.write_bytes(lines_of(*rows, {**rows[0], "title": "Another bead"}))
    late = bead("app-late")

    def new_id(old: str) -> str:
        if late["id"] not in filled.rows():
            beside = filled.tracker.with_suffix(".new")
            beside.write_bytes(filled.tracker.read_bytes() + lines_of(late))
            beside.replace(filled.tracker)
        return "app-second"

    tracker = Tracker(Project(str(filled.root)))
    treat(tracker, fix=True, bring_back=False, new_id=new_id)
    assert filled.rows().keys() == {*(row["id"] for row in rows), "app-late", "app-second"}


def test_the_archive_is_mended_too_and_a_bead_in_both_files_is_only_told(filled):
    archive = filled.root / ".ddx/beads-archive.jsonl"
    one = next(iter(filled.rows().values()))
    archive.write_bytes(b"\xef\xbb\xbf" + lines_of(one) + b"{torn\n")
    assert set(filled.kinds(code=1)) == {"archived-too", "byte-order-mark", "corrupt-line"}
    assert filled.kinds("--fix") == ["archived-too"]
    assert archive.read_bytes() == lines_of(one)
    assert filled.kept("unreadable-*") == [b"{torn\n"]


def test_unreadable_events_beside_a_bead_are_moved(filled):  # T-6
    one = next(iter(filled.rows()))
    filled.ddx("close", one, "--reason", "done")
    [events] = (filled.root / ".ddx/attachments").rglob("events.jsonl")
    good = events.read_bytes()
    events.write_bytes(b"{torn\n" + good + b"[]\n")
    found = filled.doctor(code=1)["findings"]
    assert [finding["where"] for finding in found] == [f"{events}:1", f"{events}:3"]
    assert filled.kinds("--fix") == []
    assert events.read_bytes() == good
    assert filled.kept("unreadable-*") == [b"{torn\n[]\n"]


def test_an_attachment_that_only_git_still_has_is_missed(filled):  # T-6
    one = next(iter(filled.rows()))
    filled.ddx("close", one, "--reason", "done")
    filled.git("add", ".ddx")
    filled.git("commit", "--quiet", "-m", "closed")
    shutil.rmtree(filled.root / ".ddx/attachments")
    [finding] = filled.doctor(code=1)["findings"]
    assert (finding["kind"], finding["where"]) == ("missing-attachment", one)


def test_a_clone_without_the_merge_driver_is_told_how_to_get_it(filled):  # T-14
    filled.git("config", "--remove-section", "merge.ddx-beads")
    [finding] = filled.doctor(code=1)["findings"]
    assert (finding["kind"], finding["severity"]) == ("merge-driver", "warning")
    assert "ddx bead init" in finding["cure"]
    filled.ddx("init")
    assert filled.kinds() == []


def test_what_a_killed_writer_left_is_told_and_removed(filled):  # T-9
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = Path(f"{filled.tracker}.tmp-{dead.pid}-0a1b2c3d")
    ours = filled.root / f".ddx/cache/beads.idx.tmp-{os.getpid()}-0a1b2c3d"
    for path in (left, ours):
        path.write_bytes(b"half a fi")
    assert filled.kinds() == ["leftover"]
    assert filled.kinds("--fix") == []
    assert ours.exists()
    assert not left.exists()


def test_the_claim_of_a_dead_runner_is_orphaned(filled):  # D-5, T-24
    one, two, _ = filled.rows()
    claim = f'"{sys.executable}" -m ddx bead update {one} --claim --owner helix; true'
    filled.run("/bin/sh", "-c", claim)
    filled.ddx("update", two, "--claim", "--owner", "helix")
    [finding] = filled.doctor(code=1)["findings"]
    assert (finding["kind"], finding["where"]) == ("orphaned-claim", one)
    filled.ddx("update", one, "--unclaim")
    assert filled.kinds() == []


def test_large_event_texts_are_cut_and_kept_whole(repository):  # T-6
    body = "z" * 70_000
    repository.tracker.write_bytes(lines_of(bead("app-1", events=[{"kind": "x", "body": body}])))
    assert repository.kinds(code=1) == ["oversized-field"]
    assert repository.kinds("--fix") == []
    assert len(repository.rows()["app-1"]["events"][0]["body"]) <= 65_536
    [whole] = repository.kept("cut-*")
    assert json.loads(whole)["text"] == body


def test_the_screen_is_bounded_and_json_has_all(repository):
    gone = [{"issue_id": "", "depends_on_id": "app-gone", "type": "blocks"}]
    rows = [bead(f"app-{n:03}", dependencies=gone) for n in range(60)]
    repository.tracker.write_bytes(lines_of(*rows))
    shown = repository.ddx("doctor", code=1).stdout
    assert shown.count("dep remove") == 50
    assert "and 10 more" in shown
    assert shown.endswith("60 warnings\n")
    assert len(repository.kinds(code=1)) == 60


def test_text_from_the_file_cannot_steer_the_terminal(repository):  # T-23
    epic = bead("app-\x1b[2J\nx", issue_type="epic", verify=[])
    repository.tracker.write_bytes(lines_of(epic))
    assert "\x1b" not in repository.ddx("doctor", code=1).stdout


def test_only_old_copies_of_many_are_ever_removed(filled):  # C-9
    filled.backups.mkdir()
    for number in range(12):
        copy = filled.backups / f"fix-2020-01-{number + 10}T000000000000Z-beads.jsonl"
        copy.write_bytes(b"old\n")
        if number < 6:
            os.utime(copy, (0, 0))
    filled.tracker.write_bytes(filled.tracker.read_bytes() + b"{torn\n")
    filled.doctor("--fix")
    names = sorted(path.name for path in filled.backups.glob("fix-*"))
    assert len(names) == 10
    assert "2020-01-12" not in names[0]
