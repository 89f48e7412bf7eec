"""How hard the property tests try: a quarter in the ring for all day, in full everywhere else."""

from __future__ import annotations

import os

from hypothesis import settings

RING = "ring"

settings.register_profile(RING, settings.get_profile("default"), max_examples=25)
if os.environ.get("HELIX_TESTS") == RING:
    settings.load_profile(RING)
