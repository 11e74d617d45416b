"""Import results: read files, see what was understood and what mends it, store; earlier imports can be undone."""

import streamlit as st

from pages._ui.imports.bundles import show_bundle_import
from pages._ui.imports.earlier_imports import show_imports
from pages._ui.imports.import_results import show_saved, show_understanding
from pages._ui.imports.reading import SAVED, last_read, show_dropped, show_source, show_tables, show_unread
from pages._ui.shell.core import right_to
from pages._ui.shell.navigation import INFERENCE, link_page
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("import_results.title"))
may_import = right_to("ResultImport.save")
if may_import.is_given:
    show_source()
    if SAVED in st.session_state:
        show_saved(st.session_state[SAVED])
    elif read := last_read():
        show_understanding(read)
        show_tables(read)
        show_dropped(read)
        show_unread(read)
else:
    st.info(may_import.help_text, icon=":material/lock:")
show_bundle_import()
show_imports()
link_page(INFERENCE, t("inference.import"), {})
