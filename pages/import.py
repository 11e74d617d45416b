"""Import results: logs, result folders and tables of earlier measurements, with a preview before anything is stored."""

import streamlit as st

from pages._ui.imports import import_results
from pages._ui.imports.earlier_imports import show_imports
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("import_results.title"))
st.markdown(t("import_results.what"))
import_results.choose_source()
if read := import_results.last_read():
    import_results.show_tables(read)
    import_results.show_unread(read)
    if choices := import_results.choose_answers():
        import_results.show_preview(read, choices)
        import_results.show_save(read, choices)
show_imports()
