"""The numbers of the house only fall: each one is exactly its limit in `house.json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.architecture import read_sources
from tests.support.house import LIMITS, House, Measure, judge, lowered, measure, render

SOURCES = read_sources(Path(__file__).parents[2] / "src")


def counted(name: str, sources: dict[str, str]) -> Measure:
    [found] = [each for each in measure(sources).measures if each.name == name]
    return found


def house(**numbers: int) -> House:
    measures = (Measure(name, number, ("a place",)) for name, number in numbers.items())
    return House(files=1, lines=1, public_classes=1, measures=tuple(measures))


def test_the_numbers_of_the_house_only_fall():
    found = judge(measure(SOURCES), json.loads(LIMITS.read_text()))
    assert not found, "\n" + "\n".join(found)


# --- the ratchet --------------------------------------------------------------------------------


def test_a_number_above_its_limit_fails_with_its_places():
    assert judge(house(doors=3), {"doors": 2}) == ["doors is 3, at most 2:\n  a place"]


def test_a_number_below_its_limit_asks_for_the_lower_limit():
    [found] = judge(house(doors=1), {"doors": 2})
    assert found.startswith("doors fell from 2 to 1; lower the limit")


def test_a_number_at_its_limit_passes():
    assert judge(house(doors=2), {"doors": 2}) == []


def test_a_measure_without_a_limit_and_a_limit_without_a_measure_fail():
    assert judge(house(doors=2), {"windows": 1}) == [
        "windows: the limit names no measure",
        "doors is 2 and has no limit",
    ]


def test_lowering_never_raises_a_limit():
    assert lowered(house(doors=3, calls=1, new=4), {"doors": 2, "calls": 2, "old": 1}) == {
        "doors": 2,
        "calls": 1,
        "new": 4,
    }


# --- the measures -------------------------------------------------------------------------------


def test_files_lines_and_classes_are_counted():
    found = measure({"ddx.a": "class A:\n    class B: ...\n", "ddx.b": "x = 1\n"})
    assert (found.files, found.lines, found.public_classes) == (2, 3, 1)
    assert "lines                           3\n" in render(found, {})


def test_a_class_that_shares_its_name_is_counted_with_every_namesake():
    found = counted(
        "shared_class_names",
        {
            "ddx.a": "class Plan: ...\nclass Alone: ...\nclass _Own: ...\n",
            "ddx.b": "if True:\n    class Plan: ...\nclass _Own: ...\n",
            "helix.c": "def f():\n    class Plan: ...\n",
        },
    )
    assert found == Measure("shared_class_names", 2, ("Plan: ddx.a, ddx.b",))


DDX = {
    "ddx.__init__": "",
    "ddx.base.__init__": "",
    "ddx.base.errors": "",
    "ddx.base.json": "",
    "ddx.tracker.__init__": "",
    "ddx.tracker.row": "",
}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from ddx.base.errors import Refused\n", ["ddx.base.errors.Refused"]),
        ("from ddx.base.errors import Refused as R\nimport os\n", ["ddx.base.errors.Refused"]),
        ("def f():\n    from ddx.base.errors import Refused\n", ["ddx.base.errors.Refused"]),
        (
            "if TYPE_CHECKING:\n    from ddx.tracker.row import Row\n",
            ["ddx.tracker.row.Row"],
        ),
        (
            "from ddx.base import json\nx = json.loads(json.dumps(1).encode())\n",
            ["ddx.base.json.dumps", "ddx.base.json.loads"],
        ),
        ("import ddx.base.json\nx = ddx.base.json.loads('')\n", ["ddx.base.json.loads"]),
        ("import ddx.base.json as j\nx = j.loads('')\n", ["ddx.base.json.loads"]),
        ("from ddx.tracker import row\ndef f(each: row.Row): ...\n", ["ddx.tracker.row.Row"]),
        ("from ddx import tracker\nx = tracker.row.Row\n", ["ddx.tracker.row.Row"]),
        ("from ddx.tracker import Tracker\n", ["ddx.tracker.Tracker"]),
        ("from ddx import __version__\n", ["ddx.__version__"]),
        ("from helix.b import f\nx = 'from ddx.base.errors import Refused'\n", []),
    ],
)
def test_a_name_that_crosses_from_ddx_to_helix_is_counted_once(source, names):
    tree = {
        **DDX,
        "helix.a": source,
        "helix.b": source,
        "ddx.c": "from ddx.base.errors import Own\n",
    }
    assert list(counted("names_from_ddx_to_helix", tree).places) == names
    doors = {name.rpartition(".")[0] for name in names}
    assert counted("doors_from_ddx_to_helix", tree).number == len(doors)


@pytest.mark.parametrize(
    ("module", "source", "is_past"),
    [
        ("helix.a", "from ddx.tracker.row import Row\n", True),
        ("helix.a", "from ddx.tracker import row\n", True),
        ("ddx.base.errors", "import ddx.tracker.row\n", True),
        ("ddx.git.run", "if TYPE_CHECKING:\n    from ddx.tracker.row import Row\n", True),
        ("helix.a", "from ddx.tracker import Tracker\n", False),
        ("helix.a", "from ddx.base import Refused\n", False),
        ("ddx.tracker.tracker", "from ddx.tracker.row import Row\n", False),
        ("ddx.tracker.__init__", "from ddx.tracker.row import Row\n", False),
    ],
)
def test_an_import_past_a_door_is_counted(module, source, is_past):
    places = counted("imports_past_doors", {**DDX, "ddx.git.__init__": "", module: source}).places
    assert list(places) == ([f"{module} -> ddx.tracker.row"] if is_past else [])


def test_a_call_with_six_positional_arguments_is_counted():
    source = "f(1, 2, 3, 4, 5, 6)\ng(1, 2, 3, 4, 5, f=6)\nh.i(*a, 2, 3, 4, 5, 6)\n"
    assert counted("calls_with_6_positional", {"ddx.a": source}).places == (
        "src/ddx/a.py:1 f with 6",
        "src/ddx/a.py:3 i with 6",
    )


def test_a_value_with_five_positional_arguments_is_counted():
    tree = {
        "ddx.a": "@value\nclass Five: ...\n@dataclass\nclass Other: ...\n",
        "helix.b": "Five(1, 2, 3, 4, 5)\nFive(1, 2, 3, 4, e=5)\nOther(1, 2, 3, 4, 5)\n",
    }
    found = counted("values_with_5_positional", tree)
    assert found.places == ("src/helix/b.py:1 Five with 5",)


def test_the_longest_module_and_function_are_named():
    tree = {"ddx.a": "def f():\n    x = 1\n    y = 2\n", "ddx.b": "async def g():\n    x = 1\n"}
    module, function = (counted(f"longest_{what}", tree) for what in ("module", "function"))
    assert (module.number, module.places[0]) == (3, "src/ddx/a.py: 3 lines")
    assert (function.number, function.places[0]) == (3, "src/ddx/a.py:1 f: 3 lines")
