"""The named metrics of a run, as its script reported them or the console computed them."""

import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.model import RunMetric
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_metrics_of(run: RunRow) -> None:
    """A table of them, folded; nothing without any."""
    metrics = run_cached(core().warehouse.runs.find_metrics, (run.run_id,))[run.run_id]
    if not metrics:
        return
    titles = {
        "name": t("metrics.name"),
        "value": t("metrics.value"),
        "better": t("metrics.better"),
        "combined": t("metrics.combined"),
        "definition": t("metrics.definition"),
        "source": t("metrics.source"),
    }
    with st.expander(t("metrics.folded", count=len(metrics)), icon=":material/list_alt:"):
        show_table([_to_row(metric) for metric in metrics], titles, t("metrics.title"))


def _to_row(metric: RunMetric) -> dict[str, object]:
    return {
        "name": metric.name,
        "value": format_number(metric.value, metric.unit),
        "better": t(f"metrics.better_{metric.better}") if metric.better else "",
        "combined": t(f"metrics.combined_{metric.combined}"),
        "definition": metric.definition,
        "source": t(f"metrics.source_{metric.source}"),
    }
