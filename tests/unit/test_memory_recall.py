"""Recall: what fits a question, by words and by meaning, and nothing else (M-3, M-4)."""

# @spec-ref TD-003

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.memory import OFF, Bench, WordEmbedder

from ddx.base.errors import UsageError
from helix.memory.credits import credit
from helix.memory.embedders import EmbedderFailed, NoEmbedder
from helix.memory.recall import Recall, RecallQuery
from helix.memory.rows import connected, question_terms, relate

HOSTILE = [
    'login" OR "1',
    "login AND NOT test",
    "login* NEAR(test, 2)",
    "trigger : login",
    "-login ^login {login}",
    '"',
    "'; DROP TABLE memory; --",
    "login\0test",
    "(((((",
    "login " * 5_000,
    "\u202elogin",
    "OR OR OR",
    "memory_text",
    "% _ \\ [a-z]*",
]


def names(bench: Bench, text: str, embedder: Any = OFF, **asked: Any) -> list[str]:
    recalled = Recall(bench.store, embedder).ask(RecallQuery(text, **asked), now=bench.now)
    return [hit.memory.name for hit in recalled.hits]


@pytest.fixture
def garden(tmp_path):
    with Bench(tmp_path) as bench:
        bench.keep("the old cat hides below the sofa", "Call it")
        bench.keep("login test fails after midnight", "Freeze the clock")
        bench.keep("database migration locks the orders table", "Run it in batches", "pattern")
        yield bench


def test_without_an_embedder_recall_goes_by_words_and_says_so(garden):  # M-4
    missing = NoEmbedder("the model is damaged")
    recalled = Recall(garden.store, missing).ask(RecallQuery("failing logins"), now=garden.now)
    assert [hit.memory.name for hit in recalled.hits] == ["login-test-fails-after-midnight"]
    assert recalled.note == "the model is damaged"
    assert recalled.embedder == ""


def test_an_embedder_that_fails_costs_meaning_and_not_the_answer(garden):  # M-4
    class Broken(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            raise EmbedderFailed("no answer in 5 s")

    recalled = Recall(garden.store, Broken()).ask(RecallQuery("failing logins"), now=garden.now)
    assert [hit.memory.name for hit in recalled.hits] == ["login-test-fails-after-midnight"]
    assert recalled.note == "no answer in 5 s"


def test_words_are_stemmed_and_stop_words_say_nothing(garden):  # M-3
    assert names(garden, "migrating the databases") == ["database-migration-locks-the-orders-table"]
    assert names(garden, "after the below") == []


def test_a_single_memory_is_found_by_its_words(tmp_path):  # M-4: bm25 is 0 among so few
    with Bench(tmp_path) as bench:
        name = bench.keep("login test fails after midnight")
        assert names(bench, "the login test fails") == [name]


def test_meaning_finds_what_shares_no_word(garden):  # M-3
    assert names(garden, "my dog", WordEmbedder()) == []
    found = names(garden, "old dog below sofa", WordEmbedder())
    assert found == ["the-old-cat-hides-below-the-sofa"]


def test_an_unrelated_question_gets_nothing(garden):  # M-3
    assert names(garden, "paint the fence green") == []
    assert names(garden, "paint a fence green", WordEmbedder()) == []


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("embedder", [OFF, WordEmbedder()], ids=["words", "meaning"])
def test_a_question_is_never_read_as_syntax(garden, text, embedder):
    before = garden.names()
    assert set(names(garden, text, embedder)) <= set(before)
    assert garden.names() == before


def test_joined_words_are_taken_apart_and_long_questions_are_cut():
    assert question_terms("fix rate-limit in src/api_client.py") == (
        *("fix", "rate", "limit", "src", "api", "client", "py"),
    )
    assert len(question_terms(" ".join(f"word{n}" for n in range(500)))) == 24


def test_recall_never_changes_when_a_memory_was_last_used(garden):  # M-3a
    garden.clock.advance(3600)
    assert names(garden, "login test fails", WordEmbedder())
    assert garden.memory("login-test-fails-after-midnight").last_used == ""


def test_type_limit_and_least_effectiveness_narrow_the_answer(garden):  # M-3
    garden.keep("login test fails after the upgrade", "Clear the cache")
    both = names(garden, "login test fails after")
    assert len(both) == 2
    assert names(garden, "login test fails after", limit=1) == both[:1]
    assert names(garden, "login test fails", type="pattern") == []
    credit(garden.store, "b", [both[0]], passed=False, now=garden.now)
    assert names(garden, "login test fails after", min_effectiveness=0.3) == both[1:]


@pytest.mark.parametrize(
    ("text", "type", "limit"),
    [("", "", 5), ("  \n", "", 5), ("login", "systemic", 5), ("login", "", 0)],
)
def test_a_question_that_cannot_be_answered_is_the_askers_mistake(garden, text, type, limit):
    with pytest.raises(UsageError):
        names(garden, text, type=type, limit=limit)


def test_a_memory_that_names_the_file_counts_more(tmp_path):  # M-3
    with Bench(tmp_path) as bench:
        bench.keep("the import fails at night", "Look at src/load.py")
        bench.keep("the import fails at dawn", "Look at src/save.py")
        asked = RecallQuery("the import fails", files=("src/save.py",))
        hits = Recall(bench.store, OFF).ask(asked, now=bench.now).hits
    assert next(hit.memory.name for hit in hits) == "the-import-fails-at-dawn"
    assert hits[0].similarity.files == 0.1
    assert [hit.similarity.files for hit in hits[1:]] == [0.0] * len(hits[1:])


def test_what_others_store_meanwhile_is_found(garden):  # M-4
    embedder = WordEmbedder()
    recall = Recall(garden.store, embedder)
    asked = RecallQuery("a rose has thorns")
    assert recall.ask(asked, now=garden.now).hits == ()
    with Bench(Path(garden.path).parent) as other:
        other.keep("every rose has thorns and smells")
    assert [hit.memory.name for hit in recall.ask(asked, now=garden.now).hits] == [
        "every-rose-has-thorns-and-smells"
    ]


def test_neighbours_join_below_direct_hits_where_there_is_room(garden):  # M-3
    cat, login, lock = garden.names()
    relate(garden.store, login, lock, "causes", now=garden.now)
    relate(garden.store, lock, cat, "co_occurs", now=garden.now)
    credit(garden.store, "b", [lock], passed=True, now=garden.now)
    hits = Recall(garden.store, OFF).ask(RecallQuery("login test fails"), now=garden.now).hits
    assert [(hit.memory.name, hit.hop, hit.via) for hit in hits] == [
        (login, 0, ""),
        (lock, 1, login),
        (cat, 2, lock),
    ]
    assert all(hit.score <= hits[0].score for hit in hits)
    assert names(garden, "login test fails", limit=1) == [login]
    assert names(garden, "login test fails", type="failure") == [login, cat]


def test_connected_memories_are_listed_once_and_the_nearest_first(garden):  # M-7
    cat, login, lock = garden.names()
    relate(garden.store, login, lock, "causes", now=garden.now)
    relate(garden.store, lock, cat, "solves", now=garden.now)
    relate(garden.store, cat, login, "similar", now=garden.now)
    assert not relate(garden.store, login, lock, "causes", now=garden.now)
    found = [
        (near.memory.name, near.hop, near.via) for near in connected(garden.store, login, hops=2)
    ]
    assert found == [(lock, 1, login), (cat, 1, login)]
