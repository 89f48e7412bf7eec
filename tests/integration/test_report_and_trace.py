"""`helix report` and `helix trace` in a real little repository with real attempts (V-3, V-4)."""

# @requirement TC-504

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from tests.support.attempts import Workshop, make_workshop, writes
from tests.support.documents import AT
from tests.support.tracker import ROOT, bead

HELIX = str(ROOT / "bin/helix")
SCHEMAS = ROOT / "docs/reference/schemas"
HOSTILE = '</title><script>alert("x")</script> $(touch pwned) `touch pwned`'
DOCUMENTS = {
    "docs/helix/01-frame/prd.md": "# ReportScene\n\n[[FEAT-001, FEAT-002, FEAT-003]]\n",
    "docs/helix/01-frame/features/FEAT-001-cart.md": "# Cart\n",
    "docs/helix/01-frame/features/FEAT-002-pay.md": f"# {HOSTILE}\n",
    "docs/helix/01-frame/features/FEAT-003-search.md": "# Search\n",
    "docs/helix/02-design/technical-designs/TD-001-cart.md": (
        "# Cart design\n\n[[FEAT-001]]\n\n## TC-001: it adds up\n"
    ),
    "docs/helix/02-design/technical-designs/TD-003-search.md": "# Index\n\n[[FEAT-003]]\n",
    "docs/helix/06-iterate/metrics/size.yaml": (
        "unit: kB\ndirection: lower\nratchet: true\ncommand: echo 12\n"
    ),
    "tests/test_cart.py": f"# {AT}spec-ref TD-001\n",
    "src/search.py": f"# {AT}spec-ref TD-003\n",
}


class ReportScene(Workshop):
    def answer(self, command: str, *words: str) -> Any:
        """The --json answer, which must fit its schema."""
        found = self.helix(command, *words, "--json").json
        schemas = {path.stem: json.loads(path.read_text("utf-8")) for path in SCHEMAS.glob("*")}
        registry: Registry[Any] = Registry().with_resources(
            (f"{name}.json", Resource.from_contents(text)) for name, text in schemas.items()
        )
        Draft202012Validator(schemas[f"helix-{command}"], registry=registry).validate(found)
        return found

    def report(self, *words: str) -> Any:
        return self.answer("report", *words)

    def trace(self, what: str) -> Any:
        return self.answer("trace", what)


