"""Memory whose processes die in the middle, and databases that cannot be used (M-2, M-6, M-7)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.contract import ROOT
from tests.support.front_door import Person

EIGHT = 8
TEXTS = 12
NOW = "2026-01-02T03:04:05.000000Z"

BOTH = """
import sys
from ddx.base.masking import Masker
from helix.memory.credits import credit
from helix.memory.embedders import NoEmbedder
from helix.memory.model import MemoryDraft
from helix.memory.store import MemoryStore
from helix.memory.storage import StoreContext, store_memory

path, who, texts = sys.argv[1], sys.argv[2], int(sys.argv[3])
wits = StoreContext(NoEmbedder("not here", is_chosen=True), Masker({}))
with MemoryStore(path) as store:
    for n in range(texts):
        draft = MemoryDraft("failure", f"item {n} of the import fails", f"fix part {n} of a table")
        name = store_memory(store, draft, wits, now="2026-01-02T03:04:05.000000Z").memory.name
        credit(store, f"bead-{who}", [name], passed=int(who) % 2 == 0, now="2026-01-02T03:04:05Z")
"""
DIES_MIGRATING = """
import os, signal, sqlite3, sys
from helix.memory.store import migrate

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("BEGIN IMMEDIATE")
migrate(db, 0)
os.kill(os.getpid(), signal.SIGKILL)
"""
DIES_IMPORTING = """
import os, signal, sys
from ddx.base.masking import Masker
from helix.memory.interchange import import_rows
from helix.memory.store import MemoryStore

class Dying(Masker):
    rows = 0

    def mask(self, text):
        self.rows += 1
        if self.rows == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().mask(text)

with MemoryStore(sys.argv[1]) as store, open(sys.argv[2], encoding="utf-8") as file:
    import_rows(store, file.read(), Dying({}), where="f", now="2026-01-02T03:04:05.000000Z")
"""
DIES = """
import os, signal, sys
from contextlib import contextmanager
from helix.memory.store import MemoryStore
from helix.memory.maintenance import forget
from helix.memory.interchange import undo_last

path, does, when = sys.argv[1:4]

class Dying(MemoryStore):
    @contextmanager
    def writing(self):
        with super().writing() as db:
            yield db
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

with Dying(path) as store:
    if does == "forget":
        forget(store, ["item-1-of-the-import-fails"], now="2026-01-03T03:04:05Z", dry_run=False)
    else:
        undo_last(store, now="2026-01-04T03:04:05Z")
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(script: str, *arguments: str) -> None:
    child = start(script, *arguments)
    told = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL, told


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchall()


def set_version(path: Path, number: int) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {number:d}")
    db.close()


def one_line(number: int) -> str:
    return json.dumps(
        {
            "type": "failure",
            "trigger": f"item {number} of the import fails",
            "resolution": f"fix part {number} of a table",
            "helped": 2.5,
            "failed": 0.5,
            "pinned": True,
            "last_used": NOW,
        }
    )


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.begins_a_repository()
    person.helix("init")
    (person.root / ".helix/config.yaml").write_text("memory: {embedder: off}\n")
    (person.root / "ten.jsonl").write_text("\n".join(map(one_line, range(10))) + "\n")
    return person


def database(ada: Person) -> Path:
    return ada.root / ".helix/helix.db"


def test_eight_processes_that_store_and_credit_at_once_count_exactly(tmp_path):  # M-2, D-18
    path = tmp_path / "helix.db"
    children = [start(BOTH, str(path), str(who), str(TEXTS)) for who in range(EIGHT)]
    answers = [child.communicate(timeout=240) for child in children]
    assert [child.returncode for child in children] == [0] * EIGHT, answers
    counts = rows(path, "SELECT helped, failed FROM memory")
    assert counts == [(0.5 * EIGHT / 2, 0.5 * EIGHT / 2)] * TEXTS
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_migration_that_was_killed_is_done_again(ada):
    database(ada).unlink(missing_ok=True)
    killed(DIES_MIGRATING, str(database(ada)))
    assert "10 added" in ada.helix("memory", "import", "ten.jsonl")


def test_an_import_that_was_killed_goes_on_where_it_was_with_nobodys_past_lost(ada):  # M-7
    killed(DIES_IMPORTING, str(database(ada)), str(ada.root / "ten.jsonl"))
    count = rows(database(ada), "SELECT count(*) FROM memory")[0][0]
    assert isinstance(count, int)
    assert 0 < count < 10
    done = json.loads(ada.helix("memory", "import", "ten.jsonl", "--json"))
    assert (len(done["merged"]), len(done["added"])) == (count, 10 - count)
    past = "SELECT DISTINCT helped, failed, pinned, last_used FROM memory"
    assert rows(database(ada), past) == [(2.5, 0.5, 1, NOW)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_removal_that_was_killed_is_whole_or_not_at_all_and_can_be_taken_back(ada, when):  # M-7
    ada.helix("memory", "import", "ten.jsonl")
    killed(DIES, str(database(ada)), "forget", when)
    assert len(json.loads(ada.helix("memory", "list", "--json"))) == (10 if when == "before" else 9)
    ada.helix("memory", "undo")
    known = json.loads(ada.helix("memory", "list", "--json"))
    assert len(known) == 10
    assert {(it["helped"], it["pinned"]) for it in known} == {(2.5, True)}


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_undo_that_was_killed_can_be_done_again(ada, when):  # M-7
    ada.helix("memory", "import", "ten.jsonl")
    ada.helix("memory", "forget", "item-1-of-the-import-fails")
    killed(DIES, str(database(ada)), "undo", when)
    ada.helix("memory", "undo")
    known = json.loads(ada.helix("memory", "list", "--json"))
    assert sorted(it["name"] for it in known) == [
        f"item-{n}-of-the-import-fails" for n in range(10)
    ]
    assert {(it["helped"], it["failed"]) for it in known} == {(2.5, 0.5)}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs mounts")
def test_a_database_in_a_folder_that_may_only_be_read_is_refused_in_words(ada):  # C-3
    ada.helix("memory", "import", "ten.jsonl")
    folder = str(database(ada).parent)
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; shift; exec "$@"'
    recall = (sys.executable, "-m", "helix", "memory", "recall", "item 3 of the import")
    done = ada.types("unshare", "-m", "sh", "-c", script, "sh", folder, *recall, code=None)
    if done.returncode == 77:
        pytest.skip("this machine lets nobody mount")
    assert done.returncode == 1, done.stderr
    assert "cannot be used" in done.stderr
    assert "see who may write to its folder" in done.stderr


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda path: path.write_bytes(b"no database at all " * 999), "is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "is damaged"),
        (lambda path: set_version(path, 99), "was written by a newer helix"),
    ],
    ids=["foreign", "cut", "newer"],
)
def test_a_database_that_cannot_be_used_is_named_and_left_as_it_is(ada, harm, said):  # C-3
    ada.helix("memory", "import", "ten.jsonl")
    harm(database(ada))
    before = database(ada).read_bytes()
    for words in (("list",), ("recall", "item 3 of the import"), ("import", "ten.jsonl")):
        done = ada.types(sys.executable, "-m", "helix", "memory", *words, code=1)
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert database(ada).read_bytes() == before
