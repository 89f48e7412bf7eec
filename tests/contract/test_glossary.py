"""docs/glossary.md maps its words to classes that exist, each of them once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| [^|]+ \| (`[^|]+) \| [^|]* \|$", re.MULTILINE)


def named_classes() -> list[str]:
    _, _, table = PAGE.partition("\n## Words of the code\n")
    return [name for row in ROW.findall(table) for name in re.findall(r"`(\w+)`", row)]


def defined_classes() -> Counter[str]:
    """Every class below src by its name; the files are only read."""
    return Counter(
        node.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )


def test_every_class_of_the_glossary_exists_once():
    defined = defined_classes()
    named = named_classes()
    assert len(named) > 50
    assert {name: defined[name] for name in named if defined[name] != 1} == {}
    assert [name for name, count in Counter(named).items() if count > 1] == []


def test_no_word_stands_in_the_glossary_twice_in_one_table():
    for table in PAGE.split("\n## ")[1:]:
        words = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)
        assert [word for word, count in Counter(words).items() if count > 1] == []
