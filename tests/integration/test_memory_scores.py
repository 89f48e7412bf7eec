"""The scores that were promised, as `helix memory recall --explain` shows them (M-3, D-17)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.front_door import Person

WORDS = "kestrel marmot walrus gannet bittern dunlin curlew whimbrel"
QUESTION = f"{WORDS} heron ibis stork"
"""Eight words that both memories hold, three that nobody knows: relevance 0.8, by words alone."""


@pytest.mark.parametrize(
    ("helped", "failed", "idle_days", "score"),
    [(0, 0, 0, 0.750), (0.5, 0, 0, 0.900), (0, 0, 7, 0.650), (1, 3, 0, 0.675)],
)
def test_relevance_of_four_fifths_scores_as_promised(  # M-3
    tmp_path: Path, helped: float, failed: float, idle_days: int, score: float
) -> None:
    ada = Person(tmp_path)
    ada.begins_a_repository()
    ada.helix("init")
    (ada.root / ".helix/config.yaml").write_text("memory: {embedder: off}\n")
    used = (datetime.now(UTC) - timedelta(days=idle_days)).isoformat().replace("+00:00", "Z")
    rows = [
        {
            "type": kind,
            "trigger": WORDS,
            "resolution": "Look twice.",
            "helped": helped,
            "failed": failed,
            "created_at": used,
        }
        for kind in ("failure", "pattern")
    ]
    (ada.root / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ada.helix("memory", "import", "rows.jsonl")
    shown = ada.helix("memory", "recall", QUESTION, "--explain")
    assert "relevance 0.800" in shown
    hits = json.loads(ada.helix("memory", "recall", QUESTION, "--explain", "--json"))
    assert [round(hit["score"], 3) for hit in hits] == [score, score]
    assert shown.startswith(f"{score:.3f}  ")
