"""Scaling: how throughput grows with the number of nodes, against ideal, and what more nodes would bring."""

import streamlit as st

from pages._ui.leaderboard.board import choose_kind, show_kind
from pages._ui.scaling.choice import (
    choose_curves,
    choose_nodes,
    choose_question,
    choose_scaling_query,
    curve_names,
    open_run,
)
from pages._ui.scaling.results import show_law, show_left_out, show_numbers, show_predictions, show_scaling_charts
from pages._ui.shell import saved_views
from pages._ui.shell.core import asked, core
from pages._ui.shell.empty_warehouse import show_unrecorded
from pages._ui.shell.navigation import SCALING
from pages._ui.shell.words import words

t = words()
saved_views.show_title(SCALING, t("scaling.title"))
regions = asked(core().warehouse.regions)
if not regions:
    show_unrecorded()

open_run()
kind = choose_kind(regions)
query = choose_scaling_query(kind)
saved_views.show_missing()
show_kind(kind)
question = choose_question(query)
if question is None:
    st.stop()

every = asked(core().warehouse.scaling, question.question)
names = curve_names([curve for curve in every if curve.points], t)
curves = choose_curves(every, names)
if curves:
    nodes = choose_nodes(curves)
    show_law(curves, nodes, names)
    show_scaling_charts(curves, nodes, names)
    show_numbers(curves, names)
    show_predictions(curves, nodes, names)
show_left_out(every)
