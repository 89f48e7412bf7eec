"""The tracker and the settings that govern an attempt are out of its reach (X-9)."""

from __future__ import annotations

import pytest

from ddx.attempts.commit import reserve


@pytest.mark.parametrize(
    "path",
    [
        *(".ddx", ".helix", ".ddx/beads.jsonl", ".ddx/config.yaml", ".ddx/checks/a.yaml"),
        *(".helix/config.yaml", ".helix/memory/x.yaml", ".ddx/metrics/a.yaml"),
    ],
)
def test_what_governs_an_attempt_does_not_land_from_it(path):
    for named in ((), (".",), ("src",), (".ddx",), (".helix",), (".helix/",), ("",)):
        assert not reserve("", named).may_land(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "ddx/x", ".ddxx/a", "docs/.ddx/a", "tests/fixtures/.helix/config.yaml"]
)
def test_everything_else_lands(path):
    assert reserve("", ()).may_land(path)
    assert reserve("part/", ()).may_land(path)


@pytest.mark.parametrize(
    ("named", "path", "lands"),
    [
        (".ddx/checks", ".ddx/checks/a.yaml", True),
        ("./.ddx/checks/", ".ddx/checks/deep/a.yaml", True),
        (".ddx/checks/a.yaml", ".ddx/checks/a.yaml", True),
        (".ddx/checks/a.yaml", ".ddx/checks/b.yaml", False),
        (".ddx/checks", ".ddx/checks-not", False),
        (".ddx/config.yaml", ".ddx/config.yaml", True),
        (".helix/config.yaml", ".helix/config.yaml", True),
        (".helix/slider-config.yaml", ".helix/slider-config.yaml", True),
        (".helix/memory/a.yaml", ".helix/memory/a.yaml", False),
        (".ddx/beads.jsonl", ".ddx/beads.jsonl", False),
        (".ddx/state/x", ".ddx/state/x", False),
    ],
)
def test_checks_and_settings_land_only_by_their_own_names(named, path, lands):
    assert reserve("", (named,)).may_land(path) is lands


def test_a_project_below_the_top_guards_both():
    guard = reserve("part/", (".ddx/checks",))
    assert guard.may_land("part/.ddx/checks/a.yaml")
    assert not guard.may_land("part/.ddx/beads.jsonl")
    assert not guard.may_land(".ddx/checks/a.yaml")
    assert not guard.may_land(".ddx/beads.jsonl")
    assert guard.may_land("other/.ddx/beads.jsonl")
