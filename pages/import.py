"""Import results: old logs, result folders and tables, looked at and completed before anything is stored."""

import streamlit as st

from pages._ui.imports import import_results
from pages._ui.imports.earlier_imports import show_imports
from pages._ui.shell.words import words

t = words()
st.title(t("import_results.title"))
st.markdown(t("import_results.what"))
import_results.choose_source()
if import_results.has_read():
    import_results.show_tables()
    import_results.show_unread()
    choices = import_results.choose_answers()
    import_results.show_preview(choices)
    import_results.show_save(choices)
show_imports()
