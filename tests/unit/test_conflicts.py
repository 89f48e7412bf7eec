"""Which statements cannot stand side by side, and who wins (I-5)."""

# @requirement TC-502

from __future__ import annotations

from time import process_time

import pytest
from benchmarks.conflicts import (
    NOT_TUNED_ON,
    TABLES,
    Pair,
    answer_of,
    many_statements,
    read_pairs,
)
from hypothesis import example, given
from hypothesis import strategies as st

from ddx.base.values import changed
from helix.intake.conflicts.detection import (
    MOST_CONFLICTS,
    ConflictKind,
    Statement,
    classify,
    find_conflicts,
    statement_of_request,
)

TUNED = read_pairs("tuned")
FEWEST_PAIRS = 200


def statement(document: str, tier: int | None, text: str, *, section: str = "Constraints"):
    return Statement(
        document=document,
        tier=tier,
        path=f"docs/helix/{document}.md",
        line=7,
        text=text,
        section=section,
    )


ADR = statement("ADR-001", 4, "Use PostgreSQL as the database.")
TD = statement("TD-001", 6, "The database is SQLite.")


# -- the table -----------------------------------------------------------------------------


@pytest.mark.parametrize("pair", TUNED, ids=lambda pair: f"{pair.kind}: {pair.one.text}")
def test_the_labelled_pairs_are_answered_as_labelled(pair: Pair):
    assert answer_of(classify(pair.one, pair.other)) == pair.expected


@pytest.mark.parametrize("pair", TUNED, ids=lambda pair: f"{pair.kind}: {pair.one.text}")
def test_to_look_for_conflicts_finds_what_a_comparison_finds(pair: Pair):
    found = classify(pair.one, pair.other)
    assert find_conflicts((pair.one, pair.other)) == ((found,) if found else ())


def test_the_tables_are_large_and_do_not_share_a_pair():
    tables = {name: read_pairs(name) for name in TABLES}
    not_tuned_on = [pair for name in NOT_TUNED_ON for pair in tables[name]]
    assert sum(map(len, tables.values())) >= FEWEST_PAIRS
    assert len(not_tuned_on) >= len(TUNED) / 3
    texts = [frozenset((p.one.text, p.other.text)) for pairs in tables.values() for p in pairs]
    alike = len(texts) - len(set(texts))
    assert alike == len(TUNED) - len({frozenset((p.one.text, p.other.text)) for p in TUNED})


def test_conflicts_that_nobody_tuned_for_are_seen_and_few_are_imagined():
    """Floors, not aims: the figures of the day are printed by `scripts/bench conflicts`."""
    for name, seen_at_least in (("held-out", 0.9), ("unseen", 0.4)):
        pairs = read_pairs(name)
        said = [classify(pair.one, pair.other) is not None for pair in pairs]
        is_one = [pair.answer != "none" for pair in pairs]
        seen = sum(told and true for told, true in zip(said, is_one, strict=True))
        assert seen / sum(is_one) >= seen_at_least
        assert sum(said) - seen <= 1


def test_the_same_pair_stands_in_one_tier_and_in_two():
    by_texts: dict[frozenset[str], set[bool]] = {}
    for pair in TUNED:
        texts = frozenset((pair.one.text, pair.other.text))
        by_texts.setdefault(texts, set()).add(pair.one.tier == pair.other.tier)
    assert sum(len(found) == 2 for found in by_texts.values()) >= 4


# -- what a conflict says ------------------------------------------------------------------


def test_a_conflict_names_both_documents_lines_and_texts_and_the_higher_tier_first():
    found = classify(TD, ADR)
    assert found is not None
    assert (found.one, found.other) == (ADR, TD)
    assert (found.clash, found.winner) == (ConflictKind.RESOLVABLE, "ADR-001")
    assert found.reason == "technology choice: database: postgresql against sqlite"


def test_a_contradiction_in_one_tier_has_no_winner():
    ours = statement("PRD", 1, "Answers must come in under 50 ms.")
    theirs = statement("PRD-2", 1, "Answers take at least 200 ms.")
    found = classify(ours, theirs)
    assert found is not None
    assert (found.clash, found.winner) == (ConflictKind.PHYSICS, "")


@pytest.mark.parametrize(
    ("one", "other", "about"),
    [
        ("Storage must use SQLite.", "Storage must not use SQLite.", "sqlite and storage"),
        ("Responses take at most 50 ms.", "Responses take at least 200 ms.", ": responses"),
        ("Invoices must be kept for 30 days.", "Delete invoices after 10 days.", "delete and"),
    ],
)
def test_the_reason_is_told_in_words_and_not_in_stems(one, other, about):
    conflict = classify(statement("TD-001", 6, one), statement("TD-002", 6, other))
    assert conflict is not None
    assert about in conflict.reason


def test_a_document_may_repeat_itself_but_not_contradict_itself():
    rule = statement("TD-001", 6, "Users must confirm their email address.")
    assert classify(rule, changed(rule, line=9)) is None
    against = changed(rule, line=9, text="Users must not confirm their email address.")
    found = classify(rule, against)
    assert found is not None and found.clash is ConflictKind.PHYSICS


def test_what_it_is_stands_in_its_own_document_so_only_there_it_is_physics():  # I-5
    wish = statement("TD-001", 6, "It must use SQLite.")
    ban = changed(wish, line=9, text="It must not use SQLite.")
    within, between = classify(wish, ban), classify(wish, changed(ban, document="TD-002"))
    assert within is not None and within.clash is ConflictKind.PHYSICS
    assert between is not None and between.clash is ConflictKind.RESOLVABLE


