"""Secrets never reach a log, a record or a screen (X-24)."""

from __future__ import annotations

import json
import random
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddx.base.masking import MASKED, Masker, MaskingStream, is_secret_name

API_KEY = "sk-ant-REDACTED"
PASSWORD = "tr0ub4dor&3 #x"
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": API_KEY,
    "DB_PASSWORD": PASSWORD,
    "HOME": "/home/mara-who-is-no-secret",
    "SHORT_TOKEN": "abc",
    "FEATURE_KEY": "disabled",
}
MASKER = Masker(ENVIRONMENT)
SHAPES = Masker({})

LETTERS = "qW3" * 20
PEM = """-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,0123456789ABCDEF

MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun
VTLw7onLRnrq0abcd+/=
-----END RSA PRIVATE KEY-----"""


def streamed(masker: Masker, text: bytes, cuts: list[int], *, longest_line: int = 1 << 16) -> bytes:
    stream = MaskingStream(masker, longest_line=longest_line)
    ends = sorted({cut % (len(text) + 1) for cut in cuts} | {len(text)})
    masked, begin = b"", 0
    for end in ends:
        masked += stream.feed(text[begin:end])
        begin = end
    return masked + stream.finish()


# Values of variables


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("OPENAI_API_KEY", True),
        ("GH_TOKEN", True),
        ("aws_secret", True),
        ("TOKEN", True),
        ("APIKEY", True),
        ("PGPASSWORD", True),
        ("DB_PASSWORD_FILE", True),
        ("SSH_PASSPHRASE", True),
        ("KEYBOARD", False),
        ("GIT_CONFIG_KEY_0", False),
        ("MONKEY", False),
        ("TOKENS", False),
        ("PATH", False),
    ],
)
def test_a_name_says_whether_its_value_is_a_secret(name, secret):
    assert is_secret_name(name) is secret


def test_a_value_is_masked_wherever_it_stands_and_its_variable_is_named():
    assert MASKER.mask(f"export K={API_KEY}; curl -u me:{PASSWORD}!") == (
        "export K=[masked ANTHROPIC_API_KEY]; curl -u me:[masked DB_PASSWORD]!"
    )


def test_what_is_short_trivial_or_no_secret_stays():
    words = "abc is disabled in /home/mara-who-is-no-secret"
    assert MASKER.mask(words) == words


def test_a_value_is_known_in_the_spelling_of_json_too():
    odd = 'say "ü\\ü" twice'
    masker = Masker({"ODD_SECRET": odd})
    for spelled in (odd, json.dumps(odd), json.dumps(odd, ensure_ascii=False)):
        assert masker.mask(spelled).strip('"') == "[masked ODD_SECRET]"


def test_every_line_of_a_long_value_is_a_secret():
    masker = Masker({"SERVICE_KEY": "first-line-of-it\n  second-line-of-it\nx\n"})
    assert masker.mask("x first-line-of-it\n|second-line-of-it|") == (
        "x [masked SERVICE_KEY]\n|[masked SERVICE_KEY]|"
    )


def test_of_two_values_the_longer_is_masked_whole_whichever_is_named_first():
    masker = Masker({"A_KEY": "correct-horse", "B_KEY": "correct-horse-battery"})
    assert masker.mask("correct-horse-battery correct-horse") == "[masked B_KEY] [masked A_KEY]"


def test_a_shape_never_bites_off_the_beginning_of_a_value():
    masker = Masker({"X_TOKEN": "abc1efgh#rest-of-it"})
    assert masker.mask("Bearer abc1efgh#rest-of-it") == "Bearer [masked X_TOKEN]"


def test_a_name_that_holds_its_own_value_is_not_told():
    assert Masker({"swordfish_KEY": "swordfish"}).mask("a swordfish b") == "a [masked] b"


