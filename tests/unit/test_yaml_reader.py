"""YAML is read in one place, and no file of it can harm us: each of the six doors refuses bombs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ddx.base.errors import CorruptFile, UsageError
from ddx.base.yaml import DEEPEST, LARGEST, MOST_ALIASES, BrokenYaml, Nodes, read_texts
from ddx.cli.bead.drafts_file import read_drafts
from ddx.documents.parser import parse as parse_document
from ddx.project.settings import parse as parse_settings
from helix.cli.input_batch import read_batch
from helix.install.skill_checks import validate_skills
from helix.objective.agents import read_contract

LAUGHS = "l0: &l0 [x, x, x]\n" + "".join(
    f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
BOMBS = {
    "aliases": (LAUGHS, "full of aliases", 3),
    "itself": ("a: &a [*a]\n", "*a stands inside of itself", 1),
    "lists": (f"a: {'[' * 9_000}{']' * 9_000}\n", "nested too deeply", 1),
    "tables": ("a: " + "{b: " * 5_000 + "}" * 5_000 + "\n", "nested too deeply", 1),
    "indents": ("".join(f"{' ' * n}k:\n" for n in range(200)), "nested too deeply", DEEPEST + 1),
}
Bombs = pytest.mark.parametrize(("bomb", "what", "line"), BOMBS.values(), ids=BOMBS)
Refusal = Callable[[Path, str], str]


def front_matter(path: Path, bomb: str) -> str:
    (found,) = parse_document(str(path), f"---\n{bomb}---\n# Page\n".encode()).findings
    return f"{found.where}:{found.line - 1}: {found.what}"


def settings(path: Path, bomb: str) -> str:
    path.write_text(bomb)
    with pytest.raises(UsageError) as problem:
        parse_settings(str(path))
    return problem.value.message


def drafts(path: Path, bomb: str) -> str:
    path.write_text(bomb)
    with pytest.raises(CorruptFile) as problem:
        read_drafts(str(path))
    return problem.value.message


def batch(path: Path, bomb: str) -> str:
    path.write_text(bomb)
    with pytest.raises(UsageError) as problem:
        read_batch(str(path))
    return problem.value.message


def contract(path: Path, bomb: str) -> str:
    path.write_text(bomb)
    with pytest.raises(CorruptFile) as problem:
        read_contract(str(path))
    return problem.value.message


def skill(path: Path, bomb: str) -> str:
    page = path.parent / "skills/helix/SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"---\n{bomb}---\n\n# Page\n")
    (path.parent / "workflows").mkdir()
    (fault,) = validate_skills(str(path.parent), commands=(), version="1")
    assert fault.path == str(page)
    line, _, what = fault.what.removeprefix("line ").partition(": ")
    return f"{path}:{int(line) - 1}: {what}"


DOORS = (front_matter, settings, drafts, batch, contract, skill)


@pytest.mark.timeout(60)
@Bombs
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_each_door_refuses_a_bomb_and_names_the_file_and_the_line(  # G-10
    door: Refusal, bomb: str, what: str, line: int, tmp_path: Path
) -> None:
    path = tmp_path / "file.yaml"
    said = door(path, bomb)
    assert said.startswith(f"{path}:{line}: ") and said.endswith(what)


@pytest.mark.parametrize("door", (settings, drafts, batch, contract), ids=lambda it: it.__name__)
def test_each_door_refuses_what_is_too_large(door: Refusal, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    assert str(path) in (said := door(path, "x" * (17 << 20))) and "larger than" in said


@pytest.mark.parametrize("reads", (read_texts, Nodes))
@Bombs
def test_each_way_to_read_has_the_guard(
    reads: Callable[[str], object], bomb: str, what: str, line: int
) -> None:
    with pytest.raises(BrokenYaml) as problem:
        reads(bomb)
    assert (problem.value.what, problem.value.line) == (what, line)


def test_up_to_the_limits_all_is_read() -> None:
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert str(Nodes(deep).values()) == deep
    aliases = f"a: &a [x]\nb: [{', '.join(['*a'] * MOST_ALIASES)}]\n"
    assert Nodes(aliases).values()["b"] == [["x"]] * MOST_ALIASES
    text = "x" * LARGEST
    assert Nodes(text).values() == text


def test_values_have_their_kinds_and_texts_stay_as_written() -> None:
    assert Nodes("a: 007\nb: [yes, 1.5]\n").values() == {"a": 7, "b": [True, 1.5]}
    assert read_texts("a: 007\nb: [yes, 1.5]\n") == {"a": "007", "b": ["yes", "1.5"]}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\nc: d: e\n", 2),
        ("a: b\nc: x\x01y\n", 2),
        ('a: b\nc: "d\ne: f\n', 2),
        ("a: 1\n---\nb: 2\n", 2),
        (b"\xff\xfe\xff", 1),
        ("a: 2026-13-01\n", 0),
        ("a: !!bool perhaps\n", 0),
        ("a: !!timestamp never\n", 0),
        ("a: !!python/name:os.system\n", 1),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(text: str | bytes, line: int) -> None:
    with pytest.raises(BrokenYaml) as problem:
        Nodes(text).values()
    assert problem.value.line == line


def test_a_value_of_a_node_is_refused_with_its_line() -> None:
    nodes = Nodes("a: 1\nb: 2026-13-01\n")
    (_, first), (_, second) = nodes.top.value
    assert nodes.value_of(first) == 1
    with pytest.raises(BrokenYaml) as problem:
        nodes.value_of(second)
    assert problem.value.line == 2
