"""A template escapes all that is not markup, and refuses whatever it does not understand."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddx.base.values import value
from helix.verification.report_page import BrokenTemplate, Markup, ReportTemplate


@value
class Row:
    name: str
    tags: tuple[str, ...] = ()


def rendered(source: str, **given: object) -> str:
    return ReportTemplate(source).render(given, escape=escape)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain { text } }}", "plain { text } }}"),
        ("<b>{{word}}</b>", "<b>&lt;i&gt;</b>"),
        ("{{made}}", "<i>"),
        ("{{row.name}} {{table.key}}", "a 1"),
        ("{{for it in rows}}\n<li>{{it.name}}</li>\n{{end}}\n", "<li>a</li>\n<li>b</li>\n"),
        ("{{for it in rows}}{{for tag in it.tags}}{{it.name}}{{tag}} {{end}}{{end}}", "bx by "),
        ("{{if none}}yes{{else}}no{{end}}", "no"),
        ('<li{{if word}} class="{{table.key}}"{{end}}>', '<li class="1">'),
        ("{{for it in none}}{{it.name}}{{end}}", ""),
        ("{{for row in rows}}{{row.name}}{{end}}{{row.name}}", "aba"),
    ],
)
def test_values_are_put_in_their_places(source, text):
    rows = (Row("a"), Row("b", ("x", "y")))
    assert (
        rendered(
            source,
            word="<i>",
            made=Markup("<i>"),
            row=rows[0],
            rows=rows,
            none=(),
            table={"key": 1},
        )
        == text
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{if word}}",
        "{{end}}",
        "{{if word}}{{end}}{{end}}",
        "{{else}}",
        "{{for it in word}}{{else}}{{end}}",
        "{{for it of word}}{{end}}",
        "{{ word }}",
        "{{word()}}",
        "{{word",
        "{{other}}",
        "{{word.upper.other}}",
        "{{if other}}{{end}}",
        "{{for it in other}}{{end}}",
    ],
)
def test_what_is_not_understood_is_refused(source):
    with pytest.raises(BrokenTemplate):
        rendered(source, word="w")


@given(st.text())
def test_no_value_becomes_a_tag_or_markup(words):
    assert rendered("<p>{{word}}</p>", word=words) == f"<p>{escape(words)}</p>"
