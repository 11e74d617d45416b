"""Compare: 2 to 32 runs (`?ids=…`) against the first: the verdict, the metrics, what differs; the rest is folded."""

import streamlit as st

from aisbench_core.warehouse.exporting.comparison import build_comparison_table
from aisbench_core.warehouse.values.compared import MIN_COMPARED
from pages._ui.compare import comparison as parts
from pages._ui.compare.comparability import show_comparability
from pages._ui.compare.groups import fold_peers, show_peers
from pages._ui.compare.many import MANY, choose_baseline, show_baseline_field, show_many
from pages._ui.compare.metrics import choose_metrics, show_metrics
from pages._ui.compare.names import names_of
from pages._ui.compare.training import show_trainings
from pages._ui.compare.verdict import show_sentences, show_verdict
from pages._ui.llm.training import show_llm_training
from pages._ui.shell import saved_views
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.downloads import show_report, show_table_files
from pages._ui.shell.errors import end_page
from pages._ui.shell.navigation import COMPARE
from pages._ui.shell.words import t

saved_views.show_title(COMPARE, t("compare.title"))
run_ids = parts.choose_runs()
saved_views.show_missing()
if len(run_ids) < MIN_COMPARED:
    parts.show_hint()
    row = run_cached(core().warehouse.runs.find_row, run_ids[0]) if run_ids else None
    if row:
        parts.show_scaling(row, is_open=True)
    end_page()

is_many = len(run_ids) >= MANY
comparison = run_cached(core().warehouse.runs.compare, tuple(choose_baseline(run_ids)), parts.read_compared())
if not is_many:
    show_verdict(comparison)
with st.container(horizontal=True, vertical_alignment="center"):
    show_comparability(comparison)
    show_sentences(comparison)
    parts.show_clones(comparison.runs)
    show_table_files(lambda: build_comparison_table(comparison), "aisbench-compare")
    show_report(comparison.runs)
# A row of its own: in the one above, it would wrap only when its widgets have their width, and all below would move.
with st.container(horizontal=True, vertical_alignment="bottom"):
    parts.choose_compared()
    metrics = choose_metrics(comparison)
    if is_many:
        show_baseline_field(run_ids)
if is_many:
    show_many(comparison, run_ids, metrics)
    fold_peers(comparison)
else:
    show_metrics(comparison, metrics)
    parts.show_differences(comparison)
    show_peers(comparison)
show_llm_training(names_of(comparison))
show_trainings(comparison)
with st.container(gap="xsmall"):
    parts.show_captured(comparison)
    parts.show_cards(comparison)
    parts.show_validity(comparison.runs)
    parts.show_single_servers(comparison)
    parts.show_scaling(comparison.runs[0])
    parts.link_history(comparison.runs[0])
