"""A structured reply is held against its schema before anybody believes it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.json_schema import find_misfit

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["verdict", "findings"],
    "additionalProperties": False,
    "properties": {
        "verdict": {"enum": ["CLEAN", "ISSUES_FOUND"]},
        "findings": {
            "type": "array",
            "minItems": 0,
            "items": {
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": {"type": "string", "minLength": 1},
                    "line": {"type": ["integer", "null"], "minimum": 1, "maximum": 10},
                },
            },
        },
    },
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 12) | st.sampled_from(["", "CLEAN", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["verdict", "findings", "title", "line"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("found", "where"),
    [
        ({"verdict": "FINE BY ME", "findings": []}, "verdict"),
        ({"verdict": "CLEAN"}, "findings"),
        ({"verdict": "CLEAN", "findings": [], "more": 1}, "more"),
        ({"verdict": "CLEAN", "findings": [{"title": ""}]}, "title"),
        ({"verdict": "CLEAN", "findings": [{"title": "x", "line": 0}]}, "line"),
        ({"verdict": "CLEAN", "findings": [{"title": "x", "line": True}]}, "line"),
        ([], "the reply"),
        (None, "the reply"),
    ],
)
def test_what_does_not_fit_is_named(found: Any, where: str) -> None:
    assert where in find_misfit(found, json.dumps(SCHEMA))


def test_what_fits_has_no_fault() -> None:
    good = {"verdict": "ISSUES_FOUND", "findings": [{"title": "x", "line": None}]}
    assert find_misfit(good, json.dumps(SCHEMA)) == ""


def test_a_word_that_nobody_checks_is_a_misfit() -> None:
    assert "pattern" in find_misfit("x", json.dumps({"type": "string", "pattern": "a"}))


@given(ANYTHING)
def test_it_judges_as_a_whole_validator_does(found: Any) -> None:
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(found)
    assert (find_misfit(found, json.dumps(SCHEMA)) == "") is valid
