"""From a finding to its field: the folded group is opened, the field scrolled into view and focused."""

import streamlit as st

from aisbench_core.model.spec_fields import list_form_fields
from aisbench_core.model.spec_roles import FormGroup
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.focus import focus_first

TARGET = "jump-to"  # where the session has the field to go to, and how often a person has gone to one


@repeat_if_aborted
def jump_to(field: str) -> None:
    """Show the field; one without a widget in the form is shown in the YAML view."""
    if field.split(".")[0] in list_form_fields(FormGroup.YAML):
        st.query_params["view"] = "yaml"
    _, number = st.session_state.get(TARGET, ("", 0))
    st.session_state[TARGET] = (field, number + 1)


def show_jump() -> None:
    """Go to the field that was asked for last; the page calls it after its fields."""
    field, number = st.session_state.get(TARGET, ("", 0))
    if field:
        st.session_state[TARGET] = ("", number)
        # A refused value has a widget of its own.
        focus_first((f"spec.{field}", f"spec.{field}.refused", f"spec.{field.split('.')[0]}", "spec.yaml"), number)
