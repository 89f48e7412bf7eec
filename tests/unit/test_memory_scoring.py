"""The order of memories: the documented formula among those that may compete (M-3, D-17)."""

# @requirement TC-601

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.memory import NOW, a_memory

from helix.memory.embedders import Calibration
from helix.memory.model import MemoryEdge, Relation
from helix.memory.scoring import (
    RecallCandidate,
    Similarity,
    effectiveness_of,
    neighbours,
    rank,
    recency_of,
    score_of,
)

PLAIN = Calibration(floor=0.3, width=0.1, full=0.8, text_weight=0.2)
WEEK_AGO = "2026-02-22T12:00:00.000000Z"


def candidate(name: str, raw: float, **fields: object) -> RecallCandidate:
    return RecallCandidate(a_memory(name, **fields), Similarity(cosine=raw))


@pytest.mark.parametrize(
    ("fields", "score"),
    [
        ({}, 0.750),
        ({"helped": 0.5}, 0.900),
        ({"created_at": WEEK_AGO}, 0.650),
        ({"created_at": WEEK_AGO, "last_used": NOW}, 0.750),
        ({"helped": 1.0, "failed": 3.0}, 0.675),
    ],
)
def test_the_score_is_the_documented_formula(fields, score):  # M-3
    relevant = candidate("m", 0.3 + 0.8 * (0.8 - 0.3), **fields)
    (hit,) = rank([relevant], PLAIN, now=NOW)
    assert hit.relevance == pytest.approx(0.8)
    assert hit.score == pytest.approx(score)


def test_without_feedback_a_memory_is_neither_good_nor_bad():  # M-3
    assert effectiveness_of(0, 0) == 0.5
    assert effectiveness_of(0, 0.5) == 0.0


@pytest.mark.parametrize(
    ("last_used", "recency"),
    [("", 1.0), (WEEK_AGO, 0.5), ("2026-02-15T12:00:00Z", 0.25), ("2027-01-01T00:00:00Z", 1.0)],
)
def test_recency_halves_every_week_and_a_wrong_clock_makes_nothing_newer(last_used, recency):
    assert recency_of(a_memory(last_used=last_used), now=NOW) == pytest.approx(recency)  # M-3


def test_below_the_floor_nothing_is_returned():  # M-3
    assert rank([candidate("far", 0.29)], PLAIN, now=NOW) == ()


def test_only_what_is_close_to_the_best_competes_however_popular_it_is():  # D-17
    best = candidate("best", 0.60, created_at="2020-01-01T00:00:00Z", failed=9.0)
    popular = candidate("popular", 0.49, helped=100.0, last_used=NOW)
    close = candidate("close", 0.51)
    found = [hit.memory.name for hit in rank([popular, best, close], PLAIN, now=NOW)]
    assert found == ["close", "best"]


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.floats(0, 50), st.floats(0, 50)), min_size=1, max_size=20
    )
)
def test_hits_are_sorted_by_score_and_each_score_is_the_sum_of_its_parts(given_rows):
    rows = [candidate(f"m{n}", raw, helped=h, failed=f) for n, (raw, h, f) in enumerate(given_rows)]
    hits = rank(rows, PLAIN, now=NOW)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert hit.score == score_of(hit.relevance, hit.effectiveness, hit.recency)
        assert 0.0 <= hit.score <= 1.0
        assert hit.similarity.raw >= PLAIN.floor


# -- neighbours ----------------------------------------------------------------------------


def around(edges, known, hits):
    return neighbours(hits, edges, lambda name: known.get(name), now=NOW)


def edge(source, target, weight=1.0):
    return MemoryEdge(source, target, Relation.SOLVES, weight=weight)


def test_a_neighbour_never_stands_above_the_weakest_direct_hit():  # M-3
    hits = rank([candidate("weak", 0.31, failed=5.0)], PLAIN, now=NOW)
    star = a_memory("star", helped=100.0, last_used=NOW)
    (found,) = around([edge("weak", "star")], {"star": star}, hits)
    assert found.hop == 1
    assert found.via == "weak"
    assert found.score == hits[-1].score


def test_neighbours_reach_two_hops_in_both_directions_over_strong_edges():  # M-3
    hits = rank([candidate("a", 0.8)], PLAIN, now=NOW)
    known = {name: a_memory(name) for name in "bcde"}
    edges = [edge("b", "a"), edge("b", "c", 0.5), edge("c", "d"), edge("a", "e", 0.49)]
    found = {hit.memory.name: hit.hop for hit in around(edges, known, hits)}
    assert found == {"b": 1, "c": 2}


def test_a_ring_of_edges_brings_each_neighbour_once():  # M-3
    hits = rank([candidate("a", 0.8), candidate("b", 0.8)], PLAIN, now=NOW)
    edges = [edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("a", "a")]
    found = around(edges, {"c": a_memory("c")}, hits)
    assert [hit.memory.name for hit in found] == ["c"]


def test_without_a_direct_hit_there_is_no_neighbour():  # M-3
    assert around([edge("a", "b")], {"b": a_memory("b")}, ()) == ()
