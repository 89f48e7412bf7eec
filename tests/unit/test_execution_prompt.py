"""What an agent is told, and that text from outside stays data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ddx.attempts.prompt import PromptSection, binding_parts, failure_section, write_prompt
from ddx.tracker.bead import Bead

BEAD = Bead(
    "app-1",
    {
        "id": "app-1",
        "title": "greet people",
        "description": "Say hello.",
        "acceptance": "`test -f hello.txt` passes",
        "spec-id": "TD-001",
        "paths": ["src/hello"],
    },
)


def test_sections_stand_in_their_order() -> None:
    prompt = write_prompt(
        [BEAD],
        before=[PromptSection("Stance", "be careful")],
        checks=["test -f hello.txt"],
        documents=[PromptSection("Governing document TD-001", "must greet", quoted=True)],
        failures=[PromptSection("Attempt 1 did not land", "no file", quoted=True)],
        after=[PromptSection("Conflicts", "none")],
    )
    order = [
        *("Stance", "How you work", "Attempt 1 did not land", "Your task: app-1"),
        *("Checks that will be run", "Governing document TD-001", "Conflicts"),
        *("The tracker", "When you are done"),
    ]
    places = [prompt.index(f"## {title}") for title in order]
    assert places == sorted(places)
    for part in ("greet people", "Say hello.", "TD-001", "src/hello", "FOLLOW_UP:"):
        assert part in prompt


@given(st.text(alphabet="`~ab\n#", max_size=200))
def test_quoted_text_cannot_end_its_fence(text: str) -> None:
    prompt = write_prompt([], before=[PromptSection("Data", f"x{text}x", quoted=True)])
    lines = prompt.splitlines()
    fence = next(line.removesuffix("text") for line in lines if line.startswith("````"))
    inside = prompt.partition(f"{fence}text\n")[2].partition(f"\n{fence}\n")[0]
    assert inside == f"x{text}x".strip("\n")


def test_an_endless_section_is_cut_and_says_so() -> None:
    prompt = write_prompt([], before=[PromptSection("Log", "x" * 100_000)])
    assert len(prompt) < 70_000
    assert "more characters" in prompt


def test_a_title_cannot_break_out_of_its_line() -> None:
    prompt = write_prompt([], before=[PromptSection("one\n## two\x1b[2J", "text")])
    assert prompt.splitlines()[0] == "## one ## two\\x1b[2J"


def test_the_next_attempt_hears_what_failed() -> None:
    section = failure_section(
        2,
        {
            "status": "check_failed",
            "reason": "failed: pytest",
            "ref": "refs/helix/attempts/app-1/a1",
            "result": "c0ffee",
            "diffstat": " a.py | 2 +-",
            "checks": [
                {"command": "pytest -q", "passed": False, "reason": "exit 1", "output_tail": "E 1"},
                {"command": "ruff check", "passed": True, "output_tail": "fine"},
            ],
        },
    )
    assert section.quoted
    assert section.title == "Attempt 2 did not land"
    for part in ("pytest -q", "exit 1", "E 1", "refs/helix/attempts/app-1/a1", "a.py | 2"):
        assert part in section.text
    assert "ruff check" not in section.text


def test_only_binding_parts_of_a_document_are_quoted() -> None:
    text = """# TD-001
intro
## Constraints
- must use sqlite
### Detail
- deep
## History
- was postgres
```
## Constraints in a listing
```
## Requirements
- R1
"""
    found = binding_parts(text)
    assert "must use sqlite" in found
    assert "deep" in found
    assert "R1" in found
    assert "postgres" not in found
    assert "listing" not in found
