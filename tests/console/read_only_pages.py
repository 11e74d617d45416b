"""Opens pages and presses buttons over a data folder that is read-only, and prints what each page says."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from pages._ui.shell.browser import SESSION
from tests.console.conftest import BROWSER, ENTRY, newest, texts

STORING = ("configure", "import")
"""Pages that are refused as a whole."""

Press = Mapping[str, str]
"""What is done, in this order: the keys of widgets with the text that goes in, none for a button."""


def messages_on(page: str, query: Mapping[str, str | list[str]], press: Press) -> dict[str, Sequence[str]]:
    """What a page says after all that."""
    app = AppTest.from_file(str(ENTRY), default_timeout=120)
    app._bidi_component_manager = BidiComponentManager()
    app.session_state[SESSION] = BROWSER
    if page:
        app.switch_page(f"../{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    before = [each.value for each in app.main.error] if page not in STORING else []
    for key, typed in press.items():
        if typed:
            newest([*app.text_input, *app.text_area], key).set_value(typed)
        else:
            app = newest(app.button, key).click().run()
    return {
        "title": [each.value for each in app.title],
        "warnings": [each.value for each in app.main.warning],
        "errors": before,
        "refused": [each.value for each in app.main.error if each.value not in before],
        "hints": [each.value for each in app.main.info],
        "incidents": [each.value for each in app.exception],
        "whole": [texts(app), *(each.value.to_string() for each in app.main.dataframe)],
    }


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    Path(sys.argv[1]).write_text(json.dumps([messages_on(*each) for each in asked]), "utf-8")
