"""From a finding to its field: the folded group is opened, the field or its line scrolled into view and focused."""

import streamlit as st

from aisbench_core.domain.authoring.specfile import DOCUMENT, find_line
from aisbench_core.model.spec_fields import list_form_fields
from aisbench_core.model.spec_roles import FormGroup
from pages._ui.configure import drafts, yaml_view
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.focus import focus_first

TARGET = "jump-to"  # where the session has the field to go to, and how often a person has gone to one


@repeat_if_aborted
def jump_to(field: str) -> None:
    """Show the field, in the YAML view if it has no widget in the form, and in the form if the YAML does not set it."""
    if field.split(".")[0] in (DOCUMENT, *list_form_fields(FormGroup.YAML)):
        yaml_view.switch_view(to_yaml=True)
    elif not find_line(drafts.read_draft().text, field):
        yaml_view.switch_view(to_yaml=False)
    _, number = st.session_state.get(TARGET, ("", 0))
    st.session_state[TARGET] = (field, number + 1)


def show_jump(text: str) -> None:
    """Go to the field that was asked for last; the page calls it after its fields.

    `text`: what the YAML view shows; empty where the form is shown."""
    field, number = st.session_state.get(TARGET, ("", 0))
    if field:
        st.session_state[TARGET] = ("", number)
        # A refused value has a widget of its own.
        keys = (f"spec.{field}", f"spec.{field}.refused", f"spec.{field.split('.')[0]}", "spec.yaml")
        focus_first(keys, number, find_line(text, field) or 0)
