"""From a finding to its field: the folded group is opened, the field scrolled into view and focused."""

import json
import re

import streamlit as st

from pages._ui.shell.callbacks import whole
from pages._ui.shell.widgets import VERSION

TARGET = "jump-to"  # where the session has the field to go to, and how often a person has gone to one

# Fields without a widget in the form, by the beginning of their name.
YAML_ONLY = ("environments", "secrets", "volumes", "outputs", "api", "imported")

# A widget that shows another value than before has a version in its key; a refused value has a widget of its own.
SCRIPT = """<script data-jump="{number}">
(() => {{
  const find = () => {classes}.flatMap(name => [...document.querySelectorAll(`[class*="${{name}}"]`)].filter(
    element => [...element.classList].some(own => own === name || own.startsWith(name + "{version}"))))[0];
  // Several times: the group opens, and what the click changed is drawn, while this runs.
  const go = (tries, focused) => {{
    const field = find();
    const group = field?.closest("details");
    const input = field?.querySelector("input, textarea");
    if (group && !group.open) group.querySelector("summary").click();
    else if (input && document.activeElement !== input) {{
      field.scrollIntoView({{block: "center"}});
      input.focus({{preventScroll: true}});
    }}
    else if (input && ++focused > 3) return;
    if (tries) setTimeout(go, 150, tries - 1, focused);
  }};
  go(30, 0);
}})();
</script>"""


@whole
def jump_to(field: str) -> None:
    """Show the field; one without a widget in the form is shown in the YAML view."""
    if field.split(".")[0] in YAML_ONLY:
        st.query_params["view"] = "yaml"
    _, number = st.session_state.get(TARGET, ("", 0))
    st.session_state[TARGET] = (field, number + 1)


def show_jump() -> None:
    """Go to the field that was asked for last; the page calls it after its fields."""
    field, number = st.session_state.get(TARGET, ("", 0))
    if field:
        st.session_state[TARGET] = ("", number)
        names = (f"spec.{field}", f"spec.{field}.refused", f"spec.{field.split('.')[0]}", "spec.yaml")
        classes = json.dumps([f"st-key-{re.sub('[^A-Za-z0-9_-]', '-', name)}" for name in names])
        script = SCRIPT.format(number=number, classes=classes, version=VERSION)
        st.html(script, unsafe_allow_javascript=True)
