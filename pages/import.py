"""Import results: old logs, result folders and tables, looked at and completed before anything is stored."""

import streamlit as st

from pages._ui import old_results
from pages._ui.imports_shown import show_imports
from pages._ui.words import words

t = words()
st.title(t("history.title"))
st.markdown(t("history.what"))
old_results.ask()
if old_results.has_read():
    old_results.show_tables()
    old_results.show_unread()
    choices = old_results.choose()
    old_results.show_preview(choices)
    old_results.show_save(choices)
show_imports()
