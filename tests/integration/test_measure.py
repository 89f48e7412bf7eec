"""`helix measure`: real git, real commands, and what the tracker says afterwards (V-1, V-2)."""

# @spec-ref TD-006

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.attempts import CLEAN, Workshop
from tests.support.documents import AT
from tests.support.tracker import ROOT, Row, bead, make_repository, wait_for

from ddx.attempts.work import open_site
from ddx.base.clock import Clock
from ddx.project.project import Project
from helix.passes.scope import resolve_scope
from helix.project.settings import read_slider
from helix.verification.measurement import measure

HELIX = str(ROOT / "bin/helix")
LANDED = {
    "status": "closed",
    "closed_at": "2025-11-02T10:00:00Z",
    "closing_commit_sha": "1" * 40,
    "session_id": "20251102T100000-abcdef",
}
PRD = """\
---
ddx: {id: prd}
---
# MeasureScene

## Requirements

- A sum must be shown in under 50 ms.
"""
DESIGN = """\
---
ddx: {id: TD-001, depends_on: [prd]}
---
# Sums

## Requirements

- Sums are rounded to cents.
"""
TAP_TEST = f"""\
# {AT}spec-ref TD-001
import shop

print("1..2")
print("ok 1 - starts")
if shop.SUM == 3:
    print("ok 2 - adds up")
else:
    print("not ok 2 - adds up")
    print("  ---")
    print(f"  message: got {{shop.SUM}}")
    print("  ...")
raise SystemExit(shop.SUM != 3)
"""
JUNIT_TEST = """\
import sys
import shop

ending = "" if shop.TAX == 7 else "<failure message='no tax'>assert TAX == 7</failure>"
with open(sys.argv[1], "w") as file:
    file.write(
        "<testsuites><testsuite name='shop'>"
        f"<testcase classname='tests.test_tax' name='test_tax'>{ending}</testcase>"
        "<testcase classname='tests.test_tax' name='test_other'/></testsuite></testsuites>"
    )
raise SystemExit(shop.TAX != 7)
"""
SUM = "PYTHONPATH=. python3 tests/check_sum.py"
TAX = "PYTHONPATH=. python3 tests/test_tax.py out/report.xml"


class MeasureScene(Workshop):
    def land(self, message: str = "change", **files: str) -> None:
        for path, text in files.items():
            self.put(path, text)
        self.commit(message)

    def measure(self, *words: str, code: int = 0, **variables: str) -> dict[str, Any]:
        found: dict[str, Any] = self.helix("measure", *words, "--json", code=code, **variables).json
        return found

    def traced(self, *, status: str = "") -> list[Row]:
        """Beads that measures filed, in the order of their titles."""
        rows = [row for row in self.rows().values() if "traceback" in row]
        found = [row for row in rows if status in ("", row["status"])]
        return sorted(found, key=lambda row: str(row["title"]))

    def events(self, bead_id: str) -> list[Row]:
        found: list[Row] = self.ddx("events", bead_id, "--json").json
        return found


def make_shop(folder: Path, *rows: Row, shop: str = "SUM = 3\nTAX = 7\n") -> MeasureScene:
    plain = make_repository(folder)
    made = MeasureScene(plain.root, home=plain.home)
    made.put("docs/helix/01-frame/prd.md", PRD)
    made.put("docs/helix/02-design/technical-designs/TD-001-sums.md", DESIGN)
    made.put("tests/check_sum.py", TAP_TEST)
    made.put("tests/test_tax.py", JUNIT_TEST)
    made.put("shop.py", shop)
    made.file_beads(*(rows or (landed("app-1", SUM),)))
    return made


def landed(bead_id: str, *commands: str, **fields: Any) -> Row:
    return bead(bead_id, acceptance="", verify=list(commands), **LANDED, **fields)


