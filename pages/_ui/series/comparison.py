"""A series against another one of its workload, row by row: the changes, and which of them are significant."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from aisbench_core.base.formats import MISSING, format_change, p_value
from aisbench_core.running.series.comparing import RowPair, SeriesComparison
from aisbench_core.running.series.matrix import Matrix
from aisbench_core.warehouse.values.compared import FieldValues
from pages._ui.history.results import OUTCOMES
from pages._ui.runs.target import missed_text
from pages._ui.series.matrix import row_title
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_interval, format_time, summary_text
from pages._ui.shell.spec_fields import field_name, field_text
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_against(matrix: Matrix, metric: str) -> None:
    """The choice of another series, and what changed since it; nothing while there is no other one."""
    by_id = {series.series_id: series for series in core().series.like(matrix.series)}
    if not by_id or not matrix.valid:
        return

    def title(series_id: str | None) -> str:
        if series_id is None:
            return t("against.none")
        return f"{by_id[series_id].title} · {series_id} · {format_time(by_id[series_id].created_at, '%Y-%m-%d %H:%M')}"

    st.header(t("against.title"))
    label, options = t("against.choose"), [None, *by_id]
    baseline = url.choose_option(st.selectbox, "before", label, options, title, help=t("against.help"))
    if baseline:
        _draw_comparison(core().series.compare(baseline, matrix.series.series_id, metric))


def _draw_comparison(comparison: SeriesComparison) -> None:
    box, icon = OUTCOMES[comparison.outcome]
    box(f"**{t(f'outcome.{comparison.outcome.name.lower()}')}**", icon=icon)
    if comparison.pairs:
        _show_pairs(comparison.pairs)
        st.caption(t("against.legend"))
    if comparison.alone:
        names = ", ".join(dict.fromkeys(map(row_title, comparison.alone)))
        st.caption(t("against.alone", rows=escape_markdown(names)))
    if comparison.differences:
        titles = {
            "field": t("compare.field"),
            "baseline": t("history.baseline"),
            "candidate": t("history.candidate"),
        }
        rows = [_field_cells(difference) for difference in comparison.differences]
        show_table(rows, titles, t("compare.differences"))
    elif any(pair.comparability for pair in comparison.pairs):
        st.caption(t("compare.no_differences"))


def _show_pairs(pairs: Sequence[RowPair]) -> None:
    titles = {
        "row": t("series.row"),
        "outcome": t("history.outcome"),
        "change": t("history.change"),
        "interval": t("history.interval"),
        "adjusted_p": t("history.adjusted"),
        "needed": t("against.needed"),
        "candidate": t("history.candidate"),
        "baseline": t("history.baseline"),
        "unit": t("series.unit"),
    }
    show_table([_to_row(pair) for pair in pairs], titles, t("against.title"))


def _to_row(pair: RowPair) -> dict[str, Any]:
    difference, outcome = pair.difference, t(f"outcome.{pair.outcome.name.lower()}")
    if pair.reasons:
        outcome = t("against.not_comparable", fields=", ".join(map(field_name, pair.reasons)))
    elif pair.withheld:
        outcome = t.message(pair.withheld)
    if pair.missed:
        runs = len(pair.baseline.counted) + len(pair.candidate.counted)
        outcome = f"{outcome}; {missed_text(pair.missed, runs)}"
    return {
        "row": row_title(pair.candidate.planned),
        "outcome": outcome,
        "change": format_change(difference.change) if difference else MISSING,
        "interval": format_interval(difference),
        "adjusted_p": p_value(pair.adjusted_p),
        "needed": _needed_runs(pair),
        "candidate": summary_text(pair.candidate.summary),
        "baseline": summary_text(pair.baseline.summary),
        "unit": pair.candidate.unit,
    }


def _needed_runs(pair: RowPair) -> str:
    if pair.power is None:
        return MISSING
    if pair.power.runs:
        return str(pair.power.runs)
    return f"{pair.power.runs_each} + {pair.power.runs_each}" if pair.power.runs_each else t("against.never")


def _field_cells(field: FieldValues) -> dict[str, Any]:
    before, now = map(field_text, field.values)
    return {"field": field_name(field.field), "baseline": before, "candidate": now}
