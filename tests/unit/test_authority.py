"""Who a document is and how much it has to say (G-2, G-4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.documents.model import (
    TIERS,
    WITHOUT_AUTHORITY,
    identity,
    is_dated,
    numbered_id,
    outranks,
    resolve,
    tier_of,
    type_of,
)

# Identity (G-2)


@pytest.mark.parametrize(
    ("path", "declared", "doc_id"),
    [
        ("docs/helix/TD-036-list-servers.md", "helix.td.list", "helix.td.list"),
        ("docs/helix/TD-036-list-servers.md", "", "TD-036"),
        ("docs/helix/TD-036.md", "", "TD-036"),
        ("docs/helix/TD-036_list.md", "", "TD-036"),
        ("docs/helix/td-036-list.md", "", "TD-036"),
        ("docs/helix/TD-036-größe.md", "", "TD-036"),
        ("docs/helix/CONTRACT-1.md", "", "CONTRACT-1"),
        ("docs/helix/REQ-0001-ours.md", "", "REQ-0001"),
        ("docs/helix/ADR-012-2026-01-15-use-git.md", "", "ADR-012"),
        ("docs/helix/prd.md", "", "prd"),
        ("docs/helix/PRD.md", "", "prd"),
        ("docs/helix/product-vision.md", "", "vision"),
        ("docs/helix/vision.md", "", "vision"),
        ("docs/helix/architecture.md", "", "architecture"),
        ("docs/helix/test-plan.md", "", "test-plan"),
        ("docs/helix/implementation-plan.md", "", "implementation-plan"),
        ("docs/helix/parking-lot.md", "", "parking-lot"),
        ("docs/helix/AR-2026-03-27-cli.md", "", "docs/helix/AR-2026-03-27-cli"),
        ("docs/helix/plan-2026-03-27.md", "", "docs/helix/plan-2026-03-27"),
        ("docs/helix/notes/ideas.v2.md", "", "docs/helix/notes/ideas.v2"),
        ("docs/helix/phase-1-setup.md", "", "docs/helix/phase-1-setup"),
        ("docs/helix/TD-x.md", "", "docs/helix/TD-x"),
        ("docs/helix/TD-12a.md", "", "docs/helix/TD-12a"),
        ("docs/helix/12-13.md", "", "docs/helix/12-13"),
    ],
)
def test_an_id_is_declared_or_stands_in_the_name_or_is_the_path(path, declared, doc_id):
    assert identity(path, declared) == doc_id


@given(st.text(), st.text("abAB01-_.²é", max_size=12))
def test_a_number_is_read_from_any_name_without_harm(anything, name):
    assert identity(f"docs/{name}.md", "")
    found = numbered_id(anything) or numbered_id(name)
    letters, _, number = found.partition("-")
    assert not found or (letters.isalpha() and letters.isupper() and number.isdigit())


@pytest.mark.parametrize(
    ("name", "dated"),
    [
        ("plan-2026-03-27", True),
        ("2026-03-27-notes", True),
        ("AR-2026-03-27-cli", True),
        ("plan-2026-3-27", False),
        ("plan-2026-03", False),
        ("TD-2026", False),
        ("a-20x6-03-27", False),
    ],
)
def test_a_day_is_year_month_and_day_in_full(name, dated):
    assert is_dated(name) is dated


# Types and tiers (G-4)


@pytest.mark.parametrize(
    ("doc_id", "kind", "tier"),
    [
        ("vision", "vision", 0),
        ("prd", "prd", 1),
        ("PRD-2", "prd", 1),
        ("FEAT-001", "feat", 2),
        ("US-001", "us", 3),
        ("ADR-001", "adr", 4),
        ("ARCH-1", "architecture", 4),
        ("CONTRACT-001", "contract", 4),
        ("API-001", "api", 4),
        ("SD-001", "sd", 5),
        ("TD-001", "td", 6),
        ("td-001", "td", 6),
        ("TP-001", "tp", 7),
        ("TC-001", "test", 8),
        ("EXEC-001", "exec", 8),
        ("MET-001", "metric", 8),
        ("IP-001", "implementation-plan", 9),
        ("AR-001", "review", None),
        ("BF-001", "report", None),
        ("RPT-001", "report", None),
        ("REQ-001", "", None),
        ("helix.workflow", "", None),
        ("TD-list", "", None),
    ],
)
def test_an_ids_prefix_gives_type_and_tier(doc_id, kind, tier):
    assert type_of("docs/helix/page.md", doc_id, "") == kind
    assert tier_of(kind) == tier


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("docs/helix/01-frame/prd.md", "prd"),
        ("docs/helix/00-discover/product-vision.md", "vision"),
        ("docs/helix/02-design/architecture.md", "architecture"),
        ("docs/helix/03-test/test-plan.md", "tp"),
        ("docs/helix/04-build/implementation-plan.md", "implementation-plan"),
        ("docs/helix/parking-lot.md", "parking-lot"),
        ("docs/helix/01-frame/features/search.md", "feat"),
        ("docs/helix/01-frame/features/more/search.md", "feat"),
        ("docs/helix/01-frame/user-stories/search.md", "us"),
        ("docs/helix/02-design/adr/search.md", "adr"),
        ("docs/helix/02-design/contracts/search.md", "contract"),
        ("docs/helix/02-design/solution-designs/search.md", "sd"),
        ("docs/helix/02-design/technical-designs/search.md", "td"),
        ("docs/helix/03-test/test-plans/search.md", "tp"),
        ("docs/helix/06-iterate/reports/search.md", "report"),
        ("docs/helix/parking-lot/search.md", "parking-lot"),
        ("docs/helix/principles.md", ""),
    ],
)
def test_a_page_without_a_telling_id_goes_by_its_name_and_its_folder(path, kind):
    assert type_of(path, "some.id", "") == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("02-design/plan-2026-03-27.md", "plan"),
        ("02-design/plan-2026-03-27-cli.md", "plan"),
        ("02-design/technical-designs/2026-03-27-thoughts.md", "plan"),
        ("04-build/implementation-plan-2026-03-27.md", "plan"),
        ("06-iterate/alignment-reviews/AR-2026-03-27.md", "review"),
        ("06-iterate/AR-2026-03-27-cli.md", "review"),
        ("06-iterate/backfill-reports/BF-2026-03-27.md", "report"),
        ("06-iterate/RPT-2026-03-27.md", "report"),
        ("06-iterate/reports/2026-03-27-cost.md", "report"),
    ],
)
def test_a_page_of_one_day_has_no_authority_wherever_it_lies(path, kind):
    path = f"docs/helix/{path}"
    assert type_of(path, identity(path, ""), "") == kind
    assert tier_of(kind) is None


def test_a_day_in_the_declared_id_counts_as_one_in_the_name():
    assert type_of("docs/helix/adr/review.md", "AR-2026-03-27", "") == "review"


def test_a_number_counts_more_than_a_day():
    path = "docs/helix/02-design/adr/ADR-012-2026-01-15-use-git.md"
    assert type_of(path, identity(path, ""), "") == "adr"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("td", "td"),
        ("Technical Design", "td"),
        ("user_story", "us"),
        ("feature", "feat"),
        ("implementation_plan", "implementation-plan"),
        ("alignment-review", "review"),
        ("report", "report"),
        ("plan", "plan"),
        ("essay", "feat"),
        ("", "feat"),
    ],
)
def test_front_matter_says_the_type_unless_nobody_knows_the_word(declared, kind):
    assert type_of("docs/helix/adr/FEAT-001.md", "FEAT-001", declared) == kind


def test_a_parked_page_has_no_authority_whatever_else_it_says():
    kind = type_of("docs/helix/features/FEAT-001.md", "FEAT-001", "prd", parked=True)
    assert (kind, tier_of(kind)) == ("parking-lot", None)


def test_what_has_no_authority_is_outranked_and_the_unknown_is_not_compared():  # G-5
    known = [*TIERS, *WITHOUT_AUTHORITY]
    assert outranks("prd", "feat")
    assert not outranks("feat", "prd")
    assert not outranks("adr", "contract")
    assert all(outranks(kind, "report") for kind in TIERS)
    assert not any(outranks(kind, "") or outranks("", kind) for kind in known)


# Names in links (G-3)


@pytest.mark.parametrize(
    ("name", "doc_id"),
    [
        ("TD-036", "TD-036"),
        ("td-036", "TD-036"),
        ("TD-036-list-servers", "TD-036"),
        (" TD-036 ", "TD-036"),
        ("PRD", "prd"),
        ("TD-036x", ""),
        ("TD-03", ""),
        ("TD", ""),
        ("", ""),
    ],
)
def test_a_link_means_an_id_in_any_case_with_or_without_its_slug(name, doc_id):
    assert resolve(name, {"td-036": "TD-036", "prd": "prd"}) == doc_id