def test_what_landed_and_still_holds_passes_and_leaves_its_evidence(tmp_path):
    shop = make_shop(tmp_path)
    before = shop.worth_tracking()
    found = shop.measure()
    assert found["passed"] and found["beads"] == ["app-1"]
    assert found["counts"] == {"passed": 2, "failed": 0, "error": 0, "skipped": 0}
    kept = json.loads((shop.root / found["path"]).read_text())
    assert found["path"] == f".ddx/executions/{found['id']}/measure.json"
    assert [test["id"] for test in kept["tests"]] == [
        "tests/check_sum.py::starts",
        "tests/check_sum.py::adds up",
    ]
    assert kept["tests"][0]["spec"] == "TD-001"
    assert shop.worth_tracking() == before
    assert shop.leftover() == CLEAN


def test_the_operators_checkout_is_never_looked_at_nor_run_in(tmp_path):
    shop = make_shop(tmp_path)
    shop.put("shop.py", "SUM = 4\n")
    assert shop.measure()["passed"]
    assert not list(shop.root.rglob("__pycache__"))


def test_a_failing_test_with_a_spec_ref_becomes_a_bug_of_its_document(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\nTAX = 7\n")
    found = shop.measure(code=1)
    (row,) = shop.traced()
    assert found["created"] == [row["id"]]
    assert row["title"] == "Implementation does not meet spec: TD-001, adds up"
    assert (row["spec-id"], row["verify"], row["status"]) == ("TD-001", [SUM], "open")
    assert row["failing-tests"] == ["tests/check_sum.py::adds up"]
    assert row["discovered-from"] == "app-1"
    assert "got 4" in row["description"] and found["path"] in row["description"]
    assert {"helix", "activity:build", "kind:build"} <= set(row["labels"])
    assert row["id"] in [each["id"] for each in shop.ddx("ready", "--execution", "--json").json]


def test_the_same_failure_again_is_an_event_and_what_passes_again_is_closed(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\nTAX = 7\n")
    (created,) = shop.measure(code=1)["created"]
    again = shop.measure(code=1)
    assert (again["created"], again["updated"]) == ([], [created])
    assert len(shop.traced()) == 1
    assert [it["summary"].split(" at ")[0] for it in shop.events(created)] == ["still fails"]

    shop.land(**{"shop.py": "SUM = 3\nTAX = 7\n"})
    fixed = shop.measure()
    assert fixed["closed"] == [created]
    row = shop.rows()[created]
    assert (row["status"], row["closing_commit_sha"]) == ("closed", shop.tip())
    assert row["close_reason"].startswith("its tests pass again")
    assert fixed["path"] in shop.events(created)[-1]["body"]
    assert shop.measure()["closed"] == []


def test_what_comes_and_goes_by_itself_opens_its_bead_again(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    (created,) = shop.measure(code=1)["created"]
    shop.land(**{"shop.py": "SUM = 3\n"})
    shop.measure()
    shop.land(**{"shop.py": "SUM = 5\n"})
    found = shop.measure(code=1)
    assert (found["created"], found["updated"]) == ([], [created])
    assert shop.rows()[created]["status"] == "open"


def test_a_failing_test_without_a_spec_ref_asks_for_one_and_is_traced_once_it_has_one(tmp_path):
    shop = make_shop(tmp_path, landed("app-1", TAX), shop="SUM = 3\nTAX = 0\n")
    shop.land(**{"out/.gitignore": "*.xml\n"})
    found = shop.measure(code=1)
    assert [test["id"] for test in found["failures"]] == ["tests/test_tax.py::test_tax"]
    (row,) = shop.traced()
    assert row["title"] == "Missing spec ref: tests/test_tax.py"
    assert row["paths"] == ["tests/test_tax.py"] and "spec-id" not in row

    shop.land(**{"tests/test_tax.py": f"# {AT}spec-ref TD-001\n{JUNIT_TEST}"})
    again = shop.measure(code=1)
    assert again["closed"] == [row["id"]]
    (second,) = shop.traced(status="open")
    assert second["title"] == "Implementation does not meet spec: TD-001, test_tax"


def test_a_conflict_upstream_becomes_an_escalation_with_both_documents(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    design = DESIGN + "- A sum must be shown in at least 200 ms.\n"
    shop.land(**{"docs/helix/02-design/technical-designs/TD-001-sums.md": design})
    shop.measure(code=1)
    (row,) = shop.traced()
    assert row["title"] == "Spec conflict detected: TD-001 against prd"
    assert (row["spec-id"], row["refs"]) == ("TD-001", ["prd"])
    assert "kind:escalation" in row["labels"] and row["execution-eligible"] is False
    assert "50 ms" in row["description"] and "200 ms" in row["description"]
    assert shop.measure(code=1)["created"] == []


def test_a_failing_check_that_is_no_test_report_files_nothing(tmp_path):
    shop = make_shop(tmp_path, landed("app-1", "false"))
    found = shop.measure(code=1)
    assert (found["created"], found["failures"], found["passed"]) == ([], [], False)
    assert not shop.traced()


def test_no_bead_is_proven_by_a_check_that_hides_its_failing_test(tmp_path):
    """Its attempt would find that all is well, and close it."""
    shop = make_shop(tmp_path, landed("app-1", f"{SUM} || true"), shop="SUM = 4\n")
    (filed,) = shop.measure(code=1)["created"]
    row = shop.rows()[filed]
    assert "verify" not in row and row["execution-eligible"] is False
    assert shop.measure(code=1)["updated"] == [filed]
    shop.land(**{"shop.py": "SUM = 3\n"})
    assert shop.measure()["closed"] == [filed]


def test_one_command_runs_once_however_many_ask_for_it(tmp_path):
    count = "echo run >> ../count; true"
    shop = make_shop(tmp_path, *(landed(f"app-{n}", count) for n in range(3)))
    shop.put(".ddx/checks/count.yaml", f"command: {json.dumps(count)}\n")
    shop.commit("check")
    found = shop.measure(XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert len(found["checks"]) == 1 and len(found["beads"]) == 3
    (counted,) = (tmp_path / "cache").rglob("count")
    assert counted.read_text() == "run\n"


def test_project_checks_required_executions_and_ratchets_are_run(tmp_path):
    shop = make_shop(tmp_path, landed("app-1", "true", **{"spec-id": "TD-001"}))
    shop.put(".ddx/checks/lint.yaml", "command: test -f shop.py\n")
    shop.put(
        "docs/helix/03-test/executions/EXEC-001-sums.md",
        "---\nddx:\n  id: EXEC-001\n  depends_on: [TD-001]\n  execution:\n"
        "    command: echo took 12 ms\n    required: true\n---\n# Sums\n",
    )
    shop.put(
        "docs/helix/06-iterate/metrics/speed.yaml",
        "unit: ms\ndirection: lower\ncommand: echo took 12 ms\noutput_pattern: 'took (.*)'\n"
        "ratchet: true\nfloor: 10\n",
    )
    shop.commit("more")
    found = shop.measure(code=1)
    names = {check["name"]: check["passed"] for check in found["checks"]}
    assert names["lint"] and names["true"] and names["EXEC-001"]
    assert names["speed"] is False
    assert not (shop.folder / "floors.jsonl").exists()


def test_only_the_scope_that_was_named_is_measured(tmp_path):  # C-10
    shop = make_shop(
        tmp_path,
        bead("app-e", issue_type="epic"),
        landed("app-1", "true", parent="app-e"),
        landed("app-2", "false"),
        bead("app-3", acceptance="", verify=["false"], parent="app-e"),
        landed("app-4", "false", **{"superseded-by": "app-1"}),
        landed("app-5", parent="app-e"),
    )
    done = shop.helix("measure", "app-e", "--json")
    assert done.json["beads"] == ["app-1"]
    assert "nothing can be run for app-5" in done.err
    assert shop.measure(code=1)["beads"] == ["app-1", "app-2"]
    assert shop.helix("measure", "nowhere", code=2).out == ""


def test_where_nothing_landed_nothing_is_proven(tmp_path):
    shop = make_shop(tmp_path, bead("app-1"))
    done = shop.helix("measure", code=1)
    assert "proves nothing" in done.out


def test_what_is_filed_for_an_epic_becomes_a_part_of_it(tmp_path):
    rows = (bead("app-e", issue_type="epic"), landed("app-1", SUM, parent="app-e"))
    shop = make_shop(tmp_path, *rows, shop="SUM = 4\n")
    shop.measure("app-e", code=1)
    assert shop.traced()[0]["parent"] == "app-e"


@pytest.mark.parametrize(
    ("setting", "statuses"),
    [("auto_traceback: false", []), ("failure_triage: manual", ["proposed"])],
)
def test_the_slider_says_whether_beads_are_filed(tmp_path, setting, statuses):  # I-3
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    shop.put(".helix/slider-config.yaml", f"verification:\n  {setting}\n")
    shop.measure(code=1)
    shop.measure(code=1)
    assert [row["status"] for row in shop.traced()] == statuses


def test_a_test_that_is_no_more_is_told_and_its_bead_stays(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    (created,) = shop.measure(code=1)["created"]
    less = 'print("1..1")\nprint("ok 1 - starts")\n'
    shop.land(**{"tests/check_sum.py": less})
    done = shop.helix("measure")
    assert f"tests/check_sum.py::adds up is no more; {created} stays as it is" in done.err
    assert shop.rows()[created]["status"] == "open"


def test_a_bead_that_somebody_works_on_is_not_closed_from_under_him(tmp_path):  # T-21
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    (created,) = shop.measure(code=1)["created"]
    shop.ddx("update", created, "--claim", "--owner", "ann")
    shop.land(**{"shop.py": "SUM = 3\n"})
    done = shop.helix("measure")
    assert f"{created} stays as it is" in done.err
    assert shop.rows()[created]["status"] == "in_progress"


def test_a_report_that_cannot_be_read_fails_the_measure(tmp_path):
    command = "mkdir -p out && echo '<testsuite>' > out/report.xml"
    shop = make_shop(tmp_path, landed("app-1", command))
    found = shop.measure(code=1)
    assert found["checks"][0]["passed"] and not found["passed"]
    assert "out/report.xml" in found["problems"][0]


def test_a_report_of_the_commit_is_an_old_story(tmp_path):
    shop = make_shop(tmp_path, landed("app-1", "cat junit.xml out.xml > /dev/null"))
    old = "<testsuite><testcase name='x'><failure/></testcase></testsuite>"
    shop.land(**{"junit.xml": old, "out.xml": old})
    assert shop.measure()["counts"]["failed"] == 0


def test_the_evidence_goes_where_the_caller_wants_it(tmp_path):
    shop = make_shop(tmp_path)
    found = shop.measure(DDX_EVIDENCE_DIR=str(tmp_path / "proof"))
    assert found["path"] == str(tmp_path / "proof/measure.json")
    assert json.loads(Path(found["path"]).read_text())["passed"]


def test_no_check_is_run_for_evidence_that_could_not_be_kept(tmp_path):
    shop = make_shop(tmp_path)
    failed = shop.helix("measure", code=2, DDX_EVIDENCE_DIR=str(shop.root / "shop.py/proof"))
    assert str(shop.root / "shop.py/proof") in failed.err
    assert "unset DDX_EVIDENCE_DIR" in failed.err
    assert not (shop.folder / "executions").exists()


def test_secrets_in_a_report_are_masked(tmp_path):
    case = "<testcase name='x'><failure>'$SHOP_TOKEN'</failure></testcase>"
    command = f'echo "<testsuite>{case}</testsuite>" > junit.xml; echo $SHOP_TOKEN; false'
    shop = make_shop(tmp_path, landed("app-1", command))
    found = shop.measure(code=1, SHOP_TOKEN="hunter2-hunter2-hunter2")
    assert found["failures"][0]["output"] == "'[masked SHOP_TOKEN]'"
    record = shop.folder / "executions" / found["id"]
    kept = b"".join(path.read_bytes() for path in record.rglob("*") if path.is_file())
    assert b"hunter2" not in kept + shop.file.read_bytes()


def test_commands_of_a_repository_nobody_trusts_are_not_run(tmp_path):
    shop = make_shop(tmp_path)
    shop.helix("measure", code=4, HELIX_TRUST="")


def test_inside_an_attempt_it_is_refused(tmp_path):
    shop = make_shop(tmp_path)
    shop.helix("measure", code=1, DDX_ATTEMPT_ID="x", DDX_PROJECT_ROOT=str(shop.root))


def test_two_measures_at_once_file_no_bead_twice(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    both = [
        subprocess.Popen(
            [HELIX, "measure"],
            cwd=shop.root,
            env=shop.variables(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait(120) for process in both] == [1, 1]
    assert len(shop.traced()) == 1


def test_ctrl_c_leaves_nothing_running_and_nothing_changed(tmp_path):
    started = tmp_path / "started"
    shop = make_shop(tmp_path, landed("app-1", f"touch {started}; sleep 300"))
    before = shop.file.read_bytes()
    process = subprocess.Popen(
        [HELIX, "measure"],
        cwd=shop.root,
        env=shop.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    wait_for(started.exists)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out.startswith(b"interrupted")) == (130, True)
    assert not list(shop.folder.rglob("measure.json"))
    assert shop.file.read_bytes() == before
    assert shop.leftover() == CLEAN


def test_an_open_bead_that_fails_waits_for_what_its_failure_needs(tmp_path, monkeypatch):  # S-36
    stuck = bead("app-2", acceptance="", verify=[SUM], parent="app-e")
    shop = make_shop(tmp_path, bead("app-e", issue_type="epic"), stuck, shop="SUM = 4\n")
    for name, text in shop.variables().items():
        monkeypatch.setenv(name, text)
    project = Project(str(shop.root))
    site = open_site(project, lambda happening: None)
    slider = read_slider(project, clock=Clock())
    done = measure(site, slider, resolve_scope(site, "app-2"), beads=("app-2",))
    (created,) = done.created
    rows = shop.rows()
    assert [edge["depends_on_id"] for edge in rows["app-2"]["dependencies"]] == [created]
    assert (rows[created]["parent"], rows[created]["discovered-from"]) == ("app-e", "app-2")


RUNNER = """\
import sys
from shop import SUM

word = "PASSED" if SUM == 3 else "FAILED"
if "-rA" in sys.argv or word == "FAILED":
    print("=========================== short test summary info ===========================")
    print(f"{word} tests/test_sum.py::test_sum" + (" - assert" if SUM != 3 else ""))
print(f"1 {word.lower()} in 0.01s")
raise SystemExit(SUM != 3)
"""


def test_a_check_that_names_only_failures_is_asked_for_the_test_by_name(tmp_path):
    command = "PYTHONPATH=. python3 tools/pytest -q"
    shop = make_shop(tmp_path, landed("app-1", command), shop="SUM = 4\n")
    shop.land(**{"tools/pytest": RUNNER, "tests/test_sum.py": f"# {AT}spec-ref TD-001\n"})
    (created,) = shop.measure(code=1)["created"]
    assert shop.rows()[created]["verify"] == [f"{command} -rA tests/test_sum.py::test_sum"]
    shop.land(**{"shop.py": "SUM = 3\n"})
    found = shop.measure()
    assert (found["closed"], found["counts"]["passed"]) == ([created], 0)
    assert len(found["checks"]) == 1


NODE_TEST = f"""\
// {AT}spec-ref TD-001
const {{test}} = require("node:test");
const assert = require("node:assert");
const {{SUM}} = require("../shop.js");
test("starts", () => {{}});
test("adds up (to 3)", () => assert.strictEqual(SUM, 3));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_test_whose_file_only_its_failure_names_is_closed_once_it_passes(tmp_path):
    command = "node --test --test-reporter=tap"
    shop = make_shop(tmp_path, landed("app-1", command))
    shop.land(**{"test/sum.test.js": NODE_TEST, "shop.js": "exports.SUM = 4;\n"})
    (filed,) = shop.measure(code=1)["created"]
    row = shop.rows()[filed]
    assert row["spec-id"] == "TD-001"
    (again,) = row["verify"]
    assert again.startswith(f"{command} ") and again.endswith(" test/sum.test.js")
    assert shop.run("sh", "-c", again, code=None).code == 1
    assert shop.measure(code=1)["updated"] == [filed]
    shop.land(**{"shop.js": "exports.SUM = 3;\n"})
    assert "# pass 1" in shop.run("sh", "-c", again).out
    assert shop.measure()["closed"] == [filed]


def test_to_say_the_same_as_a_document_upstream_is_no_conflict(tmp_path):
    shop = make_shop(tmp_path, shop="SUM = 4\n")
    same = DESIGN + "- A sum must be shown in under 50 ms.\n"
    shop.land(**{"docs/helix/02-design/technical-designs/TD-001-sums.md": same})
    shop.measure(code=1)
    assert shop.traced()[0]["title"].startswith("Implementation does not meet spec")


def test_a_bead_that_changed_while_we_looked_is_not_closed(tmp_path):
    script = tmp_path / "meanwhile"
    outside = f"env -u DDX_ATTEMPT_ID -u DDX_PROJECT_ROOT sh {script}"
    rows = (landed("app-1", SUM), landed("app-2", f"test ! -f {script} || {outside}"))
    shop = make_shop(tmp_path, *rows, shop="SUM = 4\n")
    (created,) = shop.measure(code=1)["created"]
    script.write_text(f"{ROOT}/bin/ddx bead update {created} --append-notes 'I saw it fail'\n")
    shop.land(**{"shop.py": "SUM = 3\n"})
    done = shop.helix("measure")
    assert f"{created} stays as it is, for it changed meanwhile" in done.err
    assert shop.rows()[created]["status"] == "open"


def test_a_file_with_a_strange_name_breaks_nothing(tmp_path):
    shop = make_shop(tmp_path, landed("app-1", "cat tests/r*.tap; false"), shop="SUM = 4\n")
    strange = shop.root / "tests/r\udcff.tap"
    strange.write_text("1..1\nnot ok 1 - x\n  ---\n  file: tests/r\ufffd.tap\n  ...\n")
    shop.commit("strange")
    assert len(shop.measure(code=1)["failures"]) == 1


def test_a_file_that_can_be_read_again_closes_its_bead(tmp_path):  # V-2
    # As pytest tells it: the whole file is one error, and then its tests have names.
    source = f"# {AT}spec-ref TD-001\nimport shop\n"
    broken = "print('ERROR tests/test_all.py - NameError')\nprint('1 error in 0.1s')\nexit(2)\n"
    fine = "print('PASSED tests/test_all.py::test_it')\nprint('1 passed in 0.1s')\n"
    heading = "print('=== short test summary info ===')\n"
    shop = make_shop(tmp_path, landed("app-1", "python3 runner.py"))
    shop.land(**{"tests/test_all.py": source, "runner.py": heading + broken})
    (filed,) = shop.measure(code=1)["created"]
    assert shop.traced()[0]["spec-id"] == "TD-001"
    shop.land(**{"runner.py": heading + fine})
    assert shop.measure()["closed"] == [filed]


def test_what_a_measure_closed_is_not_proven_a_second_time(tmp_path):  # V-1
    shop = make_shop(tmp_path, shop="SUM = 4\nTAX = 7\n")
    (filed,) = shop.measure(code=1)["created"]
    shop.land(**{"shop.py": "SUM = 3\nTAX = 7\n"})
    assert shop.measure()["closed"] == [filed]
    assert shop.measure()["beads"] == ["app-1"]