# Shapes of keys


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + LETTERS[:40],
        "sk-ant-api03-" + LETTERS[:40],
        "sk-proj-" + LETTERS[:40],
        "sk_live_" + LETTERS[:24],
        "ghp_" + LETTERS[:36],
        "gho_" + LETTERS[:36],
        "github_pat_" + LETTERS[:50],
        "glpat-" + LETTERS[:20],
        "npm_" + LETTERS[:36],
        "hf_" + LETTERS[:34],
        "AKIA" + "Q3" * 8,
        "ASIA" + "Q3" * 8,
        "AIza" + LETTERS[:35],
        "xoxb-1234567890-abcdef",
        "xoxp-1234567890-abcdef",
        f"eyJ{LETTERS[:20]}.eyJ{LETTERS[:30]}.{LETTERS[:40]}",
        PEM.replace("\n", "\\n"),
    ],
)
def test_a_key_is_known_by_its_shape(secret):
    for text in ("{}", '{{"key":"{}"}}', "K={}", "a\n({})\nb"):
        assert SHAPES.mask(text.format(secret)) == text.format(MASKED)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdef12345", "Authorization: Bearer [masked]"),
        ("authorization: Basic bWFyYTpzZWNyZXQx", "authorization: Basic [masked]"),
        ('"Authorization": "token abcd1234efgh"', '"Authorization": "token [masked]"'),
        ("-H 'X-Api-Key: abcd1234efgh'", "-H 'X-Api-Key: [masked]'"),
        ("x-api-key:abcd1234efgh", "x-api-key:[masked]"),
        ("see bearer abc.def-123/x, then", "see bearer [masked], then"),
        ("git clone https://mara:pa55@host/x", "git clone https://mara:[masked]@host/x"),
        ("redis://:a@b@host:1/0", "redis://:[masked]@host:1/0"),
    ],
)
def test_what_stands_around_a_secret_stays_to_be_read(text, masked):
    assert SHAPES.mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "task-management-system-version-2-of-it",
        "the sk-learn-like-library-for-everyone",
        "Bearer authentication is what we use",
        "authorization: required by the server",
        "http://localhost:8080/@scope/package a@b.example",
        '{"url":"http://h:80","mail":"a@b.example"}',
        "git@host.example:team/app.git",
        "0123456789abcdef0123456789abcdef01234567",
        "MAKIAABCDEFGH12345678",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_ordinary_words_stay(text):
    assert SHAPES.mask(text) == text


def test_the_body_of_a_private_key_is_masked_line_by_line():
    text = f"cat key\n{PEM}\ndone and well\n"
    masked = SHAPES.mask(text)
    assert masked == f"cat key\n{MASKED}\n{MASKED}\n{MASKED}\n\n" + f"{MASKED}\n" * 3 + (
        "done and well\n"
    )


def test_a_body_ends_where_the_text_is_none_and_hides_nothing_more():
    text = "-----BEGIN PRIVATE KEY-----\nis how such a file begins.\nPLAIN\n"
    assert SHAPES.mask(text) == f"{MASKED}\nis how such a file begins.\nPLAIN\n"


def test_a_body_with_the_marks_of_a_diff_is_masked_too():
    masked = SHAPES.mask("\n".join(f"+ {line}" for line in PEM.splitlines() if ":" not in line))
    assert "MIIE" not in masked
    assert "VTLw" not in masked


# Rows


def test_a_row_is_masked_at_every_depth_and_its_keys_stay():
    row = {"a": f"x {API_KEY}", "n": 7, "deep": [{"b": (API_KEY, None, True, 1.5)}]}
    shown = "[masked ANTHROPIC_API_KEY]"
    assert MASKER.mask_row(row) == {
        "a": f"x {shown}",
        "n": 7,
        "deep": [{"b": [shown, None, True, 1.5]}],
    }


def test_a_row_that_is_nested_without_end_is_cut():
    deep: dict[str, object] = {"a": API_KEY}
    for _ in range(900):
        deep = {"a": deep}
    assert API_KEY not in json.dumps(MASKER.mask_row(deep))
    assert "nested too deeply" in json.dumps(MASKER.mask_row(deep))


