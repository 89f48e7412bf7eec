"""Which git this is."""

from __future__ import annotations

from ddx.git import ask

OLDEST = (2, 38)
"""The first that merges without a checkout (X-13)."""


def version(folder: str) -> tuple[int, ...]:
    """Its numbers; none where there is no git."""
    words = ask(folder, "version").split()
    parts = words[2].split(".") if len(words) > 2 else []
    numbers = []
    for part in parts:
        if not part.isdigit():  # 2.39.5.windows.1, 2.45.GIT
            break
        numbers.append(int(part))
    return tuple(numbers)
