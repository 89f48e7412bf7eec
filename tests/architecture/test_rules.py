"""The house rules hold in src/ as it stands; the rules are written in tests/support."""

from __future__ import annotations

from pathlib import Path

from tests.support.architecture import (
    Rule,
    cycles_and_sizes,
    ddx_layers,
    doors,
    helix_layers,
    hot_lane,
    one_place,
    purity,
    read_sources,
)
from tests.support.value_rules import long_calls, no_sentence_decides, values_by_name

SOURCES = read_sources(Path(__file__).parents[2] / "src")


def assert_holds(rule: Rule) -> None:
    found = rule(SOURCES)
    assert not found, "\n" + "\n".join(found)


def test_ddx_imports_downwards_and_never_helix():  # rule 1
    assert_holds(ddx_layers)


def test_helix_imports_downwards_and_only_what_ddx_makes_public():  # rule 2
    assert_holds(helix_layers)


def test_a_door_shows_what_other_rooms_take_and_nothing_else():  # rule 2
    assert_holds(doors)


def test_a_pure_module_touches_nothing_of_the_world():  # rule 3
    assert_holds(purity)


def test_processes_git_sql_environment_printing_and_time_have_one_home_each():  # rule 4
    assert_holds(one_place)


def test_no_import_goes_round_and_nothing_is_too_long_to_read():  # rule 5
    assert_holds(cycles_and_sizes)


def test_no_branch_hangs_on_the_words_of_our_own_messages():  # rule 5
    assert_holds(no_sentence_decides)


def test_a_value_takes_three_fields_by_place_and_the_others_by_name():  # rule 6
    assert_holds(values_by_name)


def test_long_positional_calls_only_become_fewer():  # rule 6
    found = long_calls(SOURCES)
    assert len(found) <= 18, "\n" + "\n".join(found)


def test_a_hot_command_loads_only_what_is_cheap():  # rule 7
    assert_holds(hot_lane)
