"""Widgets whose value lives in the URL: what it says is shown, what a person enters is written into it."""

import pytest
from streamlit.testing.v1 import AppTest


def _widgets() -> None:
    import streamlit as st

    from aisbench_core.domain.authoring.number_ranges import NumberRange
    from pages._ui.shell import url

    hours = url.input_number("hours", "Hours", 1.0, NumberRange(0, 24), resets=["page"]).value
    budget = url.input_number("budget", "Budget", None, NumberRange(0, 1e7)).value
    sizes = url.choose_options("size", "Sizes", [1, 2, 4], default=[1], most=2)
    kind = url.choose_option(st.radio, "kind", "Kind", [None, "cpu", "npu"])
    st.text(repr((hours, budget, sizes, kind, url.Pages("page", 45, 20).offset, url.read_missing())))


def _opened(**query: str | list[str]) -> AppTest:
    app = AppTest.from_function(_widgets)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ({}, (1.0, None, [1], None, 0, {})),
        ({"hours": "2.5", "budget": "9", "size": ["2", "4"], "kind": "npu"}, (2.5, 9, [2, 4], "npu", 0, {})),
        ({"hours": "99", "budget": "-1", "size": ["1", "2", "4"], "page": "9"}, (1.0, None, [1, 2], None, 40, {})),
        ({"hours": "nan", "budget": "much", "page": "-1"}, (1.0, None, [1], None, 0, {})),
        ({"size": ["3"], "kind": "tpu"}, (1.0, None, [1], None, 0, {"size": ["3"], "kind": ["tpu"]})),
    ],
)
def test_a_widget_shows_what_the_url_says_as_far_as_it_is_offered(
    query: dict[str, str | list[str]], values: tuple[object, ...]
) -> None:
    assert _opened(**query).text[0].value == repr(values)


def test_what_is_entered_is_in_the_url_and_in_what_is_drawn_next() -> None:
    app = _opened(page="2")

    app.text_input(key="hours").set_value("0")
    app.text_input(key="budget").set_value("1234567.5")
    app.radio(key="kind").set_value("cpu").run()

    assert dict(app.query_params) == {"hours": "0", "budget": "1234567.5", "kind": "cpu"}
    assert app.text[0].value == repr((0, 1234567.5, [1], "cpu", 0, {}))


def test_the_default_is_not_in_the_url() -> None:
    app = _opened(hours="3", kind="cpu")

    app.text_input(key="hours").set_value("1")
    app.radio(key="kind").set_value("None").run()

    assert dict(app.query_params) == {}


def test_a_number_that_is_not_allowed_stays_as_it_was_typed_with_what_is_allowed_below_it() -> None:
    app = _opened()

    app.text_input(key="hours").set_value("99999").run()
    again = _opened(hours=app.query_params["hours"])

    for shown in (app, again):
        assert shown.text_input(key="hours").value == "99999"
        assert [note.value for note in shown.markdown if "99999" in note.value] == [
            ":material/error: :red['99999' is not allowed; enter a number, 0 to 24]"
        ]
