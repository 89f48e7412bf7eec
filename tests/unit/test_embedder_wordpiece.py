"""Text as word pieces: the ids were taken from the tokenizer that the model came with (M-5)."""

from __future__ import annotations

import os

import pytest

from helix.memory.embedders import EmbedderFailed, minilm
from helix.memory.embedders.minilm.wordpiece import BEGIN, END, UNKNOWN, WordPieces, words_of

VOCABULARY = os.path.join(os.path.dirname(minilm.__file__), minilm.VOCABULARY)
CLS, SEP, UNK = 101, 102, 100


@pytest.fixture(scope="module")
def pieces() -> WordPieces:
    with open(VOCABULARY, encoding="utf-8", newline="\n") as file:
        return WordPieces(file.read().removesuffix("\n").split("\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Héllo WÖRLD", ["hello", "world"]),
        ("naïve\u0301 cafe\u0301", ["naive", "cafe"]),
        ("can't stop-it", ["can", "'", "t", "stop", "-", "it"]),
        ("a_b=c$d", ["a", "_", "b", "=", "c", "$", "d"]),
        ("«où?»…", ["«", "ou", "?", "»", "…"]),
        ("东京 tower东", ["东", "京", "tower", "东"]),
        ("\u3053\u3093", ["\u3053\u3093"]),
        ("tab\tline\nreturn\rend", ["tab", "line", "return", "end"]),
        ("bell\x07 zero\x00width\u200b\ufeff \ufffd", ["bell", "zerowidth"]),
        ("no\u00a0break\u2028line\u3000wide", ["no", "break", "line", "wide"]),
        ("ΟΔΥΣΣΕΥΣ", ["οδυσσευσ"]),
        ("İstanbul", ["istanbul"]),
        ("half \ud800 a pair", ["half", "a", "pair"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_words_are_lower_case_without_accents_and_marks_stand_alone(text, words):  # M-5
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("This is an example sentence", [2023, 2003, 2019, 2742, 6251]),
        ("unaffordable", [14477, 4246, 8551, 3085]),
        ("pytest", [1052, 17250, 3367]),
        ("🙂", [UNK]),
        ("检索", [100, 100]),
        ("", []),
    ],
)
def test_a_word_is_taken_apart_from_its_longest_known_beginning(pieces, text, ids):  # M-5
    assert pieces.tokens(text, most=256) == [CLS, *ids, SEP]


def test_a_word_of_more_than_a_hundred_letters_is_unknown(pieces):  # M-5
    assert pieces.tokens("a" * 100, most=256)[1:-1] != [UNK]
    assert pieces.tokens("a" * 101, most=256) == [CLS, UNK, SEP]


def test_begin_and_end_stay_when_a_text_is_cut(pieces):  # M-5
    found = pieces.tokens("word " * 400, most=256)
    assert len(found) == 256
    assert (found[0], found[-1]) == (CLS, SEP)
    assert pieces.tokens("unaffordable things", most=4) == [CLS, 14477, 4246, SEP]


def test_a_text_cannot_speak_as_the_model_does(pieces):  # M-5, X-24
    assert pieces.tokens("a [SEP] [CLS] b", most=256).count(SEP) == 1
    assert pieces.tokens("a [SEP] [CLS] b", most=256).count(CLS) == 1


def test_a_huge_text_costs_no_more_than_what_is_looked_at(pieces):
    short, long = (pieces.tokens(text, most=256) for text in ("ab " * 400, "ab " * 3_000_000))
    assert short == long
    assert len(words_of("ab " * 3_000_000)) < 10_000


def test_a_vocabulary_without_its_own_marks_is_refused():  # M-5
    with pytest.raises(EmbedderFailed, match=r"no \[SEP\]"):
        WordPieces([UNKNOWN, BEGIN, "word"])
    assert WordPieces([UNKNOWN, BEGIN, END]).tokens("word", most=9) == [1, 0, 2]
