"""A series as tables: the matrix of its cells, statistics and verdicts of its rows, and every attempt."""

from collections.abc import Collection

import altair as alt
import streamlit as st

from aisbench_core.base.formats import MISSING, format_duration, format_number, format_percent, nodes_and_cards
from aisbench_core.model import CellState, SeriesRow
from aisbench_core.model.columns.statistics import OLYMPIC_MEAN
from aisbench_core.running.series.matrix import BestRow, Cell, Matrix, MatrixRow, Tried
from aisbench_core.warehouse.values.runs import CheckLevel
from pages._ui.configure.clones import show_clone_button
from pages._ui.runs.target import missed_text
from pages._ui.runs.validity import CHECKS, name_of, ruleset_of, show_check
from pages._ui.shell import charts
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import Width, show_table
from pages._ui.shell.words import t

MAX_COLUMNS = 5  # more would not fit beside each other in a narrow window
LONG_TITLE = 24  # letters from which on a row's title would push the numbers out of view
BEST_HEIGHT = 260  # pixels of the chart of medians
VISIBLE = 12  # rows of a table that are visible at a time

# A sign and a colour for each state of a cell, beside its word.
SIGNS = {
    CellState.PLANNED: (":material/schedule:", "gray"),
    CellState.ACTIVE: (":material/pending:", "blue"),
    CellState.VALID: (":material/check_circle:", "green"),
    CellState.INVALID: (":material/report:", "orange"),
    CellState.FAILED: (":material/cancel:", "red"),
    CellState.STOPPED: (":material/stop_circle:", "gray"),
    CellState.STOPPED_EARLY: (":material/content_cut:", "gray"),
    CellState.CANCELLED: (":material/block:", "gray"),
}


def show_matrix(matrix: Matrix) -> None:
    """A line for each row, a column for each repeat, MAX_COLUMNS repeats at a time; a cell's value links to its run.

    It is Markdown, because a cell of `st.dataframe` cannot hold a sign, a coloured word and a link."""
    repeats = matrix.most_repeats
    for first in range(1, repeats + 1, MAX_COLUMNS):
        st.markdown(_to_markdown(matrix, range(first, min(first + MAX_COLUMNS, repeats + 1))))
    units = sorted({row.unit for row in matrix.rows if row.unit})
    if units:
        name = matrix.metric.name if matrix.metric else t("series.value")
        st.caption(t("series.values", values=escape_markdown(t.with_unit(name, ", ".join(units)))))


