"""New run's folds, the limits beside its numbers, and the lines of its YAML view."""

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Expander

from tests.console.conftest import OpenPage, newest
from tests.console.test_configure import write_yaml


def fold(app: AppTest, title: str) -> Expander:
    """The folded part of the form with this title."""
    (found,) = [each for each in app.expander if each.label.partition(" · ")[0] == title]
    return found


def test_a_fold_says_what_is_set_in_it(open_page: OpenPage) -> None:
    app = open_page("configure")
    before = fold(app, "Limits and recovery").label

    app.text_input(key="spec.retries").set_value("2").run()
    one = fold(app, "Limits and recovery").label
    app.text_input(key="spec.auto_stop_hours").set_value("4").run()
    app.toggle(key="spec.retry_always").set_value(True).run()

    assert before == "Limits and recovery"
    assert one == "Limits and recovery · Retries 2"
    assert fold(app, "Limits and recovery").label == "Limits and recovery · 3 set"


def test_a_fold_is_open_where_something_is_wrong_and_while_somebody_types_in_it(open_page: OpenPage) -> None:
    app = open_page("configure")
    assert not fold(app, "Limits and recovery").proto.expanded

    app.text_input(key="spec.name").set_value("first").run()
    app.text_input(key="spec.retries").set_value("many").run()
    again = open_page("configure")

    assert fold(app, "Name and description").proto.expanded
    assert fold(app, "Limits and recovery").proto.expanded
    assert fold(again, "Limits and recovery").proto.expanded
    assert not fold(again, "Name and description").proto.expanded
    again.text_input(key="spec.retries").set_value("2").run()
    assert fold(again, "Limits and recovery").proto.expanded


def test_the_limits_of_a_number_stand_beside_it(open_page: OpenPage) -> None:
    app = open_page("configure")

    about = [each.proto.body for each in app.get("html")]

    assert any(">1–4096</span>" in text and "Number of servers that work on the job." in text for text in about)
    assert any(">1–10000</span>" in text and "Default: 40." in text for text in about)


def test_each_finding_names_its_line_in_the_yaml_view(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")

    write_yaml(app, "workload: quickstart_digits\nparameters:\n  epochs: 99999\nretries: 9999\n")

    labels = {button.label.replace("\\", "") for button in app.button if (button.key or "").startswith("go-to.")}
    lines = next(each.proto.body for each in app.get("html") if "yaml-lines" in each.proto.body)
    assert labels >= {"parameters.epochs · line 3", "retries · line 4"}
    assert lines.count('<div class="error">') == 2
    assert '<div class="error"><span>3</span>' in lines


def test_a_finding_of_what_the_text_does_not_set_leads_to_the_form(open_page: OpenPage) -> None:
    app = open_page("configure", view="yaml")
    app = write_yaml(app, "workload: mindspore_bert\n")
    (button,) = [each for each in app.button if each.label == "Code directory"]

    app = button.click().run()

    assert "view" not in app.query_params
    assert newest(app.text_input, "spec.code_dir").value == ""
