"""`helix task feedback-verify`"""

from __future__ import annotations

from ddx.values import changed
from helix.cli.memory import feedback_verify

COMMAND = changed(
    feedback_verify.COMMAND,
    path="task feedback-verify",
    example="helix task feedback-verify --task-id app-1 --verify-passed true "
    "--injected '[\"a-name\"]'",
)
"""The same as `helix memory feedback-verify`, by the name that builders know."""
