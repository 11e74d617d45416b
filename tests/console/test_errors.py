"""What a person sees when something goes wrong: a sentence, and never a traceback."""

import errno
import logging

import pytest
from streamlit.testing.v1 import AppTest

from aisbench_core.base.errors import disk_error
from pages._ui.shell.errors import escape_markdown


def our_error() -> None:
    """A page that meets an error of ours."""
    from aisbench_core.base.errors import ConfigError
    from aisbench_core.base.messages import make_verbatim
    from pages._ui.shell.errors import errors_shown

    with errors_shown():
        raise ConfigError(make_verbatim("there is no profile *named* `x`"), make_verbatim("write data/profiles/x.yaml"))


def a_bug() -> None:
    """A page with a bug in it."""
    from pages._ui.shell.errors import errors_shown

    with errors_shown():
        raise ZeroDivisionError("secret-in-a-message")


def a_full_disk() -> None:
    """A page that wants to write where there is no room."""
    import errno

    from pages._ui.shell.errors import errors_shown

    with errors_shown():
        raise OSError(errno.ENOSPC, "No space left on device", "/home/ann/data/profiles/lab.yaml")


def stops() -> None:
    """A page that ends itself."""
    import streamlit as st

    from pages._ui.shell.errors import errors_shown

    with errors_shown():
        st.markdown("before")
        st.stop()


def test_an_error_of_ours_is_its_sentence_and_its_hint() -> None:
    app = AppTest.from_function(our_error).run()

    assert not app.exception
    assert app.error[0].value == "there is no profile \\*named\\* `x`"
    assert app.info[0].value == "write data/profiles/x.yaml"


def test_a_bug_is_an_incident_and_its_traceback_is_only_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "aisbench_core.console"):
        app = AppTest.from_function(a_bug).run()

    shown = app.error[0].value
    incident = shown.rstrip(".").split()[-1]
    logged = [record for record in caplog.records if record.name == "aisbench_core.console"]
    assert not app.exception
    assert "secret-in-a-message" not in shown
    assert [record.getMessage() for record in logged] == [f"incident {incident}"]
    assert logged[0].exc_info is not None


def test_a_full_disk_is_a_sentence_and_no_incident() -> None:
    app = AppTest.from_function(a_full_disk).run()

    assert [each.value for each in app.error] == ["lab.yaml cannot be written\\: No space left on device"]
    assert app.info[0].value.startswith("free space on this machine")


def test_a_folder_that_is_gone_is_no_full_disk() -> None:
    assert disk_error(FileNotFoundError(errno.ENOENT, "No such file or directory")) is None


def test_a_page_that_ends_itself_has_met_no_error() -> None:
    app = AppTest.from_function(stops).run()

    assert [each.value for each in app.markdown] == ["before"]
    assert not app.error


def test_text_of_others_is_shown_as_it_is() -> None:
    assert escape_markdown("![x](/evil) :red[a] $b$ <i>") == "\\!\\[x\\](/evil) \\:red\\[a\\] \\$b\\$ \\<i\\>"


def test_text_of_others_that_never_ends_is_cut() -> None:
    assert escape_markdown("x" * 10_000) == "x" * 1_999 + "…"


def test_addresses_and_commands_are_shown_as_code_and_never_as_links() -> None:
    assert escape_markdown("no answer from http://127.0.0.1:8611/a_b: refused") == (
        "no answer from `http://127.0.0.1:8611/a_b`\\: refused"
    )
    assert escape_markdown("ask ops@example.com (www.example.com).") == "ask `ops@example.com` (`www.example.com`)."
    assert escape_markdown("run `aisbench collect 7` again; a lone ` stays") == (
        "run `aisbench collect 7` again; a lone \\` stays"
    )


def test_text_of_others_begins_no_list_and_no_heading() -> None:
    assert escape_markdown("- a\n2. b\n===\n --- \n3) c &amp;") == "\\- a\n2\\. b\n\\===\n \\--- \n3\\) c \\&amp;"
    assert escape_markdown("=") == "="
    assert escape_markdown("-5 % or 1.5") == "-5 % or 1.5"