def test_text_that_is_no_utf_8_comes_back_as_it_was():
    assert MASKER.mask("half \ud800 a pair") == "half \ud800 a pair"
    assert MASKER.mask_bytes(b"\xff\xfe " + API_KEY.encode()) == (
        b"\xff\xfe [masked ANTHROPIC_API_KEY]"
    )


# Streams


def test_a_stream_gives_whole_lines_as_soon_as_they_end():
    stream = MASKER.stream()
    assert stream.feed(b"one\ntw") == b"one\n"
    assert stream.feed(b"o") == b""
    assert stream.feed(b"\n\nthree") == b"two\n\n"
    assert stream.finish() == b"three"
    assert stream.finish() == b""


PIECES = st.sampled_from(
    [
        API_KEY,
        PASSWORD,
        API_KEY[:20],
        PEM,
        PEM.splitlines()[0],
        PEM.splitlines()[4],
        "sk-proj-" + LETTERS[:30],
        "Bearer ",
        "https://u:p4ssw0rd@h/",
        "task-",
        "eyJ",
        "\n",
        "ü",
        " ",
        "word",
        "long words " * 30,
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(PIECES, max_size=20).map("".join),
    st.lists(st.integers(0, 4000), max_size=12),
    st.sampled_from([1, 400, 1 << 16]),
)
@example(f"{API_KEY}{API_KEY}", [10, 100, 120], 1)
@example(f"x {PASSWORD}\n", [5], 1)
@example(PEM, [31, 32, 33], 1)
def test_however_a_text_is_cut_it_is_masked_as_a_whole(text, cuts, longest_line):
    whole = MASKER.mask_bytes(text.encode())
    assert streamed(MASKER, text.encode(), cuts, longest_line=longest_line) == whole
    assert MASKER.mask(text).encode() == whole
    assert API_KEY.encode() not in whole
    assert PASSWORD.encode() not in whole


FILLER = "".join(random.Random(24).choices(string.ascii_letters + " ü/:-.", k=150_000))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 150_000), PIECES.filter(lambda piece: "\n" not in piece))),
    st.lists(st.integers(0, 150_000), max_size=8),
)
@example([(65_520, API_KEY), (32_760, API_KEY)], [65_530, 65_560, 98_300])
@example([(65_000, f"Bearer {LETTERS * 40}")], [65_536, 66_000])
def test_no_secret_slips_through_the_seam_of_a_line_without_end(places, cuts):
    text = FILLER
    for place, piece in places:
        text = text[:place] + piece + text[place:]
    raw = text.encode()
    whole = MASKER.mask_bytes(raw)
    assert streamed(MASKER, raw, cuts) == whole
    assert API_KEY.encode() not in whole


def test_a_word_at_the_seam_is_seen_with_what_stands_before_it():
    for place in range(37_200, 37_260):
        text = b"x" * place + b"task-" + b"a1" * 20
        text += b"x" * (70_000 - len(text))
        assert streamed(MASKER, text + b"yy", [70_000]) == text + b"yy"


def test_a_line_without_end_is_held_only_in_part():
    stream = MASKER.stream()
    given_bytes = taken = 0
    for _ in range(200):
        chunk = b"x" * 50_000
        given_bytes += len(chunk)
        taken += len(stream.feed(chunk))
        assert given_bytes - taken < 200_000
    assert taken + len(stream.finish()) == given_bytes


@pytest.mark.parametrize("piece", ["sk-", "eyJ", "://a:", "Bearer a", "-----BEGIN ", "gh", "AKIA"])
@pytest.mark.timeout(60)
def test_hostile_text_costs_no_more_than_its_length(piece):
    text = piece.encode() * (300_000 // len(piece))
    assert streamed(MASKER, text, [100_000, 200_000]) == MASKER.mask_bytes(text)
