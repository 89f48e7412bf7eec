"""Tests and code say which document they belong to (G-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.documents import AT

from ddx.documents.model import Link
from ddx.documents.scan import SourceFile

SPEC = f"{AT}spec-ref"
REQUIREMENT = f"{AT}requirement"
MARK, MARKER = "mark", "spec_ref"


def named(text: str, path: str = "src/app.py") -> list[str]:
    return [link.target for link in SourceFile.tagged(path, text.encode()).links]


@pytest.mark.parametrize(
    "comment",
    [
        f"# {SPEC} TD-036",
        f"#{SPEC} TD-036",
        f"// {SPEC} TD-036",
        f"/* {SPEC} TD-036 */",
        f"/**\n * {SPEC} TD-036\n */",
        f"/// {SPEC} TD-036",
        f"-- {SPEC} TD-036",
        f"; {SPEC} TD-036",
        f"% {SPEC} TD-036",
        f"' {SPEC} TD-036",
        f"<!-- {SPEC} TD-036 -->",
        f"{{- {SPEC} TD-036 -}}",
        f"(* {SPEC} TD-036 *)",
        f'"""{SPEC} TD-036"""',
        f'def test_it():\n    """It lists.\n\n    {SPEC} TD-036\n    """',
        f"x = 1  # why: {SPEC} TD-036.",
        f"# {SPEC}: TD-036",
        f"# {SPEC}(TD-036)",
        f"# {SPEC} [[TD-036]]",
        f"# {SPEC} TD-036 §3.2 Answers",
        f"# {SPEC} TD-036#answers",
        f"# {REQUIREMENT} TD-036",
    ],
)
def test_a_tag_counts_in_any_comment(comment):
    assert named(comment) == ["TD-036"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"# {SPEC} TD-036, TD-037,US-1", ["TD-036", "TD-037", "US-1"]),
        (f"# {SPEC} TD-036, and UTF-8 too", ["TD-036"]),
        (f"# {SPEC} TD-036-list-servers", ["TD-036-list-servers"]),
        (f"# {SPEC} prd", ["prd"]),
        (f"# {SPEC} helix.prd", ["helix.prd"]),
        (f"# {SPEC} TD-036 {REQUIREMENT} TC-001", ["TD-036", "TC-001"]),
        (f"# {SPEC}\nTD-036", []),
        (f"# {SPEC}erence TD-036", []),
        (f"# {SPEC}", []),
        (f"# {REQUIREMENT} TC-001, FR-2", ["TC-001", "FR-2"]),
        (f"# {REQUIREMENT} must hold", []),
        (f"# mail{SPEC} TD-036", []),
        (f"# write `{SPEC} TD-036`", []),
        ("# spec-ref TD-036", []),
    ],
)
def test_a_tag_names_one_document_or_a_list(text, names):
    assert named(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f'@pytest.mark.{MARKER}("TD-036")', ["TD-036"]),
        (f"@mark.{MARKER}('TD-036')", ["TD-036"]),
        (f'pytestmark = [pytest.mark.{MARKER}("TD-036", "TD-037")]', ["TD-036", "TD-037"]),
        (f'pytestmark = mark.{MARKER}(\n    "TD-036",\n    "TD-037",\n)', ["TD-036", "TD-037"]),
        (f'@pytest.{MARK}.requirement("TC-001")', ["TC-001"]),
        (f'def {MARKER}(name: str = "x") -> None: ...', []),
        (f"{MARKER}(name)", []),
        ('check(requirement("python>=3"))', []),
        (f'my_{MARKER}("TD-036")', []),
    ],
)
def test_pytest_markers_count(text, names):
    assert named(text) == names


def test_every_tag_has_its_line():
    text = f"import os\n\n# {SPEC} A-1, B-1\ndef f(): ...\n@mark.{MARKER}('C-1')\n"
    links = SourceFile.tagged("tests/test_x.py", text.encode()).links
    assert links == (Link("A-1", 3), Link("B-1", 3), Link("C-1", 5))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/servers.js", "test"),
        ("src/Tests/servers.cs", "test"),
        ("src/__tests__/servers.js", "test"),
        ("spec/servers.rb", "test"),
        ("e2e/servers.ts", "test"),
        ("src/test_servers.py", "test"),
        ("src/servers_test.go", "test"),
        ("src/servers.test.ts", "test"),
        ("src/servers.spec.ts", "test"),
        ("src/servers_spec.rb", "test"),
        ("src/ServersTest.java", "test"),
        ("src/ServersTests.cs", "test"),
        ("src/ServersSpec.scala", "test"),
        ("features/servers.feature", "test"),
        ("bin/servers.bats", "test"),
        ("src/servers.py", "code"),
        ("src/latest.py", "code"),
        ("src/contest.go", "code"),
        ("src/testing/clock.py", "code"),
        ("src/inspect.rs", "code"),
    ],
)
def test_what_is_a_test_is_told_by_its_path(path, kind):
    assert SourceFile(path).kind == kind
    assert SourceFile.tagged(path, f"# {SPEC} A-1".encode()).kind == kind


@pytest.mark.parametrize(
    ("path", "scanned"),
    [
        ("src/app.py", True),
        ("src/APP.PY", True),
        ("a.b/app.tsx", True),
        ("docs/page.md", False),
        ("logo.png", False),
        ("Makefile", False),
        ("a.py/file", False),
    ],
)
def test_only_source_files_are_scanned(path, scanned):
    assert SourceFile(path).is_scanned is scanned


@given(st.binary(max_size=50))
def test_any_bytes_after_a_tag_are_read(rest):
    for link in SourceFile.tagged("x.py", SPEC.encode() + b" " + rest).links:
        assert link.target
        assert link.line >= 1


@pytest.mark.timeout(60)  # more than linear, it would not end in minutes
@pytest.mark.parametrize(
    "part",
    [
        SPEC,
        f"{SPEC} ",
        f"{SPEC} A",
        f"{SPEC} A-1,",
        f"{MARKER}('",
        f"{MARKER}(",
        f"{SPEC} " + "a-" * 50,
    ],
)
def test_a_file_full_of_tags_is_read_in_time(part):
    content = (part * (2_000_000 // len(part))).encode()
    SourceFile.tagged("x.js", content)
