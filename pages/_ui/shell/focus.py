"""Puts the cursor into a field: Streamlit has no call for that."""

import json
import re
from collections.abc import Sequence

import streamlit as st

from pages._ui.shell.widgets import VERSION

# A widget that shows another value than before has a version in its key.
SCRIPT = """<script data-focus="{number}">
(() => {{
  const find = () => {classes}.flatMap(name => [...document.querySelectorAll(`[class*="${{name}}"]`)].filter(
    element => [...element.classList].some(own => own === name || own.startsWith(name + "{version}"))))[0];
  let isLeft = false;  // by somebody who goes on by keys
  addEventListener("keydown", ({{key}}) => {{ isLeft ||= key === "Tab" || key.startsWith("Arrow"); }}, true);
  // Several times: the group opens, and what the click changed is drawn, while this runs.
  const go = (tries, focused) => {{
    if (isLeft) return;
    const field = find();
    const group = field?.closest("details");
    const input = field?.querySelector("input, textarea");
    if (group && !group.open) group.querySelector("summary").click();
    else if (input && document.activeElement !== input) {{
      field.scrollIntoView({{block: "center"}});
      input.focus({{preventScroll: true}});
      const rows = input.value.split("\\n"), start = rows.slice(0, {line} - 1).map(row => row + "\\n").join("").length;
      if ({line}) input.setSelectionRange(start, start + (rows[{line} - 1] ?? "").length);
    }}
    else if (input && ++focused > 3) return;
    if (tries) setTimeout(go, 150, tries - 1, focused);
  }};
  go(30, 0);
}})();
</script>"""


def focus_first(keys: Sequence[str], number: int, line: int = 0) -> None:
    """Focus the first of these widgets that is on the page, and open the folded group that it is in.

    `number`: a new one each time, or the browser does nothing; call it after the widgets. `line`: of a text, from 1,
    which is selected."""
    classes = json.dumps([f"st-key-{re.sub('[^A-Za-z0-9_-]', '-', key)}" for key in keys])
    st.html(SCRIPT.format(number=number, classes=classes, version=VERSION, line=line), unsafe_allow_javascript=True)
