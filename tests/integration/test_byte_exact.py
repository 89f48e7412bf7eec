"""What was not changed keeps its bytes, and what cannot be read is left alone (T-1, T-11, T-20)."""

# @requirement TC-105

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.generate import encode
from tests.support.tracker import DDX, Repository, bead, make_repository

BEADS = [bead(f"app-{n}") for n in range(6)]
READS = (
    ["list", "--all"],
    ["list", "--json", "--search", "app"],
    ["ready"],
    ["ready", "--execution", "--json"],
    ["blocked", "--json"],
    ["show", "app-1", "--json"],
    ["why", "app-1"],
    ["status", "--json"],
    ["dep", "tree", "app-1"],
    ["graph", "--format", "mermaid"],
    ["events", "app-1"],
    ["evidence", "list", "app-1"],
    ["export", "--to", "jsonl"],
    ["diff"],
    ["validate-ready"],
)
WRITES = (
    ["create", "Another"],
    ["update", "app-1", "--title", "Other"],
    ["update", "app-1", "--claim"],
    ["take"],
    ["close", "app-1"],
    ["reopen", "app-1", "--reason", "r"],
    ["cancel", "app-1", "--reason", "r"],
    ["block", "app-1", "--reason", "r"],
    ["supersede", "app-1", "--by", "app-2", "--reason", "r"],
    ["dep", "add", "app-1", "app-2"],
    ["dep", "remove", "app-1", "app-2"],
    ["evidence", "add", "app-1", "--kind", "k", "--summary", "s"],
    ["resolve", "app-1", "--field", "title", "--take", "ours"],
    ["import", "--from", "jsonl", "incoming.jsonl"],
    ["archive"],
)
HOSTILE = {
    "quotes": 'it\'s "quoted" \\ and `ticked`',
    "shell": "$(rm -rf /) ${HOME} ; | & > /dev/null *",
    "lines": "one\n\ttwo\n\n",
    "markup": "<b>&amp;</b> \u2028 \u2029",
    "right to left": "שלום \u202eevil\u202c مرحبا",
    "emoji": "👩‍👩‍👧 naïve 队列 e\u0301",
    "escapes in words": "\\n \\u0041 %s {0}",
    "marker": "<<<<<<< ours",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path)
    made.write(BEADS)
    made.write([bead("old-1")], made.root / "incoming.jsonl")
    made.commit()
    return made


def only_changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


# Rows that nobody touched


