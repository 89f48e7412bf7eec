"""The last lines of an action's reply (A-1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.passes.reply import (
    LONGEST_REPLY,
    TRAILERS,
    CheckAnswer,
    Trailer,
    TrailerKey,
    TrailerValueKind,
    TrailerValues,
    UnreadableTrailer,
    read_trailer,
    trailer_lines,
)

CHECK = TRAILERS["check"]
SAMPLES = {
    TrailerValueKind.COUNT: "3",
    TrailerValueKind.PATH: "docs/helix/report.md",
    TrailerValueKind.METRIC: "latency_ms=12.5",
    TrailerValueKind.TEXT: "why it is so",
}


def answer_in(text: str) -> str:
    found = read_trailer(text, CHECK)
    return (
        found.text("NEXT_ACTION")
        if isinstance(found, TrailerValues)
        else f"unreadable: {found.reason}"
    )


def sample(key: TrailerKey) -> str:
    return key.choices[0] if key.choices else SAMPLES[key.kind]


@pytest.mark.parametrize(
    ("action", "keys"),
    [
        ("check", {"NEXT_ACTION", "REASON", "QUESTION"}),
        ("review", {"REVIEW_STATUS", "ISSUES_COUNT"}),
        ("align", {"ALIGN_STATUS", "GAPS_FOUND", "ALIGN_REPORT"}),
        ("backfill", {"BACKFILL_STATUS", "BACKFILL_REPORT"}),
        ("design", {"PLAN_STATUS", "PLAN_DOCUMENT", "PLAN_ROUNDS"}),
        ("polish", {"POLISH_STATUS", "ISSUES_MODIFIED", "ISSUES_CREATED", "ISSUES_MERGED"}),
        ("frame", {"FRAME_STATUS", "ARTIFACTS_CREATED"}),
        ("evolve", {"EVOLUTION_STATUS", "ARTIFACTS_UPDATED", "CONFLICTS"}),
        ("experiment", {"EXPERIMENT_STATUS", "EXPERIMENT_BEST"}),
    ],
)
def test_every_action_that_asks_an_agent_has_its_trailer(
    action: str, keys: set[str]
) -> None:
    assert {key.name for key in TRAILERS[action].keys} == keys


def test_no_other_action_has_one() -> None:
    assert len(TRAILERS) == 9


@pytest.mark.parametrize(
    ("action", "status", "words"),
    [
        ("check", "NEXT_ACTION", {*CheckAnswer}),
        ("review", "REVIEW_STATUS", {"CLEAN", "ISSUES_FOUND"}),
        ("align", "ALIGN_STATUS", {"COMPLETE", "INCOMPLETE", "BLOCKED"}),
        ("backfill", "BACKFILL_STATUS", {"COMPLETE", "GUIDANCE_NEEDED", "BLOCKED"}),
        ("design", "PLAN_STATUS", {"CONVERGED", "IN_PROGRESS", "GUIDANCE_NEEDED"}),
        ("polish", "POLISH_STATUS", {"CONVERGED", "IN_PROGRESS"}),
        ("frame", "FRAME_STATUS", {"COMPLETE", "GUIDANCE_NEEDED"}),
        ("evolve", "EVOLUTION_STATUS", {"COMPLETE", "CONFLICTS", "BLOCKED"}),
        (
            "experiment",
            "EXPERIMENT_STATUS",
            {"CONVERGED", "ITERATION_COMPLETE", "NO_IMPROVEMENT", "CLOSED"},
        ),
    ],
)
def test_a_status_is_one_of_a_closed_set(action: str, status: str, words: set[str]) -> None:
    first = TRAILERS[action].keys[0]
    assert (first.name, set(first.choices)) == (status, words)


@pytest.mark.parametrize("trailer", TRAILERS.values(), ids=TRAILERS)
def test_a_full_trailer_is_read(trailer: Trailer) -> None:
    text = "\n".join(["I looked at it.", "", *(f"{k.name}: {sample(k)}" for k in trailer.keys)])
    found = read_trailer(text, trailer)
    assert isinstance(found, TrailerValues)
    assert {name: str(said) for name, said in found.values.items()} == {
        key.name: sample(key) for key in trailer.keys
    }


@pytest.mark.parametrize(
    ("trailer", "missing"),
    [(trailer, key) for trailer in TRAILERS.values() for key in trailer.keys],
    ids=lambda each: each.name if isinstance(each, TrailerKey) else each.action,
)
def test_only_reason_and_question_may_be_missing(
    trailer: Trailer, missing: TrailerKey
) -> None:
    text = "\n".join(f"{key.name}: {sample(key)}" for key in trailer.keys if key != missing)
    found = read_trailer(text, trailer)
    may_be = missing.name in ("REASON", "QUESTION")
    assert isinstance(found, TrailerValues) is may_be
    if isinstance(found, TrailerValues):
        assert found.text(missing.name) == ""
    else:
        assert missing.name in found.reason


@pytest.mark.parametrize(
    "line",
    [
        "NEXT_ACTION: WAIT",
        "NEXT_ACTION:WAIT",
        "   NEXT_ACTION: WAIT   ",
        "**NEXT_ACTION: WAIT**",
        "**NEXT_ACTION:** WAIT",
        "**NEXT_ACTION**: WAIT",
        "NEXT_ACTION: **WAIT**",
        "NEXT_ACTION: `WAIT`",
        "`NEXT_ACTION: WAIT`",
        "`NEXT_ACTION`: `WAIT`",
        "**NEXT_ACTION**: **`WAIT`**",
        "***NEXT_ACTION:*** _WAIT_",
        "_NEXT_ACTION: WAIT_",
        "NEXT_ACTION: WAIT\r",
    ],
)
def test_emphasis_and_back_quotes_are_no_part_of_a_value(line: str) -> None:
    assert answer_in(f"Looked.\n{line}\nREASON: claimed elsewhere") == "WAIT"


@pytest.mark.parametrize(
    "line",
    [
        "the answer is NEXT_ACTION: BUILD",
        "> NEXT_ACTION: BUILD",
        "- NEXT_ACTION: BUILD",
        "    NEXT_ACTION: BUILD",
        "\tNEXT_ACTION: BUILD",
        "NEXT_ACTIONS: BUILD",
        "MY_NEXT_ACTION: BUILD",
        "next_action: BUILD",
        "NEXT_ACTION BUILD",
        "```\nNEXT_ACTION: BUILD\n```",
        "~~~text\nNEXT_ACTION: BUILD\n~~~",
        "````\n```\nNEXT_ACTION: BUILD\n```\n````",
        "```\nNEXT_ACTION: BUILD",
        "<!--\nNEXT_ACTION: BUILD\n-->",
        "said\u2028NEXT_ACTION: BUILD",
        "said\x0cNEXT_ACTION: BUILD",
        "",
    ],
)
def test_a_key_counts_only_on_a_line_of_its_own_outside_of_code(line: str) -> None:
    assert answer_in(line) == "unreadable: there is no NEXT_ACTION line"
    assert answer_in(f"NEXT_ACTION: STOP\n\n{line}") == "STOP"


@pytest.mark.parametrize(
    "said",
    [
        "IMPLEMENT",
        "build",
        "BUILD.",
        "BUILD|DESIGN",
        "BUILD means more work",
        "",
        "BUILD STOP",
        "`BUILD",
        "BUILD*",
        "**",
    ],
)
def test_a_word_outside_of_the_set_is_unreadable_and_never_a_default(said: str) -> None:
    found = read_trailer(f"NEXT_ACTION: {said}", CHECK)
    assert isinstance(found, UnreadableTrailer)
    assert "NEXT_ACTION is" in found.reason
    assert found.reason.endswith(
        "not BUILD, DESIGN, POLISH, ALIGN, BACKFILL, WAIT, GUIDANCE or STOP"
    )
    assert isinstance(
        read_trailer(f"NEXT_ACTION: {said}\nNEXT_ACTION: STOP", CHECK), UnreadableTrailer
    )


def test_lines_that_agree_are_one_answer() -> None:  # A-1, D-22
    assert (
        answer_in("NEXT_ACTION: ALIGN\nfor the reasons above:\n**NEXT_ACTION:** `ALIGN`") == "ALIGN"
    )


def test_lines_that_do_not_agree_are_unreadable() -> None:  # A-1, D-22
    found = answer_in("NEXT_ACTION: BUILD\nNEXT_ACTION: STOP")
    assert found == "unreadable: its NEXT_ACTION lines do not agree: BUILD and STOP"


def test_reasons_that_do_not_agree_are_unreadable_too() -> None:
    text = "NEXT_ACTION: STOP\nREASON: all is done\nREASON: nothing is done"
    assert isinstance(read_trailer(text, CHECK), UnreadableTrailer)


@pytest.mark.parametrize("said", ["-1", "1.0", "three", "1,000", "٣", "", "9" * 10])
def test_a_count_is_a_whole_number(said: str) -> None:
    text = f"FRAME_STATUS: COMPLETE\nARTIFACTS_CREATED: {said}"
    assert isinstance(read_trailer(text, TRAILERS["frame"]), UnreadableTrailer)


def test_counts_are_compared_as_numbers() -> None:
    text = "FRAME_STATUS: COMPLETE\nARTIFACTS_CREATED: 02\nARTIFACTS_CREATED: **2**"
    found = read_trailer(text, TRAILERS["frame"])
    assert isinstance(found, TrailerValues)
    assert found.count("ARTIFACTS_CREATED") == 2


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../outside.md", "docs/../../x.md", "~/x.md", "-rf", "a\x1b[2Jb", "", "a\\b"],
)
def test_a_path_out_of_the_repository_is_unreadable(path: str) -> None:
    text = f"BACKFILL_STATUS: COMPLETE\nBACKFILL_REPORT: {path}"
    assert isinstance(read_trailer(text, TRAILERS["backfill"]), UnreadableTrailer)


@pytest.mark.parametrize(
    "path", ["docs/a_b.md", "`docs/a b.md`", "docs/helix/06-iterate/BF-1.md", "_draft.md"]
)
def test_a_path_keeps_its_own_marks(path: str) -> None:
    text = f"BACKFILL_STATUS: COMPLETE\nBACKFILL_REPORT: {path}"
    found = read_trailer(text, TRAILERS["backfill"])
    assert isinstance(found, TrailerValues)
    assert found.text("BACKFILL_REPORT") == path.strip("`")


@pytest.mark.parametrize(
    ("said", "is_metric"),
    [("p95=12", True), ("p95=-1.5e-3", True), ("p95", False), ("=3", False), ("p95=fast", False)],
)
def test_a_metric_has_a_name_and_a_number(said: str, is_metric: bool) -> None:
    text = f"EXPERIMENT_STATUS: CONVERGED\nEXPERIMENT_BEST: {said}"
    assert isinstance(read_trailer(text, TRAILERS["experiment"]), TrailerValues) is is_metric


def test_text_is_bounded() -> None:
    found = read_trailer(f"NEXT_ACTION: STOP\nREASON: {'x' * 10_000}", CHECK)
    assert isinstance(found, TrailerValues)
    assert len(found.text("REASON")) == 2000
    assert isinstance(
        read_trailer("x" * (LONGEST_REPLY + 1) + "\nNEXT_ACTION: STOP", CHECK), UnreadableTrailer
    )


def test_what_a_reply_says_instead_is_shown_without_its_controls() -> None:  # T-23
    found = read_trailer("NEXT_ACTION: \x1b[31mBUILD" + "x" * 500, CHECK)
    assert isinstance(found, UnreadableTrailer)
    assert found.reason.isprintable()
    assert len(found.reason) < 250


def test_a_prompt_can_be_searched_for_lines_that_parse() -> None:
    text = "Say NEXT_ACTION: with one word.\n`REVIEW_STATUS`: ...\n```\nGAPS_FOUND: N\n```\n"
    assert trailer_lines(text) == ("`REVIEW_STATUS`: ...", "GAPS_FOUND: N")


@given(st.text(), st.text())
def test_no_text_breaks_the_reader(before: str, after: str) -> None:
    found = read_trailer(f"{before}NEXT_ACTION:{after}", CHECK)
    assert isinstance(found, TrailerValues | UnreadableTrailer)
    if isinstance(found, TrailerValues):
        assert found.text("NEXT_ACTION") in [*CheckAnswer]


@given(st.lists(st.sampled_from([*CheckAnswer]), min_size=1, max_size=4))
def test_an_answer_is_believed_exactly_if_all_lines_give_it(
    answers: list[CheckAnswer],
) -> None:
    text = "\n\n".join(f"NEXT_ACTION: {answer}" for answer in answers)
    agree = len(set(answers)) == 1
    assert (answer_in(text) == answers[0]) is agree
