"""What governs a bead is read from the base, once for each state of its documents (X-11, D-6)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.beads import bead

from ddx.documents.committed import DocumentRank
from ddx.git import commands as git
from ddx.project.project import Project
from ddx.project.settings import Settings
from ddx.proof.governing import Governance, drifted_documents
from ddx.testing import make_repo
from ddx.tracker.bead import Bead

HOME = "docs/helix"
TD, PRD, EXEC = f"{HOME}/TD-1.md", f"{HOME}/prd.md", f"{HOME}/EXEC-1.md"
METRIC = f"{HOME}/06-iterate/metrics/start-up.yaml"
CACHE = "committed.idx"


class GoverningScene:
    """A project with committed documents, and a clone of it that an agent could work in."""

    def __init__(self, folder: Path) -> None:
        self.project = make_repo(folder / "shop")
        self.root = Path(self.project.root)
        self.space = folder / "space"

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def commit(self, **texts: str) -> str:
        for name, text in texts.items():
            self.write(f"{HOME}/{name.replace('_', '-')}.md", text)
        assert git.run(str(self.root), "add", "-A", ":!.ddx").ok
        assert git.run(str(self.root), "commit", "--quiet", "-m", "more").ok
        return git.commit_id(str(self.root), "HEAD")

    def clone(self, base: str) -> str:
        """Detached at the base, as a workspace is."""
        space = f"{self.space}-{len(list(self.space.parent.iterdir()))}"
        words = ("clone", "--quiet", "--shared", "--no-checkout", str(self.root), space)
        assert git.run(str(self.root), *words).ok
        assert git.run(space, "checkout", "--quiet", "--detach", base).ok
        return space

    def governing(self, base: str, *, checkout: str = "", **fields: Any) -> Governance:
        row = bead(**fields)
        return Governance.read(
            self.project,
            [Bead(row["id"], row)],
            checkout=checkout or self.clone(base),
            base=base,
            settings=Settings({"docs.roots": [HOME, "more/docs"]}, {}),
        )

    @property
    def cache(self) -> Path:
        return self.root / ".ddx/cache" / CACHE


@pytest.fixture
def shop(tmp_path: Path) -> GoverningScene:
    return GoverningScene(tmp_path)


def page(*lines: str, body: str = "# Page") -> str:
    head = "".join(f"  {line}\n" for line in lines)
    return f"---\nddx:\n{head}---\n{body}\n"


def chain(shop: GoverningScene) -> str:
    shop.write(METRIC, "direction: lower\ncommand: measure\nratchet: true\n")
    return shop.commit(
        prd="# GoverningScene\n",
        TD_1=page("depends_on: [prd]"),
        EXEC_1=page("depends_on: [prd]", "execution: {command: make, required: true}"),
    )


def test_documents_executions_ratchets_and_files_of_the_base(shop):
    found = shop.governing(chain(shop), spec__id="TD-1")
    assert [(it.id, it.path, it.tier) for it in found.documents] == [
        ("TD-1", TD, 6),
        ("prd", PRD, 1),
    ]
    assert [it.id for it in found.required] == ["EXEC-1"]
    assert [it.name for it in found.ratchets] == ["start-up"]
    assert found.errors == ()
    assert found.files.keys() == {TD, PRD, EXEC, METRIC}
    assert (found.files[PRD], found.files[METRIC].tier) == (DocumentRank("prd", 1), 8)


def test_what_is_not_committed_does_not_count(shop):
    base = chain(shop)
    shop.write(f"{HOME}/EXEC-2.md", page("execution: {command: other, required: true}"))
    shop.write(TD, page("depends_on: []"))
    found = shop.governing(base, spec__id="TD-1")
    assert [it.id for it in found.documents] == ["TD-1", "prd"]
    assert [it.id for it in found.required] == ["EXEC-1"]


def test_without_documents_nothing_is_read_and_nothing_is_kept(shop):
    base = git.commit_id(str(shop.root), "HEAD")
    found = shop.governing(base, checkout=str(shop.root), spec__id="TD-1")
    assert found == Governance(base)
    assert not shop.cache.exists()


def test_a_folder_that_holds_nothing_committed_is_no_documents(shop):
    base = git.commit_id(str(shop.root), "HEAD")
    shop.write(TD, "# not committed\n")
    assert shop.governing(base, checkout=str(shop.root), spec__id="TD-1") == Governance(base)


# Kept for the next attempt


def test_documents_are_read_once_for_each_state_of_their_folders(shop):
    base = chain(shop)
    first = shop.governing(base, spec__id="TD-1")
    assert shop.cache.exists()
    shop.write("src/app.py", "code")
    later = shop.commit()
    space = Path(shop.clone(later))
    (space / TD).write_text("never read")  # the trees are the same, so no file is looked at
    found = shop.governing(later, checkout=str(space), spec__id="TD-1")
    assert (found.documents, found.definitions) == (first.documents, first.definitions)
    assert (found.files, found.ratchets) == (first.files, first.ratchets)


@pytest.mark.parametrize("path", [TD, METRIC, "more/docs/ADR-1.md"])
def test_a_change_in_any_of_the_folders_means_reading_again(shop, path):
    first = shop.governing(chain(shop), spec__id="TD-1")
    shop.write(path, page("depends_on: [EXEC-1]") if path.endswith(".md") else "direction: x\n")
    assert shop.governing(shop.commit(), spec__id="TD-1") != first


def test_a_broken_definition_is_an_error_from_the_cache_too(shop):
    chain(shop)
    shop.write(METRIC, "direction: [\n")
    base = shop.commit()
    first = shop.governing(base, spec__id="TD-1")
    assert shop.governing(base, spec__id="TD-1").errors == first.errors
    assert first.errors[0].startswith(METRIC)


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_cache_is_made_anew(shop, damage):
    base = chain(shop)
    first = shop.governing(base, spec__id="TD-1")
    whole = shop.cache.read_bytes()
    shop.cache.write_bytes(whole[:-1] + b"?" if damage is None else damage)
    assert shop.governing(base, spec__id="TD-1").documents == first.documents
    assert shop.cache.read_bytes() == whole


def test_a_cache_that_came_from_elsewhere_is_never_unpacked(shop, tmp_path):
    """The same bytes in another folder: its author cannot have known which."""
    base = chain(shop)
    shop.governing(base, spec__id="TD-1")
    other = GoverningScene(tmp_path / "other")
    other.write(TD, page())
    kept = other.root / ".ddx/cache" / CACHE
    kept.parent.mkdir(parents=True)
    kept.write_bytes(shop.cache.read_bytes())
    row = bead(spec__id="TD-1")
    found = Governance.read(
        Project(str(other.root)),
        [Bead(row["id"], row)],
        checkout=shop.clone(base),
        base=base,
        settings=Settings({"docs.roots": [HOME]}, {}),
    )
    assert [it.id for it in found.documents] == ["TD-1", "prd"]
    assert kept.read_bytes() != shop.cache.read_bytes()


def test_a_document_that_is_a_link_is_not_kept_and_guards_what_is_behind_it(shop):
    shop.write("PRD.md", "# The real one\n")
    (shop.root / HOME).mkdir(parents=True)
    (shop.root / PRD).symlink_to("../../PRD.md")
    base = shop.commit(TD_1=page("depends_on: [prd]"))
    found = shop.governing(base, spec__id="TD-1")
    assert found.files["PRD.md"] == found.files[PRD] == DocumentRank("prd", 1)
    assert not shop.cache.exists()


def test_files_that_the_graph_leaves_out_are_documents_too(shop):
    base = shop.commit(TD_1=page(), TD_2=page("id: TD-1"), TD_3="---\nddx: [\n---\n")
    found = shop.governing(base, spec__id="TD-1")
    assert found.files[f"{HOME}/TD-2.md"] == DocumentRank("TD-2", 6)
    assert found.files[f"{HOME}/TD-3.md"] == DocumentRank("TD-3", 6)
    assert [error for error in found.errors if "the id TD-1" in error]


def test_a_project_in_a_folder_of_its_repository_has_its_own_documents(shop):
    shop.write(f"app/{TD}", page())
    shop.write(TD, page("depends_on: [prd]"))
    base = shop.commit()
    row = bead(spec__id="TD-1")
    found = Governance.read(
        Project(str(shop.root / "app")),
        [Bead(row["id"], row)],
        checkout=os.path.join(shop.clone(base), "app"),
        base=base,
        settings=Settings({"docs.roots": [HOME]}, {}),
    )
    assert found.files.keys() == {TD}
    assert [(it.id, it.path) for it in found.documents] == [("TD-1", TD)]
    shop.write(f"app/{TD}", page(body="# Another"))
    drifted = drifted_documents(found, repository=str(shop.root / "app"), tip=shop.commit())
    assert drifted == ("TD-1",)


# Drift at the landing boundary (D-6)


@pytest.mark.parametrize(
    ("texts", "drifted"),
    [
        ({"TD_1": page("depends_on: [prd]", body="# Changed")}, ("TD-1",)),
        ({"prd": "# Changed\n"}, ("prd",)),
        ({"prd": "# Changed\n", "TD_1": page()}, ("TD-1", "prd")),
        ({"EXEC_1": page()}, ()),
        ({"US_1": page()}, ()),
        ({"prd": "# GoverningScene\r\n"}, ()),
        ({"TD_1": page("depends_on: [prd]", "review: {deps: {prd: abc}}")}, ()),
    ],
)
def test_a_governing_document_drifts_by_its_content(shop, texts, drifted):
    found = shop.governing(chain(shop), spec__id="TD-1")
    tip = shop.commit(**texts)
    assert drifted_documents(found, repository=str(shop.root), tip=tip) == drifted


def test_what_the_attempt_itself_changed_is_no_drift(shop):
    found = shop.governing(chain(shop), spec__id="TD-1")
    tip = shop.commit(TD_1=page(), prd="# Changed\n")
    assert drifted_documents(found, repository=str(shop.root), tip=tip, ignoring=[TD]) == ("prd",)


def test_a_document_that_is_gone_or_moved_has_drifted(shop):
    found = shop.governing(chain(shop), spec__id="TD-1")
    os.rename(shop.root / PRD, shop.root / HOME / "product.md")
    tip = shop.commit()
    assert drifted_documents(found, repository=str(shop.root), tip=tip) == ("prd",)


def test_nothing_drifts_while_the_branch_stands_still(shop):
    base = chain(shop)
    found = shop.governing(base, spec__id="TD-1")
    assert drifted_documents(found, repository="/nowhere", tip=base) == ()
