"""What a sentence asks for (I-2, I-11)."""

from __future__ import annotations

import pytest

from ddx.base.errors import UsageError
from helix.intake.questions import ask_intent
from helix.intake.request import LONGEST_REQUEST, RequestIntent, parse_request

NEW, CHANGE, DEFECT = RequestIntent.NEW_CAPABILITY, RequestIntent.CHANGE, RequestIntent.DEFECT
REPLACE, QUESTION = RequestIntent.REPLACE_TECHNOLOGY, RequestIntent.QUESTION


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("design a CRM with lead capture", NEW),
        ("Add a price list", NEW),
        ("Could you add a cart?", NEW),
        ("We need to be able to export invoices", NEW),
        ("show an error when the card has expired", NEW),
        ("store orders in MongoDB", NEW),
        ("change US-001 acceptance criteria", CHANGE),
        ("please remove the fax number", CHANGE),
        ("make search faster", CHANGE),
        ("Move the header to the left", CHANGE),
        ("use postgres instead of sqlite", REPLACE),
        ("replace redis with memcached", REPLACE),
        ("Let's migrate to Kubernetes", REPLACE),
        ("the login button is broken", DEFECT),
        ("fix the crash on empty carts", DEFECT),
        ("Checkout doesn't add up", DEFECT),
        ("why is login slow?", QUESTION),
        ("Is the price list public", QUESTION),
        ("Which bank, and since when?", QUESTION),
    ],
)
def test_a_sentence_has_one_intent(text, intent):  # I-2
    wish = parse_request(text)
    assert (wish.intent, wish.is_guess) == (intent, False)


def test_a_sentence_without_a_telling_word_is_a_guess_and_says_so():  # I-2, I-4
    wish = parse_request("login throttling")
    assert (wish.intent, wish.is_guess) == (NEW, True)


@pytest.mark.parametrize(
    "text",
    [
        "benutze Postgres statt SQLite, und zwar für alle Nutzer",
        "will eine Preisliste",
        "Die Liste ist leer, wenn man sie neu lädt",
        "ajoute une liste des prix pour les clients",
        "use postgres em vez de sqlite",
        "añade una lista para los clientes",
        "voeg een lijst van prijzen toe",
        "Добавь список цен",
        "価格表を追加して",
    ],
)
def test_a_sentence_in_another_language_is_a_guess_whatever_its_words_look_like(text):  # I-2, I-4
    wish = parse_request(text)
    assert (wish.intent, wish.is_guess, wish.is_foreign) == (NEW, True, True)
    assert "English" in ask_intent(wish).why


@pytest.mark.parametrize("text", ["was kostet das?", "価格表はどこですか？", "où est la liste?"])
def test_a_question_mark_means_the_same_everywhere(text):  # I-2
    assert parse_request(text).intent is QUESTION


@pytest.mark.parametrize(
    "text",
    [
        "rename the column de to german",
        "add El Paso to the list of cities",
        "support UTF-8 names such as 東京 in the search",
        "login throttling",
        "use postgres instead of sqlite",
        "translate the page La Carte",
        "fix naïve café résumé parsing",
        "cache La Liga scores",
        "disable DES",
        "hide de-duplicated rows",
        "2024",
    ],
)
def test_foreign_names_do_not_make_a_sentence_foreign(text):
    assert not parse_request(text).is_foreign


def test_terms_are_what_it_is_about_and_at_most_twenty():  # I-2
    assert parse_request("please use postgres instead of sqlite").terms == ("postgres", "sqlite")
    assert len(parse_request(" ".join(f"word{n}" for n in range(50))).terms) == 20


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("use postgres instead of sqlite", ("sqlite",)),
        ("replace the redis cache with memcached", ("redis", "cache")),
        ("migrate from MySQL to postgres", ("MySQL",)),
        ("switch to Rust", ()),
    ],
)
def test_of_another_technology_the_old_one_is_known(text, old):  # I-2
    assert parse_request(text).replaced == old


def test_sentences_that_a_person_reads_as_the_same_have_the_same_key():  # I-6
    key = parse_request("change US-001 acceptance criteria").key
    assert parse_request("  Change  us-001 acceptance criteria! ").key == key
    assert parse_request("change US-002 acceptance criteria").key != key


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("design a CRM with lead capture", "CRM with lead capture"),
        ("please add the price list.", "Price list"),
        ("login throttling", "Login throttling"),
        ("add", "Add"),
    ],
)
def test_a_title_leaves_out_the_words_that_ask(text, subject):  # I-8
    assert parse_request(text).subject == subject


@pytest.mark.parametrize("text", ["", "   ", "?!", "a" * (LONGEST_REQUEST + 1), "do\x1b[2J it"])
def test_what_cannot_be_a_request_is_wrong_usage(text):  # I-11, T-23
    with pytest.raises(UsageError):
        parse_request(text)


def test_a_hostile_sentence_is_read_in_no_time():  # T-23
    for word in ("replace ", "migrate from ", "use ", "we want to ", "instead "):
        parse_request((word * 1000)[:LONGEST_REQUEST])