def _to_markdown(matrix: Matrix, repeats: range) -> str:
    lines = [[t("series.row"), *(t("series.repeat", number=repeat) for repeat in repeats)]]
    lines.append(["---", *("---:" for _ in repeats)])
    for row in matrix.rows:
        if not row.cells:  # a stopping rule did not need it
            continue
        cells = [_cell_text(cell) for cell in row.cells if cell.repeat in repeats]
        lines.append([f"**{escape_markdown(row_title(row.planned))}**", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell_text(cell: Cell) -> str:
    attempt = cell.shown
    sign, colour = SIGNS[attempt.state]
    number_text = f" {t('series.attempt', number=attempt.number)}" if attempt.number > 1 else ""
    text = f"{sign} :{colour}[{state_text(attempt)}]{number_text}"
    if attempt.run is None:
        return text
    value = format_number(attempt.throughput) if attempt.state is CellState.VALID else t("series.open_run")
    text += f" :red[{t('target.missed')}]" if attempt.has_missed and attempt.state is CellState.VALID else ""
    # A link in Markdown, so the language has to be named: `navigation.link_page` cannot stand in a table.
    return f"{text} [{value}](live?run={attempt.run.run_id}&lang={t.language.value})"


def state_text(attempt: Tried) -> str:
    """The cell's state; of an active one the run's, which says more."""
    if attempt.run and attempt.state is CellState.ACTIVE:
        return t(f"state.{attempt.run.state}")
    return t(f"series.cell_{attempt.state.name.lower()}")


def show_spread(matrix: Matrix) -> None:
    """Every valid value of each row beside the row's median, coloured by the row's CV; nothing for single values."""
    dots = [
        {
            "row": row_title(row.planned),
            "beside": value / row.median - 1,
            "value": f"{format_number(value)} {t.unit(row.unit)}",
            "cv": row.summary.cv,
        }
        for row in matrix.rows
        if row.median and row.summary and row.summary.cv is not None
        for value in row.values
    ]
    if not dots:
        return
    rows = list(dict.fromkeys(str(dot["row"]) for dot in dots))
    ramp = alt.Scale(scheme="viridis")  # ordered in lightness, so that it is read without seeing colours
    tips = [
        alt.Tooltip("row:N", title=t("series.row")),
        alt.Tooltip("value:N", title=t("series.value")),
        alt.Tooltip("beside:Q", title=t("series.beside"), format="+.2%"),
        alt.Tooltip("cv:Q", title=t.statistic("cv"), format=".2%"),
    ]
    chart = charts.chart_of(dots).mark_circle(size=90, opacity=1)
    chart = chart.encode(
        x=alt.X("beside:Q", title=t("series.beside"), axis=alt.Axis(format="+.1~%", tickCount=7)),
        y=alt.Y("row:N", title=None, sort=rows, axis=alt.Axis(labelLimit=300)),
        color=alt.Color("cv:Q", title=t.statistic("cv"), legend=alt.Legend(format=".1~%"), scale=ramp),
        tooltip=tips,
    )
    charts.draw_chart(chart.properties(height=charts.BAR * len(rows) + charts.AXIS), text=t("series.spread_chart"))


def show_best(matrix: Matrix) -> None:
    """Of a series that varies hyperparameters: its fastest row, a draft of it, and the medians along the first one."""
    if not matrix.rivals:
        return
    best, unit = matrix.best, matrix.rivals[0][1].unit
    if best:
        show_best_row(best, "series.best", t("series.best_tied", count=best.tied) if best.tied else "")
    else:
        show_why_no_best(matrix)
    name, *others = matrix.series.plan.values
    points = [
        {
            "value": str(row.planned.parameters[name]),
            "median": row.median,
            "row": row_title(row.planned),
            "rest": ", ".join(filter(None, rest)),
        }
        for row in matrix.rows
        if row.median is not None
        for nodes in [t("series.nodes", nodes=row.planned.node_count)]
        for rest in [[nodes, row.planned.version, *(f"{other}={row.planned.parameters[other]}" for other in others)]]
    ]
    order = [str(value) for value in matrix.series.plan.values[name]]
    chart = charts.chart_of(points).mark_line(point=True)
    chart = chart.encode(
        x=alt.X("value:N", title=name, sort=order, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("median:Q", title=f"{t.statistic('throughput')} ({t.unit(unit)})", scale=alt.Scale(zero=False)),
        color=alt.Color("rest:N", title=None, legend=alt.Legend(orient="bottom", labelLimit=300)),
        tooltip=[alt.Tooltip("row:N", title=t("series.row")), alt.Tooltip("median:Q", format=",.5~g")],
    )
    charts.draw_chart(chart.properties(height=BEST_HEIGHT), text=t("series.best_chart", name=name))


def show_why_no_best(matrix: Matrix) -> None:
    """Why no row is the best, although several have values."""
    if matrix.rivals and not matrix.best:
        no_direction = t("history.no_direction") if matrix.higher_is_better is None else t("target.missed")
        reason, advice = t.message(matrix.mixed) or no_direction, t.message(matrix.advice)
        st.markdown(
            ". ".join(filter(None, (t("series.no_best", reason=escape_markdown(reason)), escape_markdown(advice))))
        )


def show_best_row(best: BestRow, key: str, more: str = "") -> None:
    """The best row in the words of `key`, and the button that makes a draft of it."""
    facts = {"row": escape_markdown(row_title(best.row.planned)), "value": format_number(best.value, t.unit(best.unit))}
    with st.container(horizontal=True, vertical_alignment="center"):
        missed = f" · :red[{t('target.missed')}]" if best.row.missed else ""
        st.markdown(t(key, **facts) + missed + more)
        if best.row.typical and best.row.typical.run:
            show_clone_button(best.row.typical.run.run_id, key="best")


def show_statistics(matrix: Matrix, hidden: Collection[str]) -> None:
    """Statistics over the valid values of each row, without the hidden columns."""
    long = any(len(row_title(row.planned)) > LONG_TITLE for row in matrix.rows)
    rows = [_to_statistics_row(row) for row in matrix.rows]
    widths: dict[str, Width] = {"row": "medium"} if long else {}
    titles = {key: title for key, title in list_statistics_titles().items() if key not in hidden}
    show_table(rows, titles, t("series.statistics"), widths=widths, visible=VISIBLE)
    st.caption(t("series.statistics_about"))


def list_statistics_titles() -> dict[str, str]:
    """By field, in their order."""
    return {
        "row": t("series.row"),
        "cards": t("series.cards"),
        "valid": t("series.n"),
        "verdict": t("repeatability.verdict"),
        **{name: t.statistic(name) for name in ("mean", "throughput", "sd", "cv")},
        "interval": t("series.interval"),
        OLYMPIC_MEAN.name: t.statistic(OLYMPIC_MEAN.name),
        "unit": t("series.unit"),
    }


def _to_statistics_row(row: MatrixRow) -> dict[str, str]:
    summary = row.summary
    interval = t.message(row.mixed) or MISSING
    if summary and summary.ci_low is not None:
        interval = f"{format_number(summary.ci_low)} – {format_number(summary.ci_high)}"
    return {
        "row": row_title(row.planned),
        "cards": nodes_and_cards(row.planned.node_count, row.planned.spec.cards_per_node),
        "valid": t("series.n_of", valid=summary.count if summary else 0, cells=len(row.cells)),
        "verdict": _verdict_text(row),
        "mean": format_number(summary.mean if summary else None),
        "throughput": format_number(row.median),
        "sd": format_number(summary.sd if summary else None),
        "cv": format_percent(summary.cv if summary else None),
        "interval": interval,
        OLYMPIC_MEAN.name: format_number(getattr(summary, OLYMPIC_MEAN.name, None)),
        "unit": row.unit,
    }


def _verdict_text(row: MatrixRow) -> str:
    if row.evaluation is None:
        return MISSING
    if not row.evaluation.counts:
        return t("repeatability.counts_not")
    text = t("repeatability.counts_warned" if row.evaluation.of_level(CheckLevel.WARN) else "repeatability.counts")
    return f"{text}; {missed_text(row.missed, len(row.counted))}" if row.missed else text


def show_series_verdicts(matrix: Matrix) -> None:
    """Whether each row counts as one measurement: the ruleset, and the checks that failed or warn."""
    rated_rows = [(row, row.evaluation) for row in matrix.rows if row.evaluation]
    if not rated_rows:
        st.caption(t("repeatability.none"))
        return
    ruleset_id = rated_rows[0][1].ruleset_id
    ruleset = ruleset_of(ruleset_id)
    st.caption(t("repeatability.by", ruleset=escape_markdown(name_of(ruleset, ruleset_id))))
    for row, repeatability in rated_rows:
        failed, warned = repeatability.of_level(CheckLevel.FAIL), repeatability.of_level(CheckLevel.WARN)
        label = f"{escape_markdown(row_title(row.planned))} · **{_verdict_text(row)}**"
        if not failed and not warned:
            st.markdown(f":material/check: {label}")
            continue
        counts = escape_markdown(f": {t('validity.checks', failed=len(failed), warned=len(warned))}")
        with st.expander(label + counts, expanded=not repeatability.counts, icon=CHECKS):
            for check in (*failed, *warned):
                show_check(check, ruleset)


def show_attempts(matrix: Matrix, hidden: Collection[str]) -> None:
    """Every attempt at every cell, also those that do not count, with the reasons; without the hidden columns."""
    rows = [
        _to_attempt_row(row, cell, attempt)
        for row in matrix.rows
        for cell in row.cells
        for attempt in cell.tries
        if attempt.run
    ]
    if rows:
        titles = {key: title for key, title in list_attempt_titles().items() if key not in hidden}
        show_table(rows, titles, t("series.attempts"), widths={"detail": "large"}, visible=VISIBLE)
    else:
        st.caption(t("series.no_attempts"))


def list_attempt_titles() -> dict[str, str]:
    """By field, in their order."""
    return {
        "row": t("series.row"),
        "repeat": t("series.repeat_head"),
        "attempt": t("series.attempt_head"),
        "state": t("series.state"),
        "value": t("series.value"),
        "began": t("series.began"),
        "took": t("series.took"),
        "run": t("series.run"),
        "detail": t("series.detail"),
    }


def _to_attempt_row(row: MatrixRow, cell: Cell, attempt: Tried) -> dict[str, object]:
    run = attempt.run
    return {
        "row": row_title(row.planned),
        "repeat": cell.repeat,
        "attempt": attempt.number,
        "state": state_text(attempt),
        "value": format_number(attempt.throughput, attempt.unit),
        "began": format_time(run.started_at if run else None),
        "took": format_duration(run.duration_s if run else None),
        "run": run.run_id if run else "",
        "detail": t.message(run.explanation) if run else "",
    }


def row_title(row: SeriesRow) -> str:
    """Nodes, version, image and values: where rows of a series differ."""
    parts = (t("series.nodes", nodes=row.node_count), row.version, row.image, row.parameters_text)
    return " · ".join(filter(None, parts))
