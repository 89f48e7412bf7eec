"""Which attempts there were, in the order in which they began (X-2)."""

from __future__ import annotations

import os
from pathlib import Path

from ddx.execution.record import attempts, records
from ddx.project import Project


def test_attempts_of_one_second_are_told_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    names = ["20260102T030405-ffffff", "20260102T030405-aaaaaa", "20260102T030406-cccccc"]
    for number, name in enumerate(names):
        intent = tmp_path / ".ddx/executions" / name / "intent.json"
        intent.parent.mkdir(parents=True)
        intent.write_text("{}")
        os.utime(intent, ns=(number, number))
    project = Project(str(tmp_path))
    assert attempts(project) == names
    assert [kept.attempt for kept in records(project)] == names[::-1]
