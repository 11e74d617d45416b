"""Series: one spec on several node counts, several times; a list, one of them (`?series=`), or a new one (`?new=1`)."""

import streamlit as st

from pages._ui.series.form import show_series_form
from pages._ui.series.live import follow_series
from pages._ui.series.series_list import show_list
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

series_id = st.query_params.get("series", "")
if series_id:
    follow_series(series_id)
else:
    create_heading().title(t("series.title"))
    if st.query_params.get("new") == "1":
        show_series_form()
    else:
        show_list()
