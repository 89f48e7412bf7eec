"""What a request came to is filed whole or not at all (I-6, I-9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddx.base.errors import Refused
from ddx.project.settings import read_settings
from ddx.testing import FakeClock, make_repo
from ddx.tracker.edits import TrackerEdit
from ddx.tracker.tracker import Tracker
from helix.intake.decision import IntakePlan
from helix.intake.filing import file_request
from helix.intake.intake import IntakeContext
from helix.intake.parts import RequestPart
from helix.intake.request import parse_request
from helix.passes.drafts import BeadDraft, NotFiled, NotLinked, file_drafts
from helix.project.settings import read_slider

WISH = parse_request("add colours to the shop")
ROOM = BeadDraft("room", "Make room for colours")
UNTITLED = BeadDraft("untitled", "")
LOST = BeadDraft("lost", "Paint it", depends_on=("shop-404",))


@pytest.fixture
def place(tmp_path: Path) -> IntakeContext:
    project = make_repo(tmp_path / "shop")
    Path(project.ddx()).mkdir()
    Path(project.ddx("beads.jsonl")).touch()
    clock = FakeClock()
    settings = read_settings(project, clock=clock)
    tracker = Tracker(project, clock=clock)
    return IntakeContext(
        project, settings, tracker, slider=read_slider(project, clock=clock), clock=clock
    )


def parts(*drafts: BeadDraft) -> tuple[RequestPart, ...]:
    return tuple(RequestPart(draft, "build") for draft in drafts)


def titles(place: IntakeContext) -> list[str]:
    return [row["title"] for row in place.tracker.snapshot().rows()]


@pytest.mark.parametrize(
    ("refused", "said"),
    [(UNTITLED, "'' was not filed: "), (LOST, "does not wait for shop-404: ")],
    ids=["a-bead", "a-link"],
)
def test_where_one_bead_or_link_is_refused_none_is_filed(place, refused, said):  # I-6, I-9
    with pytest.raises(Refused, match="nothing was filed") as problem:
        file_request(place, WISH, IntakePlan(parts(ROOM, refused)))
    assert said in problem.value.message
    assert titles(place) == []


def test_a_refusal_in_the_last_step_undoes_the_steps_before(place):  # I-6, I-9
    (request,) = parts(BeadDraft("request", "Colours", issue_type="epic"))
    with pytest.raises(Refused):
        file_request(place, WISH, IntakePlan(parts(ROOM), request, parts(UNTITLED)))
    assert titles(place) == []


def test_where_nothing_is_refused_all_is_filed(place):  # I-6
    filed = file_request(place, WISH, IntakePlan(parts(ROOM, BeadDraft("paint", "Paint it"))))
    assert len(filed.created) == 2
    assert sorted(titles(place)) == ["Make room for colours", "Paint it"]


def test_a_refusal_is_a_value_and_a_sentence(place):
    edit = TrackerEdit(place.tracker.snapshot(), now=place.clock.stamp(), by="helix")
    ids = iter(("shop-1", "shop-2", "shop-3"))
    filed = file_drafts(edit, [ROOM, UNTITLED, LOST], draw_id=lambda: next(ids))
    assert filed.beads == {"room": "shop-1", "lost": "shop-3"}
    untitled, unlinked = filed.refusals
    assert isinstance(untitled, NotFiled)
    assert untitled.title == ""
    assert unlinked == NotLinked("shop-3", "shop-404", unlinked.why)
    assert edit.remarks == (untitled.sentence, unlinked.sentence)
