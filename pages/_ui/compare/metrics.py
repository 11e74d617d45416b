"""The table of a comparison: each metric of each side, the change against the baseline, and how much runs vary."""

from collections.abc import Collection, Iterator, Sequence

import streamlit as st

from aisbench_core.base.formats import DIGITS, MISSING, format_number, format_points
from aisbench_core.domain.statistics.summary import Summary
from aisbench_core.warehouse.measures.side_verdicts import decide_sides
from aisbench_core.warehouse.values.boards import mixed_or_unknown
from aisbench_core.warehouse.values.compared import ComparedBy, Comparison, MetricComparison, MetricValue, Peers
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.compare.names import names_of
from pages._ui.compare.verdict import colour_of
from pages._ui.grid.column_choice import choose_columns
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, GridCell, GridColumn, GridRow, Tone
from pages._ui.runs.target import peers_text, target_text
from pages._ui.shell import charts
from pages._ui.shell.formats import format_interval
from pages._ui.shell.navigation import METRICS
from pages._ui.shell.words import t

TONES = {"red": Tone.BAD, "green": Tone.GOOD, "gray": Tone.PLAIN}

SECONDS = 3  # significant digits of a duration

Cells = Sequence[GridCell]  # one for each side


def show_metrics(comparison: Comparison, chosen: Collection[str]) -> None:
    """The throughput that decides and how sure it is, then every other metric that was measured."""
    names = names_of(comparison)
    columns = [GridColumn("metric", t("compare.metric"))]
    first = names[comparison.runs[0].run_id]
    for run in comparison.runs:
        name = names[run.run_id]
        is_first = run is comparison.runs[0]
        label = t.with_unit(name, t("history.baseline")) if is_first else name
        columns.append(GridColumn(f"value-{run.run_id}", label, Align.RIGHT, mixed=True))
        if not is_first:
            hint = t("compare.change_hint", candidate=name, baseline=first)
            columns.append(GridColumn(f"change-{run.run_id}", "Δ", Align.RIGHT, hint=hint, mixed=True))
    show_grid(columns, list(list_metric_rows(comparison, chosen)), t("compare.metrics"), key="metrics")
    if comparison.by is ComparedBy.ROWS:
        st.caption(t("compare.of_rows"))


def choose_metrics(comparison: Comparison) -> list[str]:
    """The names of those that have a row, behind a button: all that were measured, unless the URL names some."""
    titles = {metric.name: charts.metric_title(metric) for metric in _list_measured(comparison) if not metric.decides}
    return choose_columns([*titles], [*titles], titles.__getitem__, METRICS)


def list_metric_rows(comparison: Comparison, chosen: Collection[str]) -> Iterator[GridRow]:
    """A row for each metric that decides or is chosen, with the cells `metric`, and `value-` and `change-` of each
    run."""
    measured = _list_measured(comparison)
    if not any(metric.decides for metric in measured):
        yield from _list_noise(comparison)
    for metric in measured:
        if not metric.decides and metric.name not in chosen:
            continue
        pairs = list(zip(comparison.runs, metric.values, strict=True))
        cells = [_show_value(metric, value, run) for run, value in pairs]
        changes = _list_changes(comparison, metric)
        yield _build_row(comparison, metric.name, charts.metric_title(metric), cells, changes)
        if metric.decides:
            yield from _list_noise(comparison)
    by_row = comparison.by is ComparedBy.ROWS
    targets = [
        GridCell(peers_text(run, peers) if by_row else target_text(run), _tone_of(run, peers, by_row))
        for run, peers in zip(comparison.runs, comparison.peers, strict=True)
    ]
    yield _build_row(comparison, "target", t("board.target"), targets)
    if not by_row:
        worth = [
            GridCell(t(f"validity.{run.validity}"), Tone.PLAIN if run.validity.counts else Tone.BAD)
            for run in comparison.runs
        ]
        yield _build_row(comparison, "validity", t("validity.title"), worth)


def _tone_of(run: RunRow, peers: Peers, by_row: bool) -> Tone:
    return Tone.BAD if run.target_outcome.is_missed or (by_row and peers.missed) else Tone.PLAIN