def nodes(tree: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in tree:
        yield node
        yield from nodes(node["children"])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> ReportScene:
    """Three landed, of which two in one attempt; one preserved, one blocked, one still open."""
    folder = tmp_path_factory.mktemp("shop")
    plain = make_workshop(
        folder,
        writes("app-1", "cart.txt", **{"spec-id": "TD-001"}, priority=0),
        bead("epic", issue_type="epic", **{"spec-id": "FEAT-001"}),
        writes("app-2", "sum.txt", parent="epic", priority=1),
        bead(
            "app-3",
            acceptance="- `test -f never.txt` passes",
            script="write other.txt by app-3\nusage 50 5\n",
            **{"spec-id": "TD-003"},
        ),
        bead("app-4", status="blocked", **{"blocked-reason": HOSTILE, "spec-id": "FEAT-002"}),
        bead("app-5", title=HOSTILE, priority=4, issue_type="decision"),
    )
    found = ReportScene(plain.root, home=plain.home)
    for path, text in DOCUMENTS.items():
        (found.root / path).parent.mkdir(parents=True, exist_ok=True)
        (found.root / path).write_text(text)
    found.commit("documents by hand")
    run_agent(found, "execute-bead", "app-1")
    run_agent(found, "execute-bead", "app-2")
    run_agent(found, "execute-bead", "app-3", code=1)
    (found.root / "src/search.py").write_text(f"# {AT}spec-ref TD-003\nindex = {{}}\n")
    found.commit("search, by hand")
    (found.root / "notes.txt").write_text("x\n")
    found.commit("notes, by hand")
    found.run(str(ROOT / "bin/ddx"), "metric", "run", "size")
    return found


def run_agent(shop: Workshop, *words: str, code: int = 0) -> None:
    shop.agent(*words, "--harness", "script", code=code)


def test_a_report_counts_what_was_asked_landed_preserved_and_blocked(shop: ReportScene):
    found = shop.report()
    numbers = {name: count for name, count in found["counts"].items() if count}
    assert numbers == {"asked": 5, "landed": 2, "preserved": 1, "blocked": 1, "open": 1}
    beads = {row["id"]: row for row in found["beads"]}
    assert beads["app-1"]["commit"] == shop.rows()["app-1"]["closing_commit_sha"]
    assert beads["app-3"]["ref"] in shop.refs()
    assert found["harnesses"][0] == {
        "key": "script",
        "attempts": 3,
        "completed": 2,
        "tokens": 55,
        "cost_usd": None,
    }
    assert found["spent"]["unknown"] == 1
    assert found["attempts_per_bead"] == [{"attempts": 1, "beads": 3, "is_more": False}]
    assert found["memory"] == []
    assert found["days"][0]["landed"] == 2


def test_coverage_follows_each_requirement_and_marks_the_gap(shop: ReportScene):
    found = {row["id"]: row for row in shop.report()["coverage"]}
    assert list(found) == ["FEAT-001", "FEAT-002", "FEAT-003"]
    assert found["FEAT-001"]["missing"] is None
    assert {proof["id"] for proof in found["FEAT-001"]["evidence"]} == {"app-1", "app-2"}
    assert found["FEAT-002"]["missing"] == "design"
    assert found["FEAT-003"]["missing"] == "test"


def test_a_ratchet_has_its_trend(shop: ReportScene):
    (size,) = shop.report()["ratchets"]
    assert (size["name"], size["direction"]) == ("size", "lower")
    assert [point["value"] for point in size["points"]] == [12] * 4  # three attempts, and by hand
    assert size["floor"] == 12


def test_what_needs_a_person_comes_with_what_to_type(shop: ReportScene):
    needs = {need["what"].split()[0]: need["next"] for need in shop.report()["needs"]}
    assert needs.keys() == {"app-3", "app-4", "app-5"}
    for command in needs.values():
        program, *words = shlex.split(command)
        assert shop.run(str(ROOT / "bin" / program), *words).code == 0


def test_a_scope_is_what_the_report_is_about(shop: ReportScene):  # C-10
    found = shop.report("FEAT-001")
    assert {row["id"] for row in found["beads"]} == {"app-1", "app-2"}  # the epic is only a roof
    assert [row["id"] for row in found["coverage"]] == ["FEAT-001"]
    epic = shop.report("epic")
    assert {row["id"] for row in epic["beads"]} == {"app-2"}
    assert [row["id"] for row in epic["coverage"]] == ["FEAT-001"]
    unknown = shop.helix("report", "nothing-like-it", code=2)
    assert "'nothing-like-it'" in unknown.err


def test_since_leaves_out_what_happened_before(shop: ReportScene):
    found = shop.report("--since", "2099-01-01")
    assert (found["counts"]["landed"], found["counts"]["asked"]) == (0, 0)
    assert found["counts"]["blocked"] == 1  # that is how it stands
    assert found["spent"]["calls"] == 0
    assert shop.report("--since", "1h")["counts"]["landed"] == 2
    assert "--since" in shop.helix("report", "--since", "soon", code=2).err


def test_a_day_begins_at_midnight_where_the_person_is(shop: ReportScene):  # C-4
    found = shop.helix("report", "--since", "2026-03-01", "--json", TZ="Asia/Tokyo").json
    assert found["since"] == "2026-02-28T15:00:00.000000Z"


def test_a_report_changes_nothing_and_needs_no_trust(shop: ReportScene):  # V-3, X-22
    before = shop.worth_tracking(), shop.refs(), shop.tip()
    text = shop.helix("report", HELIX_TRUST="0").out
    assert (shop.worth_tracking(), shop.refs(), shop.tip()) == before
    assert text.startswith("# app: 2 of 5 beads landed; 1 preserved, 1 blocked and 1 open\n")
    assert "<script>" not in re.sub(r"(`+).*?\1", "", text)


def test_what_a_gap_calls_for_can_be_typed_as_it_stands(shop: ReportScene, tmp_path: Path):  # V-3
    copy = shop.checked_out(tmp_path / "copy")
    shop.git("clone", "--quiet", str(shop.root), str(copy.root))
    follow_ons = [item for item in shop.report()["follow_ons"] if "triage" in item["command"]]
    assert [item["document"] for item in follow_ons] == ["FEAT-002", "FEAT-003"]
    for item in follow_ons:
        line = f"export PATH={ROOT / 'bin'}:$PATH; {item['command']}"
        variables = {"HELIX_TRUST": "1", "XDG_CACHE_HOME": str(shop.cache)}
        assert copy.run("sh", "-c", line, **variables).id in copy.rows()
    assert not (copy.root / "pwned").exists()
    seen = copy.run(HELIX, "report", "--json").json["follow_ons"]
    assert all(item["filed"] in copy.rows() for item in seen)


def test_the_page_is_written_whole_and_over_an_older_one_only(shop: ReportScene, tmp_path: Path):
    page = tmp_path / "new" / "report.html"
    assert shop.helix("report", "--html", str(page)).out == f"{os.path.realpath(page)}\n"
    first = page.read_text("utf-8")
    assert "2 of 5 beads landed" in first
    assert "<script" not in first
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    shop.helix("report", "FEAT-001", "--html", str(page))
    assert page.read_text("utf-8") != first
    assert shop.helix("report", "--html", str(page), "--json").json["project"] == "app"
    foreign = tmp_path / "mine.html"
    foreign.write_text("<p>my own page</p>")
    refused = shop.helix("report", "--html", str(foreign), code=1)
    assert "mine.html" in refused.err
    assert foreign.read_text() == "<p>my own page</p>"


@pytest.mark.parametrize("given", ["", ".", "-", "docs", "/dev/null"])
def test_a_page_goes_into_a_file_and_nowhere_else(shop: ReportScene, given: str):
    assert "--html" in shop.helix("report", "--html", given, code=2).err


def test_a_page_below_a_file_is_a_clear_error(shop: ReportScene):
    failed = shop.helix("report", "--html", "README.md/report.html", code=1)
    assert "README.md" in failed.err


def test_a_damaged_record_is_named_and_the_rest_counts(shop: ReportScene):
    name = shop.attempts()[0]
    path = shop.folder / "executions" / name / "result.json"
    whole = path.read_bytes()
    path.write_bytes(b"{")
    try:
        found = shop.report()
        assert name in found["left_out"][0]
        assert found["harnesses"][0]["attempts"] == 2
        assert name in shop.helix("trace", "FEAT-001").err
    finally:
        path.write_bytes(whole)


def test_a_repository_without_a_tracker_has_an_empty_report(tmp_path: Path, shop: ReportScene):
    bare = ReportScene(tmp_path / "bare", home=shop.home)
    bare.root.mkdir()
    bare.git("init", "--quiet")
    assert bare.report()["counts"]["asked"] == 0
    assert "Nothing was asked yet" in bare.helix("report").out


def test_what_was_measured_is_evidence(tmp_path: Path):  # V-1
    plain = make_workshop(tmp_path, writes("app-1", "a.txt"))
    shop = ReportScene(plain.root, home=plain.home)
    prd = shop.root / "docs/helix/01-frame/prd.md"
    prd.parent.mkdir(parents=True)
    prd.write_text("# ReportScene\n\n[[TD-001]]\n")
    (prd.parent / "TD-001.md").write_text("# Design\n")
    (shop.root / "tests").mkdir()
    (shop.root / "tests/cart.sh").write_text(
        f"# {AT}spec-ref TD-001\necho 1..1\necho ok 1 - tests/cart.sh adds up\n"
    )
    (shop.folder / "config.yaml").write_text("checks: {default: [sh tests/cart.sh]}\n")
    shop.commit("documents and a test")
    run_agent(shop, "execute-bead", "app-1")
    assert shop.report()["coverage"][0]["missing"] == "evidence"
    measured = shop.helix("measure", code=None)
    found = shop.report()
    assert found["spent"]["calls"] == 1, measured  # nobody was asked to measure
    (row,) = found["coverage"]
    assert [(it["kind"], it["id"], it["passed"]) for it in row["evidence"]] == [
        ("test", "tests/cart.sh", True)
    ]
    assert row["missing"] is None


FEATURE = "docs/helix/01-frame/features/FEAT-001-cart.md"


@pytest.fixture
def written(tmp_path: Path) -> ReportScene:
    """A feature that a bead wrote, and two beads that only a person can settle."""
    plain = make_workshop(
        tmp_path,
        bead(
            "app-1",
            acceptance=f"- `{FEATURE}` exists",
            labels=["helix", "kind:document"],
            script=f"write {FEATURE} # Cart\n",
            paths=[FEATURE],
            **{"spec-id": "prd"},
        ),
        bead("app-2", title="Which price?", labels=["kind:escalation"]),
        bead("app-3", title="Where is TD-9?", labels=["kind:gap"]),
    )
    shop = ReportScene(plain.root, home=plain.home)
    prd = shop.root / "docs/helix/01-frame/prd.md"
    prd.parent.mkdir(parents=True)
    prd.write_text("# ReportScene\n\n[[FEAT-001]]\n")
    shop.commit("documents")
    run_agent(shop, "execute-bead", "app-1")
    return shop


def test_to_write_a_document_proves_no_requirement(written: ReportScene):  # V-3
    report = written.report()
    assert report["counts"]["landed"] == 1
    assert [(row["id"], row["evidence"]) for row in report["coverage"]] == [("FEAT-001", [])]


def test_escalations_and_gaps_need_a_person(written: ReportScene):  # V-3
    needs = [need["what"] for need in written.report()["needs"]]
    assert needs == [
        "app-2 is to be decided: Which price?",
        "app-3 is to be decided: Where is TD-9?",
    ]


def test_a_document_and_the_commit_that_wrote_it_meet(written: ReportScene):  # V-4
    tip = written.tip()
    assert written.trace("FEAT-001")["commits"] == [tip]
    assert written.trace("prd")["commits"] == [tip]
    assert written.trace(tip)["requirements"] == ["prd", "FEAT-001"]


# -- trace -----------------------------------------------------------------------------------


def test_every_commit_below_a_requirement_leads_back_to_it(shop: ReportScene):  # V-4
    met = 0
    for requirement in ("prd", "FEAT-001", "FEAT-003"):
        for commit in shop.trace(requirement)["commits"]:
            assert requirement in shop.trace(commit)["requirements"], (requirement, commit)
            met += 1
    assert met >= 6


def test_a_requirement_is_followed_through_designs_beads_and_attempts(shop: ReportScene):
    found = shop.trace("FEAT-001")
    kinds = {node["id"]: node["kind"] for node in nodes(found["below"])}
    for name, kind in (("TD-001", "document"), ("tests/test_cart.py", "test")):
        assert kinds[name] == kind
    for name in ("app-1", "app-2", "epic"):
        assert kinds[name] == "bead"
    landed = {shop.rows()[name]["closing_commit_sha"] for name in ("app-1", "app-2")}
    assert landed <= set(found["commits"])
    assert [node["id"] for node in found["above"]] == ["prd"]


def test_a_commit_is_followed_up_by_any_name_that_git_knows(shop: ReportScene):
    commit = shop.rows()["app-1"]["closing_commit_sha"]
    whole = shop.trace(commit)
    assert whole["requirements"] == ["FEAT-001", "prd"]
    assert [node["kind"] for node in nodes(whole["above"])] == [
        *("attempt", "bead", "document", "document", "document"),
    ]
    shop.git("tag", "the-cart", commit)
    assert shop.trace(commit[:9]) == shop.trace("the-cart") == whole


def test_what_is_kept_leads_up_as_well(shop: ReportScene):
    (ref,) = [ref for ref in shop.refs() if "app-3" in ref]
    assert shop.trace(ref)["requirements"] == ["FEAT-003", "prd"]
    assert shop.tip(ref) not in shop.trace("FEAT-003")["commits"]


def test_a_commit_by_hand_is_said_so_and_judged_by_its_files(shop: ReportScene):
    search = shop.trace("HEAD~1")
    assert "Mara made it by hand: no bead asked for it" in search["remarks"]
    assert search["requirements"] == ["FEAT-003", "prd"]
    notes = shop.trace("HEAD")
    assert notes["above"] == []
    assert "nothing that it touched says which document it belongs to" in notes["remarks"]


def test_a_file_that_is_gone_is_judged_by_what_it_said_then(shop: ReportScene):
    (shop.root / "src/old.py").write_text(f"# {AT}spec-ref TD-001\n")
    then = shop.commit("an old file")
    shop.git("rm", "--quiet", "src/old.py")
    shop.commit("and gone")
    assert shop.trace(then)["requirements"] == ["FEAT-001", "prd"]


def test_a_bead_a_part_of_a_document_and_an_attempt_can_be_traced(shop: ReportScene):
    app = shop.trace("app-2")
    assert app["requirements"] == ["FEAT-001", "prd"]
    assert app["commits"] == [shop.rows()["app-2"]["closing_commit_sha"]]
    part = shop.trace("TC-001")
    assert part["subject"]["kind"] == "part"
    assert "FEAT-001" in part["requirements"]
    attempt = shop.trace(shop.attempts()[0])
    assert attempt["requirements"] == ["FEAT-001", "prd"]
    assert attempt["commits"] == [shop.rows()["app-1"]["closing_commit_sha"]]
    assert "names no document" in shop.trace("app-5")["remarks"][0]


def test_a_file_is_there_because_of_its_commits(shop: ReportScene):
    made = shop.trace("cart.txt")
    commit = shop.rows()["app-1"]["closing_commit_sha"]
    assert (made["subject"]["kind"], made["requirements"]) == ("file", ["FEAT-001", "prd"])
    assert [node["kind"] for node in nodes(made["above"])][:3] == ["commit", "attempt", "bead"]
    assert made["above"][0]["id"] == commit
    assert shop.trace(str(shop.root / "cart.txt")) == shop.trace("./cart.txt") == made
    notes = shop.trace("notes.txt")
    assert (notes["requirements"], len(notes["above"])) == ([], 1)
    assert notes["above"][0]["note"].endswith("without a bead")
    assert "names a document" in notes["remarks"][0]


def test_a_file_is_meant_as_it_is_typed_in_a_folder_below(shop: ReportScene):
    typed = shop.run("sh", "-c", f"cd src && {HELIX} trace search.py --json").json
    assert typed == shop.trace("src/search.py")
    above = shop.run("sh", "-c", f"cd src && {HELIX} trace ../cart.txt --json").json
    assert above == shop.trace("cart.txt")


def test_a_file_with_a_tag_leads_to_all_commits_on_it(shop: ReportScene):
    found = shop.trace("src/search.py")
    assert (found["subject"]["kind"], found["requirements"]) == ("code", ["FEAT-003", "prd"])
    subjects = [node["title"] for node in found["below"]]
    assert subjects == ["search, by hand", "documents by hand"]


def test_one_test_leads_to_its_document_and_to_the_bead_that_its_failing_made(tmp_path: Path):
    name = "tests/test_cart.py::test_adds"
    filed = bead("app-1", **{"spec-id": "FEAT-001", "failing-tests": [name]})
    plain = make_workshop(tmp_path, filed, bead("app-2", **{"failing-tests": [f"{name}_more"]}))
    shop = ReportScene(plain.root, home=plain.home)
    for path, text in {
        "docs/helix/01-frame/features/FEAT-001-cart.md": "# Cart\n",
        "tests/test_cart.py": f"# {AT}spec-ref FEAT-001\n",
    }.items():
        (shop.root / path).parent.mkdir(parents=True, exist_ok=True)
        (shop.root / path).write_text(text)
    shop.commit("a test")
    found = shop.trace(name)
    assert (found["subject"]["id"], found["requirements"]) == (name, ["FEAT-001"])
    assert [node["kind"] for node in found["below"]] == ["bead", "commit"]
    assert found["below"][0]["id"] == "app-1"


def test_an_attempt_is_found_by_the_end_of_its_name_as_a_run_prints_it(shop: ReportScene):
    attempt = shop.attempts()[0]
    assert shop.trace(attempt.rpartition("-")[2]) == shop.trace(attempt)


def test_a_bead_keeps_its_commits_when_the_records_are_gone(tmp_path: Path):  # C-9
    plain = make_workshop(tmp_path, writes("app-1", "a.txt"), writes("app-2", "b.txt"))
    shop = ReportScene(plain.root, home=plain.home)
    run_agent(shop, "execute-bead", "app-1")
    run_agent(shop, "execute-bead", "app-2")
    tip = shop.tip()
    for name in shop.attempts():
        for file in sorted((shop.folder / "executions" / name).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (shop.folder / "executions" / name).rmdir()
    assert shop.trace("app-2")["commits"] == [tip]
    assert [row["standing"] for row in shop.report()["beads"]] == ["landed", "landed"]


@pytest.mark.parametrize("word", ["nothing-like-it", "FEAT-00", "", "-x", "--help-me"])
def test_what_is_nothing_here_is_a_mistake(shop: ReportScene, word: str):
    ended = shop.helix("trace", "--", word, code=2)
    assert ended.out == ""
    assert ended.err.count("\n") >= 2  # what, and what to type next (C-3)


def test_the_tree_is_drawn_for_a_person(shop: ReportScene):
    lines = shop.helix("trace", "FEAT-001").out.splitlines()
    assert lines[0] == "document FEAT-001  Cart"
    drawn = "\n".join(lines)
    assert "│   └── bead app-1  Do app-1  (closed)\n" in drawn
    assert "landed by script)\n" in drawn
    assert "└── commit " in drawn
