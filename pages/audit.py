"""Audit: who changed what, for admins."""

import streamlit as st

from pages._ui.audit.entries import show_entries
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("audit.title"))
st.markdown(t("audit.what"))
show_entries()
