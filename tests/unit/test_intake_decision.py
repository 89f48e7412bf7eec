"""What is filed for a request at each level, and what is asked first (I-4 to I-8)."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import SEED, graph_of_files
from tests.support.slider import slider_with

from ddx.base.values import changed
from ddx.tracker.criteria import judge
from helix.intake.conflicts.comparison import DisagreementKind
from helix.intake.conflicts.detection import Conflict, ConflictKind, Statement
from helix.intake.decision import (
    IntakePlan,
    all_questions,
    next_question,
    settle,
    unasked,
    work_of,
)
from helix.intake.impact import begin, downstream, reach
from helix.intake.parts import MOST_CONFLICTS, IntakeCase, RelevantConflict, RepositoryFacts
from helix.intake.questions import START, conflict_key
from helix.intake.request import parse_request
from helix.project.settings import Autonomy

LOW, MEDIUM, HIGH = Autonomy
FIXTURE = graph_of_files(SEED)
EMPTY = graph_of_files({})
GROUND = RepositoryFacts(
    base="0123456789ab", names=("prd", "FEAT-001", "US-002", "TD-001", "TP-001")
)
CHANGE = "change US-001 acceptance criteria"
SIDES = (
    Statement(
        document="SD-001",
        tier=5,
        path="sd.md",
        line=4,
        text="must use sqlite",
        section="Constraints",
    ),
    Statement(
        document="TD-001",
        tier=6,
        path="td.md",
        line=7,
        text="must use postgres",
        section="Constraints",
    ),
)


def case_of(
    text: str,
    level: Autonomy = MEDIUM,
    *,
    graph: Any = FIXTURE,
    hits: dict[str, str] | None = None,
    conflicts: tuple[Conflict, ...] = (),
    ground: RepositoryFacts = GROUND,
    **freedom: Any,
) -> IntakeCase:
    wish, slider = parse_request(text), slider_with(autonomy_level=level, **freedom)
    start = begin(graph, wish, slider)
    found = {graph.place[name]: why for name, why in (hits or {}).items()}
    impact = reach(graph, start, found, slider)
    met = []
    for conflict in conflicts:
        losers = [it.document for it in (conflict.one, conflict.other)]
        losers = [name for name in losers if name != conflict.winner]
        met.append(RelevantConflict(conflict, downstream(graph, losers, slider)))
    return IntakeCase(wish, impact, ground, freedom=slider, conflicts=tuple(met))


def settled_by_defaults(case: IntakeCase) -> IntakePlan:
    return settle(case, {it.key: it.default for it in all_questions(case, {})})


def waits(settled: IntakePlan) -> bool:
    """For an answer, or for one of two documents to change."""
    return bool(settled.questions) or settled.is_stopped


def names(settled: IntakePlan) -> list[str]:
    return [part.name for part in settled.parts]


def resolvable() -> Conflict:
    return Conflict(
        ConflictKind.RESOLVABLE,
        "technology choice",
        SIDES[0],
        other=SIDES[1],
        winner="SD-001",
        nature=DisagreementKind.CHOICE,
    )


def physics() -> Conflict:
    return Conflict(
        ConflictKind.PHYSICS,
        "contradiction",
        SIDES[0],
        other=SIDES[1],
        nature=DisagreementKind.CONTRADICTION,
    )


# The beads


def test_the_seeds_request_gives_its_beads_in_order_and_no_others():  # I-6, I-7
    settled = settle(case_of(CHANGE), {})
    assert names(settled) == ["US-001", "TD-001", "TP-001", "tests", "build"]
    waits = {part.key: part.draft.depends_on for part in settled.parts}
    assert waits == {
        "document:US-001": (),
        "document:TD-001": ("document:US-001",),
        "document:TP-001": ("document:TD-001",),
        "tests:1": ("document:TP-001",),
        "build:1": ("tests:1",),
    }
    assert settled.request is not None
    assert (settled.request.draft.issue_type, settled.request.draft.spec_id) == ("epic", "US-001")
    said = {part.draft.spec_id for part in settled.parts}
    assert said.isdisjoint({"US-002", "SD-001", "FEAT-001", "prd"})


@pytest.mark.parametrize(
    "text",
    [
        CHANGE,
        "add a price list",
        "the list is broken",
        "fix US-001",
        "replace US-001 with something better",
        "update the prd",
    ],
)
def test_every_executable_bead_is_proven_by_itself_and_well_labelled(text):  # I-6, T-17
    for part in settle(case_of(text, HIGH), {}).parts:
        assert judge({"acceptance": part.draft.acceptance}).ready, part
        first, *labels = part.draft.labels
        assert first == "helix"
        assert {label.partition(":")[0] for label in labels} >= {"activity", "kind"}
        assert "kind:planning" not in labels


def test_a_request_that_one_bead_follows_is_that_bead_itself():  # I-6
    graph = graph_of_files({path: text for path, text in SEED.items() if "prd" in path})
    settled = settle(case_of("update the prd", graph=graph), {})
    assert names(settled) == ["prd"]
    assert settled.request is None


def test_a_defect_is_a_test_that_shows_it_and_then_code_and_no_document():  # I-2
    settled = settle(case_of("fix the crash in US-001", HIGH), {})
    assert names(settled) == ["tests", "build"]
    assert {part.draft.spec_id for part in settled.parts} == {"US-001"}
    assert {part.draft.priority for part in settled.parts} == {1}


def test_a_question_is_for_a_person():  # I-2
    (part,) = settle(case_of("why does US-001 exist?"), {}).parts
    assert (part.draft.issue_type, part.draft.spec_id) == ("decision", "US-001")
    assert part.draft.as_row()["execution-eligible"] is False


def test_a_new_capability_gets_its_documents_below_the_requirements_then_tests_and_code():
    ground = changed(GROUND, top="prd")  # I-6
    settled = settle(case_of("add a price list", ground=ground), {})
    assert names(settled) == ["FEAT-002", "US-003", "TD-002", "TP-002", "tests", "build"]
    assert [part.draft.spec_id for part in settled.parts[:2]] == ["prd", "FEAT-002"]
    assert settled.parts[0].draft.paths == ("docs/helix/01-frame/features/FEAT-002-price-list.md",)


def test_without_any_document_the_frame_comes_first_and_in_order():  # I-8
    settled = settle(case_of("design a CRM", graph=EMPTY, ground=RepositoryFacts(base="0123")), {})
    assert names(settled) == ["vision and prd", "FEAT-001", "US-001", "TD-001", "TP-001"]
    activities = [part.draft.labels[1] for part in settled.parts]
    assert activities == [
        *("activity:frame", "activity:frame", "activity:frame", "activity:design"),
        "activity:test",
    ]
    for before, part in zip(settled.parts, settled.parts[1:], strict=False):
        assert part.draft.depends_on == (before.key,)
        assert part.draft.spec_id == before.about[-1]


def test_a_second_request_leaves_the_top_to_the_one_that_is_about_to_write_it():  # I-8
    ground = RepositoryFacts(base="0123", names=("product-vision", "prd", "FEAT-001-crm"))
    settled = settle(case_of("add a shop", graph=EMPTY, ground=ground), {})
    assert names(settled) == ["FEAT-002", "US-001", "TD-001", "TP-001"]
    assert settled.parts[0].draft.spec_id == "prd"


def test_what_follows_from_the_top_waits_for_the_bead_that_writes_it():  # I-6, I-8
    ground = RepositoryFacts(base="0123", names=("product-vision", "prd"), top_bead="app-7")
    settled = settle(case_of("add a shop", graph=EMPTY, ground=ground), {})
    assert [part.draft.depends_on for part in settled.parts] == [
        *(("app-7",), ("new:feat",), ("new:us",), ("new:td",)),
    ]


def test_a_request_calls_its_documents_as_it_did_before():  # I-1, I-6
    own = {"new:prd": ("docs/00/product-vision.md", "docs/prd.md"), "new:us": ("docs/US-007-x.md",)}
    settled = settle(
        case_of("add a shop", graph=EMPTY, ground=RepositoryFacts(base="0", own=own)), {}
    )
    assert names(settled) == ["vision and prd", "FEAT-001", "US-007", "TD-001", "TP-001"]
    assert settled.parts[2].draft.paths == own["new:us"]


@pytest.mark.parametrize(("most", "beads"), [(3, 3), (8, 1), (20, 1)])
def test_a_bead_names_no_more_files_than_the_slider_allows(most, beads):  # I-3, I-6
    tag = "@" + "spec-ref TD-001"
    files = {f"src/m{n}.py": f"# {tag}\n" for n in range(7)}
    graph = graph_of_files({**SEED, **files})
    ground = changed(GROUND, bead_files=most)
    parts = settle(case_of(CHANGE, graph=graph, ground=ground), {}).parts
    builds = [part.draft.paths for part in parts if part.role == "build"]
    assert len(builds) == beads
    assert all(len(paths) <= most for paths in builds)
    assert sorted(path for paths in builds for path in paths) == sorted(files)


def test_documents_that_are_broken_today_prove_nothing_tomorrow():  # T-17
    ground = changed(GROUND, is_valid=False)
    for part in settle(case_of(CHANGE, ground=ground), {}).parts:
        assert "ddx doc validate" not in part.draft.acceptance
        assert judge({"acceptance": part.draft.acceptance}).ready


def test_a_file_name_that_no_line_of_acceptance_can_hold_is_left_out():  # T-23
    graph = graph_of_files({"docs/helix/a`b.md": "---\nddx:\n  id: US-001\n---\n# Odd\n"})
    parts = settle(case_of(CHANGE, graph=graph), {}).parts
    assert "a`b" not in parts[0].draft.acceptance
    assert judge({"acceptance": parts[0].draft.acceptance}).ready


# The levels


def test_low_asks_first_of_all_and_before_each_bead():  # I-4
    case = case_of(CHANGE, LOW)
    keys = [it.key for it in all_questions(case, {})]
    assert keys == [
        START,
        *(f"bead:{part.key}" for part in work_of(case)),
    ]


def test_low_files_nothing_while_a_single_question_is_open():  # I-4
    case = case_of(CHANGE, LOW)
    answers = {it.key: True for it in all_questions(case, {})[:-1]}
    settled = settle(case, answers)
    assert (settled.parts, settled.opened, settled.request) == ((), (), None)
    assert len(settled.questions) == 1
    assert waits(settled)


def test_low_stops_asking_and_files_nothing_after_a_first_no():  # I-4
    case = case_of(CHANGE, LOW)
    assert next_question(case, {START: False}) is None
    settled = settle(case, {START: False})
    assert (settled.parts, settled.opened, waits(settled)) == ((), (), False)


def test_a_bead_that_was_not_wanted_is_bridged():  # I-4
    case = case_of(CHANGE, LOW)
    answers = {it.key: it.key != "bead:document:TD-001" for it in all_questions(case, {})}
    settled = settle(case, answers)
    assert names(settled) == ["US-001", "TP-001", "tests", "build"]
    assert settled.parts[1].draft.depends_on == ("document:US-001",)


def test_low_confirms_gaps_and_conflicts_as_well():  # I-4
    case = case_of("change US-404 and US-001", LOW, conflicts=(resolvable(),))
    answers = {it.key: True for it in all_questions(case, {})}
    assert len(settle(case, answers).opened) == 2
    answers |= {key: False for key in answers if key.startswith(("bead:gap", "bead:conflict"))}
    assert settle(case, answers).opened == ()


def test_nothing_waits_for_a_gap_or_a_conflict():  # I-4
    case = case_of("change US-404 and US-001", LOW, conflicts=(resolvable(),))
    refusals = {it.key: it.no for it in all_questions(case, {}) if it.key.startswith("bead:")}
    opened = [no for key, no in refusals.items() if key.startswith(("bead:gap", "bead:conflict"))]
    assert opened == ["it is not filed"] * 2
    assert "waits for what comes before it" in refusals["bead:document:US-001"]


@pytest.mark.parametrize("level", Autonomy)
def test_an_answer_to_what_nobody_asked_is_found_out(level):  # I-4
    case = case_of("change US-002", level, hits={"TD-001": "it holds story"})
    answers = {"hit:TD-001": True, "hit:TD-01": True}
    assert unasked(case, answers) == ("hit:TD-01",)


def test_medium_files_what_is_declared_and_asks_nothing():  # I-4
    case = case_of(CHANGE)
    assert next_question(case, {}) is None
    assert not waits(settle(case, {}))


def test_medium_leaves_a_question_without_an_answer_as_an_escalation():  # I-4
    case = case_of("change US-002", hits={"TD-001": "it holds story"})
    assert [it.key for it in all_questions(case, {})] == ["hit:TD-001"]
    open_ = settle(case, {})
    assert names(open_) == ["US-002", "tests", "build"]
    assert [part.draft.labels[2] for part in open_.opened] == ["kind:escalation"]
    assert open_.opened[0].draft.as_row()["execution-eligible"] is False
    assert waits(open_)
    yes = settle(case, {"hit:TD-001": True})
    assert names(yes) == ["US-002", "TD-001", "TP-001", "tests", "build"]
    assert (yes.opened, waits(yes)) == ((), False)
    no = settle(case, {"hit:TD-001": False})
    assert names(no) == ["US-002", "tests", "build"]
    assert not waits(no)


def test_nobody_builds_before_it_is_known_which_documents_change():  # I-4
    hits = {"SD-001": "it holds list", "US-002": "it holds list"}
    case = case_of("make lists quicker", hits=hits)
    assert settle(case, {}).parts == ()
    assert names(settle(case, {"hit:US-002": True})) == ["US-002"]
    both = settle(case, {"hit:US-002": True, "hit:SD-001": False})
    assert names(both) == ["US-002", "tests", "build"]


def test_high_never_asks_and_writes_its_assumption_down():  # I-4
    case = case_of("change US-002", HIGH, hits={"TD-001": "it holds story"})
    assert all_questions(case, {}) == ()
    settled = settle(case, {})
    assert names(settled) == ["US-002", "TD-001", "TP-001", "tests", "build"]
    speculative = [p.name for p in settled.parts if "kind:speculative" in p.draft.labels]
    assert speculative == ["TD-001", "TP-001", "tests"]
    assert "Assumption: a bead is filed for TD-001" in settled.parts[1].draft.description
    assert len(settled.assumptions) == 1
    assert not waits(settled)


def test_where_nothing_may_be_assumed_a_person_gets_it():  # I-3
    case = case_of(
        "change US-002", HIGH, hits={"TD-001": "it holds story"}, speculative_allowed=False
    )
    part = settle(case, {}).parts[1]
    assert "kind:escalation" in part.draft.labels
    assert "kind:speculative" not in part.draft.labels
    assert part.draft.as_row()["execution-eligible"] is False


def test_the_label_of_an_assumption_can_be_chosen():  # I-3
    case = case_of(
        "change US-002", HIGH, hits={"TD-001": "it holds story"}, speculation_label="kind:guess"
    )
    assert "kind:guess" in settle(case, {}).parts[1].draft.labels


@pytest.mark.parametrize(
    ("text", "key"),
    [("list speed", "intent"), ("make lists quicker", "nowhere")],
)
def test_what_words_do_not_tell_is_asked_and_holds_everything_back(text, key):  # I-4
    case = case_of(text)
    assert [it.key for it in all_questions(case, {})] == [key]
    assert settle(case, {}).parts == ()
    assert settle(case, {key: False}).parts == ()
    assert settle(case, {key: True}).parts != ()
    assert settle(case_of(text, HIGH), {}).parts != ()


# Conflicts


def test_a_conflict_that_authority_settles_is_asked_about_and_always_filed():  # I-5
    conflict = resolvable()
    case = case_of(CHANGE, conflicts=(conflict,))
    (question,) = all_questions(case, {})
    assert question.key == conflict_key(conflict)
    assert "sd.md:4" in question.why
    assert "must use postgres" in question.why
    open_ = settle(case, {})
    assert names(open_) == ["US-001"]
    assert [part.key for part in open_.opened] == [question.key]
    assert waits(open_)
    yes = settle(case, {question.key: True})
    assert names(yes) == ["US-001", "TD-001", "TP-001", "tests", "build"]
    assert [part.key for part in yes.opened] == [question.key]
    assert not waits(yes)


def test_high_goes_on_by_the_higher_authority_and_says_so():  # I-4, I-5
    settled = settle(case_of(CHANGE, HIGH, conflicts=(resolvable(),)), {})
    assert not waits(settled)
    marked = [p.name for p in settled.parts if "kind:speculative" in p.draft.labels]
    assert marked == ["TD-001", "TP-001", "tests", "build"]
    assert "work goes on by SD-001" in settled.parts[1].draft.description
    assert "conflict:resolvable" in settled.opened[0].draft.labels


def test_what_is_not_filed_rests_on_no_assumption():  # I-4
    hits = {"TD-001": "it holds sqlite"}
    case = case_of("change US-002", HIGH, hits=hits, conflicts=(physics(),))
    settled = settle(case, {})
    assert names(settled) == ["US-002"]
    assert settled.assumptions == ()


def test_a_question_can_be_answered_by_what_its_bead_says():  # I-4, C-3
    hits = {"TD-001": "it holds story"}
    (opened,) = settle(case_of("change US-002's story", hits=hits), {}).opened
    typed = shlex.split(opened.draft.description.rpartition("the answer: ")[2])
    assert typed == ["helix", "input", "change US-002's story", "--answer", "hit:TD-001=yes"]


@pytest.mark.parametrize("level", Autonomy)
def test_physics_stops_its_own_path_at_every_level_and_no_other(level):  # I-4, I-5
    settled = settled_by_defaults(case_of(CHANGE, level, conflicts=(physics(),)))
    assert names(settled) == ["US-001"]
    assert "conflict:physics" in settled.opened[0].draft.labels
    assert settled.is_stopped
    assert waits(settled)


def test_of_very_many_conflicts_only_some_are_filed_and_all_hold_back():  # I-5
    one, other = SIDES
    many = tuple(
        Conflict(
            ConflictKind.PHYSICS,
            f"{n}",
            changed(one, text=f"at least {n}"),
            other=other,
            nature=DisagreementKind.CONTRADICTION,
        )
        for n in range(MOST_CONFLICTS)
    )
    elsewhere = Statement(
        document="US-001", tier=3, path="us.md", line=9, text="must be free", section="Constraints"
    )
    last = Conflict(
        ConflictKind.PHYSICS,
        "last",
        elsewhere,
        other=changed(elsewhere, text="must cost"),
        nature=DisagreementKind.CONTRADICTION,
    )
    settled = settle(case_of(CHANGE, HIGH, conflicts=(*many, last)), {})
    assert len(settled.opened) == MOST_CONFLICTS
    assert settled.parts == ()


def test_a_conflict_keeps_its_key_while_both_say_the_same():  # I-5
    one, other = SIDES
    moved = Conflict(
        ConflictKind.RESOLVABLE,
        "x",
        changed(other, line=99),
        other=one,
        nature=DisagreementKind.CHOICE,
    )
    assert conflict_key(moved) == conflict_key(resolvable())
    said = Conflict(
        ConflictKind.RESOLVABLE,
        "x",
        one,
        other=changed(other, text="must use mysql"),
        nature=DisagreementKind.CHOICE,
    )
    assert conflict_key(said) != conflict_key(resolvable())


# As a whole

WORDS = st.sampled_from(
    ["change", "add", "fix", "why", "US-001", "US-002", "TD-001", "prd", "the", "list", "US-404"]
)


@given(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), st.sampled_from(Autonomy))
def test_the_same_request_gives_the_same_beads(text, level):  # I-1
    assert settled_by_defaults(case_of(text, level)) == settled_by_defaults(case_of(text, level))


@given(
    st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
    st.sampled_from(Autonomy),
    st.sampled_from([(), (resolvable(),), (physics(),), (resolvable(), physics())]),
    st.data(),
)
def test_whatever_is_answered_the_beads_hang_together(text, level, conflicts, data):  # I-4, I-6
    case = case_of(text, level, hits={"SD-001": "it holds list"}, conflicts=conflicts)
    answers: dict[str, bool] = {}
    while (question := next_question(case, answers)) is not None and data.draw(st.booleans()):
        answers[question.key] = data.draw(st.booleans())
    settled = settle(case, answers)
    keys = [part.key for part in settled.parts]
    assert len(set(keys)) == len(keys)
    for number, part in enumerate(settled.parts):
        assert set(part.draft.depends_on) <= set(keys[:number])
    if level is Autonomy.LOW and settled.questions:
        assert not keys
        assert not settled.opened