def _list_noise(comparison: Comparison) -> Iterator[GridRow]:
    """The valid runs of each side's configuration: how many, their mean with its interval, and their spread."""
    summaries = [peers.summary for peers in comparison.peers]
    if not any(summaries):
        return
    gaps = [peers.difference for peers in comparison.peers]
    counts = [GridCell(format_number(each.count if each else 0), Tone.MUTED) for each in summaries]
    yield _build_row(comparison, "runs", t("compare.valid_runs"), counts)
    units = [run.throughput_unit for run in comparison.runs]
    own, shared = (units, "") if len(set(units)) > 1 else ([""] * len(units), units[0])
    means = [
        GridCell(format_number(each.mean), Tone.MUTED, unit) if each else GridCell(MISSING, Tone.MUTED)
        for each, unit in zip(summaries, own, strict=True)
    ]
    changes = [_show_change(gap.change if gap else None, Tone.MUTED) for gap in gaps]
    mean = t(f"compare.mean_{comparison.normalise_by or 'run'}")
    yield _build_row(comparison, "mean", t.with_unit(mean, shared), means, changes)
    ends = [GridCell(_format_ends(each), Tone.MUTED) for each in summaries]
    intervals = [GridCell(format_interval(gap) if gap else "", Tone.MUTED) for gap in gaps]
    yield _build_row(comparison, "interval", t("compare.interval"), ends, intervals)
    spreads = [_show_share(each.cv if each else None, Tone.MUTED) for each in summaries]
    yield _build_row(comparison, "noise", t("compare.noise"), spreads)
    if any(run.not_known for run in comparison.runs):
        notes = [GridCell(t.message(mixed_or_unknown(run.not_known)), Tone.WARN) for run in comparison.runs]
        yield _build_row(comparison, "note", t("peers.note"), notes)


def _format_ends(summary: Summary | None) -> str:
    if summary is None or summary.ci_low is None or summary.ci_high is None:
        return MISSING
    return f"{format_number(summary.ci_low)} … {format_number(summary.ci_high)}"


def _build_row(comparison: Comparison, row_id: str, name: str, cells: Cells, changes: Cells = ()) -> GridRow:
    ids = [run.run_id for run in comparison.runs]
    by_column = {f"value-{run_id}": cell for run_id, cell in zip(ids, cells, strict=True)}
    by_column |= {f"change-{run_id}": cell for run_id, cell in zip(ids, changes, strict=False)}
    return GridRow(row_id, name, {"metric": GridCell(name), **by_column})


def _list_measured(comparison: Comparison) -> list[MetricComparison]:
    """What decides comes first."""
    measured = (
        each for each in comparison.metrics if each.decides or any(cell.value is not None for cell in each.values)
    )
    return sorted(measured, key=lambda metric: not metric.decides)


def _show_value(metric: MetricComparison, value: MetricValue, run: RunRow) -> GridCell:
    """The value, with its unit where the runs' units differ."""
    if metric.is_share:
        return _show_share(value.value)
    unit = run.throughput_unit if metric.is_rate and not metric.unit and value.value is not None else ""
    digits = SECONDS if metric.unit == "s" else DIGITS
    return GridCell(format_number(value.value, digits=digits), unit=unit, is_strong=metric.decides)


def _show_share(share: float | None, tone: Tone = Tone.PLAIN) -> GridCell:
    """With two decimals, so that digits stand under digits."""
    return GridCell(MISSING, tone) if share is None else GridCell(f"{100 * share:.2f}", tone, "%")


def _show_change(change: float | None, tone: Tone = Tone.PLAIN, *, is_strong: bool = False) -> GridCell:
    """In per cent of the baseline."""
    return GridCell() if change is None else GridCell(format_points(change), tone, "%", is_strong=is_strong)


def _list_changes(comparison: Comparison, metric: MetricComparison) -> Cells:
    """Of shares in points. Only what decides has the colour of its verdict: other metrics have none."""
    if metric.is_share:
        gaps = [value.difference for value in metric.values]
        return [GridCell() if gap is None else GridCell(format_points(gap), unit=t("compare.points")) for gap in gaps]
    tones = {verdict.run_id: TONES[colour_of(verdict)] for verdict in decide_sides(comparison)}
    if not metric.decides:
        tones = {}
    ratios = [value.ratio for value in metric.values]
    return [
        _show_change(ratio and ratio - 1, tones.get(run.run_id, Tone.PLAIN), is_strong=metric.decides)
        for run, ratio in zip(comparison.runs, ratios, strict=True)
    ]
