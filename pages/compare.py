"""Compare: 2 to 8 runs (`?ids=…`) against the first of them: the verdict, the metrics, then what differs."""

from aisbench_core.warehouse.values.compared import MIN_COMPARED
from pages._ui.compare import comparison as parts
from pages._ui.compare.comparability import show_comparability, show_equal_fields
from pages._ui.compare.groups import show_peers
from pages._ui.compare.sentences import show_sentences
from pages._ui.runs.servers import show_servers
from pages._ui.runs.validity import show_verdicts
from pages._ui.shell import saved_views
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.downloads import show_report
from pages._ui.shell.errors import end_page
from pages._ui.shell.navigation import COMPARE
from pages._ui.shell.words import t

saved_views.show_title(COMPARE, t("compare.title"))
run_ids = parts.choose_runs()
saved_views.show_missing()
if len(run_ids) < MIN_COMPARED:
    row = run_cached(core().warehouse.runs.find_row, run_ids[0]) if run_ids else None
    if row:
        parts.show_scaling(row)
    end_page()

comparison = run_cached(core().warehouse.runs.compare, tuple(run_ids), parts.choose_compared())
show_sentences(comparison)
show_comparability(comparison)
parts.show_metrics(comparison)
show_equal_fields(comparison)
parts.show_clones(comparison.runs)
parts.show_differences(comparison)
show_peers(comparison)
parts.show_metric_charts(comparison)
show_verdicts(comparison.runs)
show_servers(comparison.servers, {run.run_id: run.throughput_unit for run in comparison.runs})
parts.show_scaling(comparison.runs[0])
parts.link_history(comparison.runs[0])
show_report(comparison.runs)
