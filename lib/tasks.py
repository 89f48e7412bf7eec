"""A builder's task before and after: `python3 lib/tasks.py parse-output|detect-cycles` (O-8)."""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.realpath(__file__ + "/../.."))
    from lib import become

    become("task", sys.argv[1:], verbatim=("parse-output", "detect-cycles", "extract-mapping"))

from helix.objective import (
    build_context,
    build_lineage,
    close_feedback_loop_verified,
    detect_cycles,
    extract_mapping,
    parse_output,
)
from lib.memory.core import feedback as close_feedback_loop

__all__ = [
    "build_context",
    "build_lineage",
    "close_feedback_loop",
    "close_feedback_loop_verified",
    "detect_cycles",
    "extract_mapping",
    "parse_output",
]
