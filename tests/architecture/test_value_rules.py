"""The rules about values catch what they forbid, and mypy checks what `changed` is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mypy import api
from tests.support.value_rules import long_calls, no_sentence_decides, values_by_name

WIDE = "@value\nclass Wide:\n    a: int\n    b: int\n    c: int\n    d: int\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("from ddx.m import Wide\nWide(1, 2, 3, 4)", "4 fields by place"),
        ("from ddx.m import Wide as W\nW(1, 2, 3, 4)", "4 fields by place"),
        ("from ddx import Wide\nWide(1, 2, 3, 4)", "4 fields by place"),
        ("import ddx.m\nddx.m.Wide(1, 2, 3, 4)", "4 fields by place"),
        ("from ddx.m import Wide\nWide(*row)", "a star"),
        ("match it:\n    case Wide(1, 2, 3, 4):\n        pass", "4 fields by place"),
    ],
)
def test_rule_6_catches_a_fourth_field_without_its_name(source, said):
    (found,) = values_by_name({"ddx.m": WIDE, "ddx.n": source})
    assert found.startswith("src/ddx/n.py:")
    assert said in found


@pytest.mark.parametrize(
    "source",
    [
        "from ddx.m import Wide\nWide(1, 2, 3, d=4)",
        "from ddx.m import Wide\nWide(**row)",
        "class Wide: ...\nWide(1, 2, 3, 4)",
        "match it:\n    case Wide(1, 2, 3, d=4):\n        pass",
        "@value\nclass Small:\n    a: int\n    b: int\nSmall(*pair)",
    ],
)
def test_rule_6_allows_three_places_and_classes_that_are_no_values(source):
    assert values_by_name({"ddx.m": WIDE, "ddx.n": source}) == []


def test_a_call_is_long_from_six_positional_arguments_on():
    assert long_calls({"ddx.m": "f(1, 2, 3, 4, 5)\nf(1, 2, 3, d=4, e=5, g=6)"}) == []
    assert long_calls({"ddx.m": "f(1, 2, 3, 4, 5, 6)"}) == ["src/ddx/m.py:1 f gets 6 arguments"]


@pytest.mark.parametrize(
    "source",
    [
        "if 'was not filed' in problem.message: ...",
        "if word not in outcome.reason: ...",
        "if found.reason == 'no document': ...",
        "if NO_DOCUMENT != found.why: ...",
        "if found.note.startswith(GONE): ...",
        "if 'gone' in found.note.lower(): ...",
        "if found.reason in ('late', 'early'): ...",
        "match found:\n    case Failed(reason='late'):\n        pass",
    ],
)
def test_rule_5_catches_a_branch_on_our_own_words(source):
    (found,) = no_sentence_decides({"ddx.m": source})
    assert "asks a sentence" in found


@pytest.mark.parametrize(
    "source",
    [
        "if found.reason == '': ...",
        "if not found.reason: ...",
        "if found.reason is Reason.LATE: ...",
        "if found.reason == Reason.LATE: ...",
        "if found.kind == 'late': ...",
        "match found:\n    case Failed(reason=why):\n        pass",
        "said = found.reason.strip()",
    ],
)
def test_rule_5_allows_enums_kinds_and_whether_there_is_a_word(source):
    assert no_sentence_decides({"ddx.m": source}) == []


def test_mypy_checks_names_and_types_of_what_is_changed(tmp_path, monkeypatch):  # rule 6
    monkeypatch.setenv("MYPYPATH", str(Path(__file__).parents[2] / "src"))
    sample = tmp_path / "sample.py"
    sample.write_text(
        "from ddx.base.values import changed, value\n"
        "@value\n"
        "class Point:\n"
        "    x: int\n"
        "point: Point = changed(Point(1), x=2)\n"
        "changed(point, x='far')\n"
        "changed(point, y=2)\n"
    )
    limit = sys.getrecursionlimit()
    said, _, _ = api.run(["--strict", "--config-file=", "--no-incremental", str(sample)])
    sys.setrecursionlimit(limit)  # mypy raises it for the whole process
    wrong_type, wrong_name, total = said.splitlines()
    assert "sample.py:6:" in wrong_type and "[arg-type]" in wrong_type
    assert "sample.py:7:" in wrong_name and "[call-arg]" in wrong_name
    assert total.startswith("Found 2 errors")
