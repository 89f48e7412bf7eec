"""`helix plan`: `helix design` by its older name."""

from __future__ import annotations

from ddx.values import changed
from helix.cli import design

COMMAND = changed(
    design.COMMAND,
    path="plan",
    summary="Another name for `helix design`.",
    example="helix plan --rounds 3 FEAT-003",
)
