"""Whether a run is healthy: hangs and restarts, nodes that do little, and what the platform measured on the nodes."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.formats import duration
from aisbench_core.model import JobDetails, MetricSample, Run
from aisbench_core.results.utilisation import low_utilisation
from pages._ui.runs.job_details import show_alert
from pages._ui.shell import charts, widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import t

MAX_WARNINGS = 3  # about single nodes


def show_alerts(run: Run, details: JobDetails) -> None:
    """What needs a person's attention while the run lives."""
    show_alert(run, details)


def show_utilisation(run_id: str) -> None:
    """Nodes whose cards were hardly used for minutes, and the likely reason."""
    with errors_shown():
        found = low_utilisation(core().files.samples(run_id))
        for low in found[:MAX_WARNINGS]:
            lasted = duration((low.until - low.since).total_seconds())
            facts = {"node": low.node, "metric": t.sample(low.metric), "mean": f"{low.mean:.0f}", "lasted": lasted}
            warning = t("live.low", **facts, since=when(low.since, "%H:%M"), reason=t.message(low.reason))
            st.warning(plain(warning), icon=":material/speed:")
        if len(found) > MAX_WARNINGS:
            st.caption(t("live.low_more", count=len(found) - MAX_WARNINGS))


def show_node_metrics(run_id: str) -> None:
    """One metric of the platform, a line for each node."""
    with errors_shown():
        st.header(t("live.metrics"))
        samples = core().files.samples(run_id)
        names = sorted({sample.name for sample in samples})
        if not names:
            st.caption(t("live.no_metrics"))
            return
        choice = widgets.session_choice("metric-of-run", names, names[0], t.sample)
        name = str(st.selectbox(t("live.metric"), width=320, **choice))
        charts.draw(charts.metric_over_time(_of(samples, name), name), text=t("charts.metric", name=t.sample(name)))


def _of(samples: Sequence[MetricSample], name: str) -> list[MetricSample]:
    return [sample for sample in samples if sample.name == name]
