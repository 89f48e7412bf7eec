"""Beads that may not run side by side."""

from __future__ import annotations

import pytest

from ddx.tracker.bead import overlap


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["src/a.py"], ["src/a.py"], True),
        (["./src/a.py"], ["src/a.py"], True),
        (["src"], ["src/a.py"], True),
        (["src/a.py"], ["src/"], True),
        (["src/*.py"], ["src/a.py"], True),
        (["src/a*"], ["src/abc/d.py"], True),
        (["**/x.py"], ["anything"], True),
        (["src/a.py"], ["src/a.pyc"], False),
        (["src/a"], ["src/ab"], False),
        (["docs"], ["src"], False),
        (["docs/*.md"], ["src"], False),
        ([], ["src"], False),
        (["src"], [], False),
    ],
)
def test_paths_overlap_where_an_edit_could_be_both(
    ours: list[str], theirs: list[str], expected: bool
) -> None:
    assert overlap(ours, theirs) is expected
    assert overlap(theirs, ours) is expected
