"""A series against another one of its workload, row by row: what changed, and whether that is more than p_value."""

from typing import Any

import streamlit as st

from aisbench_core.formats import MISSING, number, p_value, percent, signed
from aisbench_core.series.comparing import RowPair, SeriesComparison
from aisbench_core.series.matrix import Matrix, MatrixRow
from aisbench_core.warehouse.answers.compared import FieldValues
from pages._ui.compare.comparability import field_name, field_text
from pages._ui.history.results import SHOWN
from pages._ui.series.matrix import row_title
from pages._ui.shell import address
from pages._ui.shell.core import core
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import when
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import Words, words

NONE = "none"


def show_against(matrix: Matrix) -> None:
    """The choice of another series, and what changed since it; nothing while there is no other one."""
    t = words()
    others = {each.series_id: each for each in core().series.like(matrix.series)}
    if not others or not matrix.valid:
        return
    st.header(t("against.title"))
    options = [NONE, *others]
    chosen = st.selectbox(
        t("against.choose"),
        help=t("against.help"),
        **address.option(
            "before",
            options,
            NONE,
            lambda each: (
                t("against.none")
                if each == NONE
                else f"{others[each].title} · {each} · {when(others[each].created_at, '%Y-%m-%d %H:%M')}"
            ),
        ),
    )
    if chosen != NONE:
        _show(core().series.compare(chosen, matrix.series.series_id))


def _show(found: SeriesComparison) -> None:
    t = words()
    box, icon = SHOWN[found.outcome]
    box(f"**{t(f'outcome.{found.outcome.name.lower()}')}**", icon=icon)
    if found.pairs:
        show_table([_cells(pair, t) for pair in found.pairs], t("against.title"))
        st.caption(t("against.legend"))
    if found.alone:
        rows = ", ".join(dict.fromkeys(row_title(row, t) for row in found.alone))
        st.caption(t("against.alone", rows=plain(rows)))
    if found.differences:
        show_table([_field(difference, t) for difference in found.differences], t("compare.differences"))
    elif any(pair.verdict for pair in found.pairs):
        st.caption(t("compare.no_differences"))


def _cells(pair: RowPair, t: Words) -> dict[str, Any]:
    beside = pair.difference
    return {
        t("series.row"): row_title(pair.candidate.asked, t),
        t("history.outcome"): _outcome(pair, t),
        t("history.change"): signed(beside.change) if beside else MISSING,
        t("history.interval"): f"{signed(beside.ci_low)} … {signed(beside.ci_high)}" if beside else MISSING,
        t("history.adjusted"): p_value(pair.adjusted_p),
        t("against.needed"): _needed(pair, t),
        t("history.candidate"): _side(pair.candidate),
        t("history.baseline"): _side(pair.baseline),
        t("series.unit"): pair.candidate.unit,
    }


def _outcome(pair: RowPair, t: Words) -> str:
    if pair.reasons:
        return t("against.not_comparable", fields=", ".join(field_name(name, t) for name in pair.reasons))
    return t(f"outcome.{pair.outcome.name.lower()}")


def _side(row: MatrixRow) -> str:
    """8,000 (n = 5, CV 0.40 %)."""
    if row.summary is None:
        return MISSING
    spread = "" if row.summary.cv is None else f", CV {percent(row.summary.cv)}"
    return f"{number(row.summary.mean)} (n = {row.summary.count}{spread})"


def _needed(pair: RowPair, t: Words) -> str:
    if pair.power is None:
        return MISSING
    if pair.power.runs:
        return str(pair.power.runs)
    return f"{pair.power.runs_each} + {pair.power.runs_each}" if pair.power.runs_each else t("against.never")


def _field(each: FieldValues, t: Words) -> dict[str, Any]:
    before, now = (field_text(value, t) for value in each.values)
    return {t("compare.field"): field_name(each.field, t), t("history.baseline"): before, t("history.candidate"): now}