def test_the_heading_that_a_statement_stands_under_says_what_it_is_about():
    orders = changed(ADR, text="Database: PostgreSQL", section="Constraints: Orders")
    catalogue = changed(TD, text="Database: MongoDB", section="Constraints: Catalogue")
    assert classify(orders, catalogue) is None
    assert classify(orders, changed(catalogue, section="Constraints: Orders")) is not None


def test_what_has_no_tier_has_less_authority_than_what_has_one():  # G-4
    found = classify(changed(ADR, tier=None), changed(TD, tier=10))
    assert found is not None and found.winner == "TD-001"


# -- requests ------------------------------------------------------------------------------


def test_what_a_request_replaces_is_no_conflict_with_it_but_one_among_documents():
    asked = statement_of_request("use postgres instead of sqlite")
    (found,) = find_conflicts((TD, ADR, asked))
    assert (found.one, found.other, found.winner) == (ADR, TD, "ADR-001")
    assert found.clash is ConflictKind.RESOLVABLE


@pytest.mark.parametrize(
    "request_text",
    [
        "use postgres instead of sqlite",
        "replace sqlite with postgres",
        "migrate from sqlite to postgres",
        "switch from SQLite to PostgreSQL, please",
        "drop sqlite",
    ],
)
def test_a_document_that_still_says_what_is_to_be_replaced_does_not_clash(request_text):
    assert classify(statement_of_request(request_text), TD) is None


def test_a_request_against_what_a_document_forbids_loses_to_it():
    ban = statement("prd", 1, "Must not use PostgreSQL.")
    found = classify(statement_of_request("use postgres instead of sqlite"), ban)
    assert found is not None
    assert (found.clash, found.winner) == (ConflictKind.RESOLVABLE, "prd")


def test_a_request_that_says_what_a_document_says_is_no_duplicate():
    rule = statement("prd", 1, "Users must confirm their email address.")
    assert classify(statement_of_request(rule.text), rule) is None


# -- properties ----------------------------------------------------------------------------

TEXTS = st.sampled_from(sorted({text for p in TUNED for text in (p.one.text, p.other.text)}))
STATEMENTS = st.builds(
    statement, st.sampled_from(("A-1", "B-1", "C-1")), st.sampled_from((None, 1, 4, 6)), TEXTS
)
ANY_TEXT = st.text(
    alphabet=st.one_of(
        st.characters(), st.sampled_from(" .,;:\"'()[]0123456789notusemsGB\x02\x03")
    ),
    max_size=80,
)


@given(STATEMENTS, STATEMENTS)
def test_the_order_of_two_statements_does_not_matter(one, other):
    assert classify(one, other) == classify(other, one)


@given(STATEMENTS)
def test_no_statement_clashes_with_itself(one):
    assert classify(one, one) is None
    assert find_conflicts((one, one)) == ()


@given(STATEMENTS, STATEMENTS)
def test_the_higher_tier_never_loses_and_physics_is_in_one_tier_only(one, other):
    found = classify(one, other)
    if found is None:
        return
    assert found.one.rank <= found.other.rank
    if found.clash is ConflictKind.PHYSICS:
        assert found.one.rank == found.other.rank and found.winner == ""
    elif found.one.rank < found.other.rank:
        assert found.winner == found.one.document


@given(TEXTS)
def test_the_same_words_in_two_documents_are_a_duplicate_or_nothing(text):
    found = classify(statement("A-1", 4, text), statement("B-1", 6, text))
    assert found is None or found.reason.startswith("duplicate specification")


@given(st.lists(STATEMENTS, max_size=6))
def test_all_that_is_found_is_a_conflict_of_two_of_them(statements):
    for found in find_conflicts(statements):
        assert found == classify(found.one, found.other)
        assert {found.one, found.other} <= set(statements)


@given(ANY_TEXT, ANY_TEXT)
@example("\x02postgresql\x03 \x02no such name\x03", "use \x02")
@example("1" * 400, "at most 1e999 " + "9" * 400)
@example("not " * 200, "from a to b " * 60)
def test_hostile_text_is_read_like_any_other(one, other):
    first, second = statement("A-1", 4, one), statement("B-1", 4, other)
    assert classify(first, second) == classify(second, first)


# -- many ----------------------------------------------------------------------------------


def test_thousands_of_statements_are_compared_in_seconds_and_the_result_is_bounded():
    statements = many_statements(1_000)
    started = process_time()
    find_conflicts(statements)
    assert process_time() - started < 3
    names = ("PostgreSQL", "SQLite", "MySQL", "MongoDB")
    rivals = [statement(f"TD-{n}", 6, f"The database is {names[n % 4]}.") for n in range(100)]
    found = find_conflicts(rivals)
    assert len(found) == MOST_CONFLICTS


def test_quotes_that_nobody_closes_are_read_in_no_time():
    statements = [statement("TD-1", 6, "\u201c\t" * 290 + str(n)) for n in range(5)]
    started = process_time()
    find_conflicts(statements)
    assert process_time() - started < 1


def test_a_sentence_in_many_documents_is_told_once_for_each_of_them():
    same = [statement(f"TD-{n:03d}", 6, "Users must confirm their address.") for n in range(50)]
    found = find_conflicts(same)
    assert [each.one.document for each in found] == ["TD-000"] * 49
