"""This repository keeps documents of its own, and they are as sound as we ask of others (P-9)."""

# @requirement TC-205

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

import pytest
from tests.support.contract import ROOT

from ddx.base.clock import Clock
from ddx.documents.cache import load_graph
from ddx.documents.graph import Graph
from ddx.documents.templates import TEMPLATES
from ddx.project.project import find_checkout
from ddx.project.settings import read_settings
from helix.intake.conflicts.detection import find_conflicts
from helix.intake.conflicts.statements import read_statements
from helix.verification.coverage import EVIDENCE, cover

FOLDER = ROOT / "docs" / "helix"
PAGES = sorted(FOLDER.rglob("*.md"))
RECORDS = sorted((FOLDER / "02-design" / "adr").glob("*.md"))
DECISIONS = ROOT / "docs" / "explanation" / "decisions.md"
CHECKOUT = find_checkout(str(ROOT))

PATH = re.compile(r"`((?:src|tests|scripts|docs|bin|benchmarks)/[\w./-]+)`")
RULES = re.compile(r"^## (?:Requirements|Constraints)\n(.*?)(?=^## |\Z)", re.M | re.S)
ONE_RULE = re.compile(r"- (?!.*\. [A-Z]).*\bmust\b.*\.")


def answer(*line: str) -> tuple[int, Any]:
    """The real command at our root, as a person would start it."""
    ours = ("DDX_", "HELIX_")
    done = subprocess.run(
        [str(ROOT / "bin" / "ddx"), *line, "--json"],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith(ours)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def graph() -> Graph:
    roots = read_settings(CHECKOUT, clock=Clock()).document_roots
    return load_graph(CHECKOUT, roots, clock=Clock())


def test_nothing_is_wrong_with_our_own_documents():  # P-9
    code, findings = answer("doc", "validate")
    told = "\n".join(f"{it['path']}:{it['line']} {it['kind']}: {it['what']}" for it in findings)
    assert (code, told) == (0, "")


def test_all_of_them_follow_from_the_vision():  # P-9, G-6
    _, found = answer("doc", "impact", "vision")
    reached = {it["path"] for it in (*found["starts"], *found["impacted"])}
    assert {str(page.relative_to(ROOT)) for page in PAGES} - reached == set()


def test_every_kind_that_we_promised_is_there(graph: Graph):  # P-9
    promised = {"vision", "prd", "feat", "us", "adr", "architecture", "sd", "td", "tp", "test"}
    assert promised - set(graph.types) == set()


def test_every_feature_and_story_has_a_design_and_a_plan(graph: Graph):  # P-9, V-3
    covered = cover(graph, lambda doc_id: True, {})
    lacking = {it.id: it.missing for it in covered if it.missing != EVIDENCE}
    assert covered and lacking == {}


def test_no_rule_contradicts_or_repeats_another(graph: Graph):  # P-9, I-5
    statements = read_statements(CHECKOUT, graph, graph.ids)
    found = [
        f"{it.reason}: {it.one.path}:{it.one.line} and {it.other.path}:{it.other.line}"
        for it in find_conflicts(statements)
    ]
    assert statements and found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_something_in_each_section_and_names_what_exists(page):  # P-9
    text = page.read_text(encoding="utf-8")
    hints = {hint for template in TEMPLATES.values() for _, hint in template.sections}
    assert not [hint for hint in hints if hint in text]
    assert not re.search(r"^## .*\n\s*(?=## |\Z)", text, re.M)
    lost = [path for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_rule_is_one_sentence_that_can_be_tested(page):  # P-9
    for block in RULES.findall(page.read_text(encoding="utf-8")):
        for line in filter(None, block.split("\n")):
            assert ONE_RULE.fullmatch(line), f"{line!r}: one sentence on one line, with must"


def test_the_page_of_decisions_lists_every_record_in_order():  # P-9
    listed = re.findall(r"^\| \[ADR-\d+\]\((\S+)\) \|", DECISIONS.read_text("utf-8"), re.M)
    assert [(DECISIONS.parent / link).resolve() for link in listed] == RECORDS
    numbers = [int(record.name[4:7]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))
