"""Scaling: throughput over the number of nodes against ideal scaling, with a prediction for more nodes."""

import streamlit as st

from pages._ui.empty_warehouse import recorded_regions
from pages._ui.pictures import Picture
from pages._ui.scaling import choice, results
from pages._ui.shell import saved_views
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import end_page, escape_markdown
from pages._ui.shell.filters import (
    choose_folded_facets,
    choose_metric_of,
    choose_region,
    filter_bar,
    list_metric_names,
    show_active_filters,
    show_rehearsal,
)
from pages._ui.shell.navigation import SCALING
from pages._ui.shell.words import t

FILTERS = ("model", "workload", "flavor")

saved_views.show_title(SCALING, t("scaling.title"))
regions = recorded_regions(Picture.SCALING)
choice.open_run()
with filter_bar():
    region = choose_region(regions, width=215, label_visibility="collapsed")
    query = choose_folded_facets(region, *FILTERS, limit=choice.MAX_CONFIGURATIONS)
    metric = choose_metric_of(
        list_metric_names(query), resets=["curve"], width=choice.METRIC_WIDTH, label_visibility="collapsed"
    )
show_active_filters(*FILTERS)
saved_views.show_missing()
show_rehearsal(region)
left, right = st.columns([3, 1])
with left:
    row = choice.choose_configuration(query)
if row is None:
    end_page()

scalings = run_cached(core().warehouse.scaling.list_curves, row.configuration, metric)
names = choice.curve_names([scaling for scaling in scalings if scaling.points])
curves = choice.choose_curves(scalings, names)
if curves:
    with right:
        nodes = choice.choose_nodes(curves)
    law, measured = st.container(), st.container()
    if sum(len(curve.points) > 1 for curve in curves) > 1:  # several laws would push the chart below the fold
        law, measured = measured, law
    with law:
        results.show_law(curves, nodes, names)
    with measured:
        results.show_scaling_charts(curves, nodes, names)
    results.show_numbers(curves, names)
    results.show_predictions(curves, nodes, names)
elif metric:
    st.info(t("scaling.without_metric", metric=escape_markdown(metric)), icon=":material/search:")
results.show_excluded(scalings)
