"""History: all benchmark configurations with their verdicts, or one of them over time."""

from pages._ui.empty_warehouse import recorded_regions
from pages._ui.history import choice, groups, results
from pages._ui.history.baselines import show_baseline
from pages._ui.history.run_table import show_history_runs
from pages._ui.pictures import Picture
from pages._ui.shell import saved_views
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import end_page
from pages._ui.shell.filters import (
    choose_folded_facets,
    choose_region,
    filter_bar,
    show_active_filters,
    show_rehearsal,
)
from pages._ui.shell.navigation import HISTORY
from pages._ui.shell.status import watch_results
from pages._ui.shell.words import t

FILTERS = ("model", "workload", "flavor", "nodes")

saved_views.show_title(HISTORY, t("history.title"))
drawn = core().warehouse.revision()
regions = recorded_regions(Picture.HISTORY)
with filter_bar():
    region = choose_region(regions, width=215, label_visibility="collapsed")
    query = choose_folded_facets(region, *FILTERS, limit=choice.MAX_GROUPS)
    shows_all = groups.shows_all(query)
    outcomes = groups.choose_outcomes() if shows_all else ()
show_active_filters(*FILTERS)
show_rehearsal(region)
if shows_all:
    saved_views.show_missing()
    groups.show_all_groups(query, region, outcomes)
    watch_results(drawn)
    end_page()
links = groups.link_to_all(region)
group = choice.choose_group(query)
saved_views.show_missing()
if group is None:
    end_page()

known = run_cached(core().warehouse.trends.list_named, group.group)
named = choice.read_named(known)
history = choice.selected_history(group, named)
with links:
    results.link_to_configuration(history)
results.show_regression(history)
metric = choice.choose_metric(history, known)
ticked: tuple[str, ...] = ()
if metric is not None:
    results.show_chart(history, metric)
results.show_basis(history)
results.show_tests(history)
if metric is not None:
    results.show_changes(metric)
    ticked = show_history_runs(history, metric)
show_baseline(history)
watch_results(drawn, ticked=bool(ticked))
