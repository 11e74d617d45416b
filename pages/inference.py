"""Inference: results of inference tools, ranked apart from training, their import, and the same as a file."""

import streamlit as st

from pages._ui.inference import board, uploading
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("inference.title"))
st.caption(t("inference.what"))
stored = run_cached(core().warehouse.inference.list_ranked)
uploading.show_inference_import()
board.show_board(stored)
