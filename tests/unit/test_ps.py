"""What `ps` says of processes, where there is no /proc: as macOS prints it."""

from __future__ import annotations

import pytest

from ddx.agents.process_tree import marked_in, seconds_in, tree_in

LISTING = """\
    1     0   0:09.41 Mon Nov 16 08:00:01 2026
  501     1   0:00.25 Mon Nov 16 09:30:00 2026
  502   501  12:01.50 Mon Nov 16 09:30:01 2026
  503   502   0:00.01 Mon Nov 16 09:30:02 2026
  900     1   1:00.00 Mon Nov 16 09:31:00 2026
"""


def test_a_tree_is_a_process_and_all_below_it():
    assert tree_in(LISTING, 501) == {
        (501, "Mon Nov 16 09:30:00 2026"): 0.25,
        (502, "Mon Nov 16 09:30:01 2026"): 721.5,
        (503, "Mon Nov 16 09:30:02 2026"): 0.01,
    }
    assert tree_in(LISTING, 77) == tree_in("", 501) == {}


def test_the_first_process_is_below_itself_only_once():
    assert tree_in("0 0 0:00.00 Mon Nov 16 08:00:01 2026\n", 0) == {
        (0, "Mon Nov 16 08:00:01 2026"): 0.0
    }


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("0:01.25", 1.25), ("123:45.67", 7425.67), ("00:01:01", 61), ("2-03:04:05", 183_845)],
)
def test_times_are_read_as_each_system_writes_them(time, seconds):
    assert seconds_in(time) == pytest.approx(seconds)


def test_a_marker_stands_behind_the_arguments():
    bare = " 7 sleep 60\n 8 grep DDX_ATTEMPT_ID=a1\n 9 sleep 60\n10 (sh)\n11 sh\n"
    full = (
        " 7 sleep 60 PATH=/bin DDX_ATTEMPT_ID=a1 HOME=/\n"
        " 8 grep DDX_ATTEMPT_ID=a1 PATH=/bin\n"
        " 9 sleep 60 DDX_ATTEMPT_ID=a12 X_DDX_ATTEMPT_ID=a1\n"
        "10 (sh)\n"
        "11 node DDX_ATTEMPT_ID=a1\n"
        "12 sleep 60 DDX_ATTEMPT_ID=a1\n"
    )
    assert marked_in(bare, full, "DDX_ATTEMPT_ID=a1") == [7]
