"""Live: every active run, or one run (`?run=`) from its launch to its result."""

import streamlit as st

from pages._ui.cards.run_cards import show_stop_dialog
from pages._ui.run.page import show_run
from pages._ui.runs.cleaning import show_clean_dialog
from pages._ui.runs.deleting import show_delete_question
from pages._ui.runs.live import follow_all
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

run_id = st.query_params.get("run", "")
if run_id:
    show_run(run_id)
else:
    create_heading().title(t("live.title"))
    follow_all()
show_stop_dialog()
show_clean_dialog()
show_delete_question()
