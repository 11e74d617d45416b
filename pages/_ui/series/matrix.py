"""A series as tables: the matrix of its cells, the statistics of its rows, and every attempt."""

import streamlit as st

from aisbench_core.formats import MISSING, duration, nodes_and_cards, number, percent
from aisbench_core.model import CellState, SeriesRow
from aisbench_core.series.matrix import Cell, Matrix, MatrixRow, Tried
from pages._ui.shell.errors import plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import Words, words

MOST_COLUMNS = 5
"""More would not stand beside each other in a narrow window."""

LONG_TITLE = 24
"""Letters from which on a row's title would push the numbers out of view."""

SIGNS = {
    CellState.PLANNED: (":material/schedule:", "gray"),
    CellState.ACTIVE: (":material/pending:", "blue"),
    CellState.VALID: (":material/check_circle:", "green"),
    CellState.INVALID: (":material/report:", "orange"),
    CellState.FAILED: (":material/cancel:", "red"),
    CellState.STOPPED: (":material/stop_circle:", "gray"),
    CellState.CANCELLED: (":material/block:", "gray"),
}
"""A sign and a colour for each state of a cell, beside its word."""


def show_matrix(matrix: Matrix) -> None:
    """A line for each row, a column for each repeat, some repeats at a time; a cell's value leads to its run.

    It is Markdown, because a cell holds a sign, a word in its colour and a link."""
    t = words()
    repeats = matrix.series.plan.repeats
    for first in range(1, repeats + 1, MOST_COLUMNS):
        st.markdown(_table(matrix, range(first, min(first + MOST_COLUMNS, repeats + 1)), t))
    units = sorted({row.unit for row in matrix.rows if row.unit})
    if units:
        st.caption(t("series.values", unit=plain(", ".join(units))))


def show_statistics(matrix: Matrix) -> None:
    """What the valid values of each row say together."""
    t = words()
    long = any(len(row_title(row.asked, t)) > LONG_TITLE for row in matrix.rows)
    st.dataframe(
        [_statistics(row, t) for row in matrix.rows],
        hide_index=True,
        column_config={t("series.row"): st.column_config.TextColumn(width="medium" if long else None)},
        alt=t("series.statistics"),
        height="content" if len(matrix.rows) < 12 else 460,
    )
    st.caption(t("series.statistics_about"))


def show_attempts(matrix: Matrix) -> None:
    """Every attempt at every cell, also those that do not count, with the reasons."""
    t = words()
    rows = [
        _attempt(row, cell, tried, t) for row in matrix.rows for cell in row.cells for tried in cell.tries if tried.run
    ]
    if rows:
        wide = {t("series.detail"): st.column_config.TextColumn(width="large")}
        st.dataframe(rows, hide_index=True, column_config=wide, alt=t("series.attempts"))
    else:
        st.caption(t("series.no_attempts"))


def row_title(asked: SeriesRow, t: Words) -> str:
    """What tells a row from others."""
    return " · ".join(part for part in (t("series.nodes", nodes=asked.node_count), asked.version, asked.image) if part)


def word_of(row: MatrixRow, t: Words) -> str:
    """Whether a row's runs may be taken together, in a word."""
    if row.verdict is None:
        return MISSING
    return t("repeatability.counts" if row.verdict.counts else "repeatability.counts_not")


def _table(matrix: Matrix, repeats: range, t: Words) -> str:
    lines = [[t("series.row"), *(t("series.repeat", number=repeat) for repeat in repeats)]]
    lines.append(["---", *("---:" for _ in repeats)])
    for row in matrix.rows:
        cells = [_cell_text(cell, t) for cell in row.cells if cell.repeat in repeats]
        lines.append([f"**{plain(row_title(row.asked, t))}**", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell_text(cell: Cell, t: Words) -> str:
    tried = cell.shown
    sign, colour = SIGNS[tried.state]
    word = t(f"state.{tried.run.state}") if tried.run and tried.state is CellState.ACTIVE else _word(tried, t)
    again = f" {t('series.attempt', number=tried.number)}" if tried.number > 1 else ""
    if tried.run is None:
        return f"{sign} :{colour}[{word}]{again}"
    value = number(tried.throughput) if tried.state is CellState.VALID else t("series.open_run")
    return f"{sign} :{colour}[{word}]{again} [{value}](live?run={tried.run.run_id}&lang={t.language.value})"


def _word(tried: Tried, t: Words) -> str:
    return t(f"series.cell_{tried.state.name.lower()}")


def _statistics(row: MatrixRow, t: Words) -> dict[str, str]:
    found = row.summary
    interval = f"{number(found.ci_low)} – {number(found.ci_high)}" if found and found.ci_low is not None else MISSING
    return {
        t("series.row"): row_title(row.asked, t),
        t("series.cards"): nodes_and_cards(row.asked.node_count, row.asked.spec.cards_per_node),
        t("series.n"): t("series.n_of", valid=found.count if found else 0, cells=len(row.cells)),
        t("repeatability.verdict"): word_of(row, t),
        t("series.mean"): number(found.mean if found else None),
        t("series.median"): number(row.median),
        t("series.sd"): number(found.sd if found else None),
        t("series.cv"): percent(found.cv if found else None),
        t("series.interval"): interval,
        t("series.olympic"): number(found.olympic_mean if found else None),
        t("series.unit"): row.unit,
    }


def _attempt(row: MatrixRow, cell: Cell, tried: Tried, t: Words) -> dict[str, object]:
    run = tried.run
    return {
        t("series.row"): row_title(row.asked, t),
        t("series.repeat_head"): cell.repeat,
        t("series.attempt_head"): tried.number,
        t("series.state"): t(f"state.{run.state}") if run and tried.state is CellState.ACTIVE else _word(tried, t),
        t("series.value"): number(tried.throughput, tried.unit),
        t("series.began"): when(run.started_at if run else None),
        t("series.took"): duration(run.duration_s if run else None),
        t("series.run"): run.run_id if run else "",
        t("series.detail"): t.detail(run) if run else "",
    }