def test_a_thousand_rows_survive_the_update_of_one(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, beads=1000)
    before = repository.lines()
    unknown = [row for row in repository.rows().values() if "x-origin" in row]
    touched = unknown[len(unknown) // 2]["id"]

    repository.ddx("update", touched, "--title", "Other words")

    after = repository.lines()
    assert len(before) == 1000
    assert only_changed(before, after) == {touched}
    assert list(after) == sorted(after)
    old, new = json.loads(before[touched]), json.loads(after[touched])
    assert new == {**old, "title": "Other words", "updated_at": new["updated_at"]}
    assert repository.git("diff", "--numstat").out.split()[:2] == ["1", "1"]


def test_a_change_and_its_undoing_leave_only_the_stamp(repository: Repository) -> None:
    before = repository.lines()

    repository.ddx("update", "app-2", "--add-label", "new")
    repository.ddx("update", "app-2", "--remove-label", "new")

    (changed,) = only_changed(before, repository.lines())
    row = json.loads(before[changed])
    stamped = {**row, "updated_at": repository.rows()[changed]["updated_at"]}
    assert repository.rows()[changed] == stamped


ODD_FORMS = {
    "unsorted": b"".join(map(encode, reversed(BEADS))),
    "CRLF": b"".join(map(encode, BEADS)).replace(b"\n", b"\r\n"),
    "blank lines": b"\n".join([b"", *map(encode, BEADS), b"  ", b""]),
    "no final newline": b"".join(map(encode, BEADS)).rstrip(b"\n"),
    "other writers": b"".join(json.dumps(row, indent=None).encode() + b"\n" for row in BEADS),
    "escaped": b"".join(json.dumps({**row, "title": "é"}).encode() + b"\n" for row in BEADS),
    "numbers": encode(BEADS[0]).replace(b"1.5", b"1.50E+1") + b"".join(map(encode, BEADS[1:])),
}


@pytest.mark.parametrize("form", ODD_FORMS)
def test_rows_in_any_odd_form_keep_their_bytes(repository: Repository, form: str) -> None:
    content = repository.write(ODD_FORMS[form])
    before = {json.loads(line)["id"]: line.strip() for line in content.splitlines() if line.strip()}

    repository.ddx("update", "app-3", "--priority", "0")

    after = repository.lines()
    assert only_changed(before, after) == {"app-3"}
    assert list(after) == sorted(after)
    assert repository.file.read_bytes() == b"".join(line + b"\n" for line in after.values())


def test_a_row_of_twenty_megabytes_passes_through(repository: Repository) -> None:  # T-6
    huge = bead("app-huge", description="x" * 20_000_000)
    repository.write([*BEADS, huge])
    before = repository.lines()

    repository.ddx("update", "app-3", "--priority", "0")
    repository.ddx("update", "app-huge", "--priority", "1")

    assert only_changed(before, repository.lines()) == {"app-3", "app-huge"}
    assert repository.rows()["app-huge"]["description"] == huge["description"]
    assert len(repository.ddx("show", "app-huge", "--json").json["description"]) == 20_000_000


# Text from anywhere


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_comes_back_exactly(repository: Repository, kind: str) -> None:  # T-12
    text = HOSTILE[kind]
    one_line = text.replace("\n", " ").replace("\t", " ").strip()

    made = repository.ddx("create", one_line, "--description", text, "--set", f"x-text={text}").id

    shown = repository.ddx("show", made, "--json").json
    assert (shown["title"], shown["description"], shown["x-text"]) == (one_line, text, text)
    assert repository.rows()[made]["description"] == text
    exported = repository.ddx("export", "--to", "jsonl").out
    assert text in [json.loads(line).get("description") for line in exported.splitlines()]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_cannot_steer_a_terminal(repository: Repository, kind: str) -> None:  # T-23
    repository.write([bead("app-1", title=f"{HOSTILE[kind]}\x1b[2J\x07\x9b", notes=HOSTILE[kind])])

    for words in (["show", "app-1"], ["list"], ["ready"]):
        out = repository.ddx(*words).out
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e", "\u202c"}


def test_half_a_surrogate_pair_in_a_row_survives(repository: Repository) -> None:
    """JSON can name what UTF-8 cannot hold; other programs write it."""
    line = encode(bead("app-1", title="half")).replace(b'"half"', b'"\\ud83d half \\udc00"')
    repository.write(line)

    assert b"\\ud83d half \\udc00" in repository.ddx("show", "app-1", "--json").out.encode()
    repository.ddx("update", "app-1", "--priority", "0")

    assert b'"title":"\\ud83d half \\udc00"' in repository.file.read_bytes()
    assert "half" in repository.ddx("list").out


@pytest.mark.parametrize("mark", ["\x1b[31m", "\x07", "\r", "\x7f", "\x85", "\x9b", "\x00"])
def test_control_characters_are_refused(repository: Repository, mark: str) -> None:  # T-12
    before = repository.worth_tracking()
    given = json.dumps([{"title": f"evil {mark} text"}])
    (repository.root / "new.json").write_text(given)

    refused = [repository.ddx("create", "--from-file", str(repository.root / "new.json"), code=2)]
    if mark != "\x00":  # no program can be given a NUL as an argument
        refused.append(repository.ddx("create", f"evil {mark} text", code=2))
        refused.append(repository.ddx("update", "app-1", "--notes", f"a{mark}b", code=2))
        refused.append(repository.ddx("close", "app-1", "--reason", f"a{mark}b", code=2))

    for done in refused:
        assert f"\\x{ord(mark[0]):02x}" in done.err
        assert mark not in done.err
    (repository.root / "new.json").unlink()
    assert repository.worth_tracking() == before


def test_bytes_that_are_not_utf8_are_refused(repository: Repository) -> None:
    before = repository.worth_tracking()

    script = 'exec "$0" bead create "$(printf \'a\\377b\')"'
    repository.run("sh", "-c", script, str(DDX), code=2)

    assert repository.worth_tracking() == before


# What cannot be read


GOOD = b"".join(map(encode, BEADS))
BROKEN = {
    "half a row": (GOOD + b'{"id":"app-9","title":"cut sh\n', 7),
    "not an object": (GOOD + b"[1,2]\n", 7),
    "no id": (b'{"title":"nameless"}\n' + GOOD, 1),
    "id twice": (GOOD + encode(BEADS[0]), 7),
    "key twice": (GOOD + b'{"id":"app-9","title":"a","title":"b"}\n', 7),
    "not UTF-8": (GOOD.replace(b"Do app-2", b"Do \xff\xfe"), 3),
    "NUL bytes": (GOOD + bytes(200), 7),
    "NaN": (GOOD + b'{"id":"app-9","x":NaN}\n', 7),
    "conflict markers": (
        b"<<<<<<< ours\n" + GOOD + b"=======\n" + GOOD + b">>>>>>> theirs\n",
        1,
    ),
    "deep": (GOOD + b'{"id":"app-9","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 7),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_line_stops_every_command_and_nothing_changes(
    repository: Repository, kind: str
) -> None:  # D-15
    content, line = BROKEN[kind]
    repository.write(content)
    before = repository.worth_tracking()
    commands = (*READS, *WRITES) if kind == "conflict markers" else (READS[0], WRITES[0], WRITES[3])

    for words in commands:
        done = repository.ddx(*words, code=1)
        assert f"{repository.file}:{line}: " in done.err, words
        assert "ddx bead doctor" in done.err
        assert done.out == ""

    assert repository.worth_tracking() == before
    assert repository.leftovers() == []


def test_a_broken_archive_stops_commands_too(repository: Repository) -> None:
    repository.write(b"nonsense\n", repository.archive)
    before = repository.worth_tracking()

    for words in (
        ["list", "--all"],
        ["show", "app-none"],
        ["create", "x", "--depends-on", "app-x"],
    ):
        assert f"{repository.archive}:1: " in repository.ddx(*words, code=1).err

    assert repository.worth_tracking() == before


# Reading


def test_no_read_writes_anything_that_git_sees(repository: Repository) -> None:  # T-20
    repository.ddx("close", "app-5", "--reason", "done")
    repository.ddx("archive")
    repository.ddx("update", "app-1", "--title", "Not committed yet")
    before = repository.worth_tracking()
    status = repository.git("status", "--porcelain").out
    index = (repository.root / ".git/index").read_bytes()

    for words in (*READS, ["doctor"]):
        assert repository.ddx(*words, code=None).code < 2, words
    repository.ddx("import", "--from", "jsonl", "incoming.jsonl", "--dry-run")

    assert repository.worth_tracking() == before
    assert repository.git("status", "--porcelain").out == status
    assert (repository.root / ".git/index").read_bytes() == index


def test_a_write_stages_and_commits_nothing(repository: Repository) -> None:  # T-20
    head = repository.git("rev-parse", "HEAD").out

    for words in WRITES[:2]:
        repository.ddx(*words)

    assert repository.git("rev-parse", "HEAD").out == head
    assert repository.git("diff", "--cached", "--name-only").out == ""
    assert repository.git("status", "--porcelain").out == " M .ddx/beads.jsonl\n"
    assert not list((repository.root / ".git/hooks").glob("[!.]*[!e]"))
