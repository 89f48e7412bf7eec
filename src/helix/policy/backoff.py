"""How long a bead rests after an attempt that failed (D-7). Pure."""

from __future__ import annotations

FIRST_S = 5.0
LONGEST_S = 40.0


def delay_s(failed: int) -> float:
    """After the n-th failed attempt: 5, 10, 20, 40 and never more."""
    if failed < 1:
        raise ValueError(f"no attempt has failed yet: {failed}")
    return min(FIRST_S * 2.0 ** min(failed - 1, 10), LONGEST_S)
