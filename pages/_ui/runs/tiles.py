"""The result of a run as a row of figures, none for what was not measured, and links to where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from aisbench_core.base.formats import (
    change_digits,
    format_change,
    format_money,
    format_number,
    format_percent,
    shorten_hash,
)
from aisbench_core.warehouse.values.histories import BaselineGap, RegressionVerdict, Trend
from aisbench_core.warehouse.values.runs import BoardQuery, RunRow, TargetOutcome
from pages._ui import layout
from pages._ui.runs.target import has_missed_loss, target_text
from pages._ui.shell import navigation
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.navigation import link_page
from pages._ui.shell.words import t

Colour = Literal["green", "red", "gray"]
MARKS: dict[TargetOutcome, tuple[str, Colour]] = {
    TargetOutcome.REACHED: ("✓", "green"),
    TargetOutcome.MISSED: ("✗", "red"),
}


@dataclass(frozen=True, slots=True)
class _Tile:
    """A figure, and what is said below it."""

    label: str
    value: str
    note: str = ""
    colour: Colour = "gray"
    help_text: str | None = None


def show_tiles(row: RunRow) -> None:
    """Throughput, its distance from the baseline, accuracy, energy and cost, as far as they are known."""
    tiles = [tile for tile in _list_tiles(row) if tile.value]
    for place, tile in zip(layout.create_tiles([tile.label for tile in tiles]).values(), tiles, strict=True):
        place.metric(
            tile.label,
            tile.value,
            delta=tile.note or None,
            delta_color=tile.colour,
            delta_arrow="off",
            border=True,
            height="stretch",
            help=tile.help_text,
        )


def _list_tiles(row: RunRow) -> Iterator[_Tile]:
    unit = escape_markdown(row.throughput_unit)
    per_card = t("result.per_card", value=format_number(row.per_card)) if row.per_card is not None else ""
    yield _Tile(t("charts.throughput", unit=unit), format_number(row.throughput), per_card)
    yield from _list_gap_tiles(row)
    if row.accuracy is not None:
        mark, colour = MARKS.get(row.target_outcome, ("", "gray"))
        target = format_percent(row.accuracy_target) if row.accuracy_target is not None else ""
        note = t("result.target", mark=mark, target=target) if mark and target else target_text(row)
        yield _Tile(t("board.accuracy"), format_percent(row.accuracy), note, colour)
    yield from _list_loss_tiles(row)
    if row.energy_j is not None:
        power = t("result.power", power=format_number(row.average_power_w)) if row.average_power_w is not None else ""
        yield _Tile(t("metric.energy_consumption"), format_number(row.energy_j, "J"), power)
    if row.cost is not None:
        price = row.cost_per_million_samples
        note = t("result.per_million", money=format_money(price, row.currency)) if price is not None else ""
        yield _Tile(t("run.costs"), format_money(row.cost, row.currency), note)


def _list_loss_tiles(row: RunRow) -> Iterator[_Tile]:
    """The lowest loss with ✓ or ✗, of a workload that states a target of it."""
    found = run_cached(core().warehouse.runs.find_metrics, (row.run_id,))[row.run_id]
    metrics = {metric.name: metric for metric in found}
    if "loss_target" in metrics and "lowest_loss" in metrics:
        mark, colour = MARKS[TargetOutcome.MISSED if has_missed_loss(metrics) else TargetOutcome.REACHED]
        note = t("result.target", mark=mark, target=f"≤ {format_number(metrics['loss_target'].value)}")
        yield _Tile(t("metric.lowest_loss"), format_number(metrics["lowest_loss"].value), note, colour)


def _find_verdict(row: RunRow) -> RegressionVerdict | None:
    return run_cached(core().warehouse.trends.find_verdict, row) if row.validity.counts else None


def _list_gap_tiles(row: RunRow) -> Iterator[_Tile]:
    """What the run's version comes to against the baseline; of runs that are not compared, their own distance, which
    lists have as well."""
    verdict = _find_verdict(row)
    if verdict is None:
        return
    if gap := verdict.gap_of(row.run_id):
        yield _build_gap_tile(gap)
    elif (change := verdict.compare_throughput(row)) is not None:
        title = t("result.against", baseline=_name_baseline(verdict.baseline))
        yield _Tile(title, format_change(change, 1), t("result.run_alone"), help_text=t("result.run_alone_help"))


def _build_gap_tile(gap: BaselineGap) -> _Tile:
    size, digits = gap.difference, change_digits(gap.difference.change)
    colour: Colour = "red" if size.ci_high < 0 else "green" if size.ci_low > 0 else "gray"
    return _Tile(
        t("result.against", baseline=_name_baseline(gap.baseline)),
        format_change(size.change, digits),
        t(
            "result.interval",
            low=format_change(size.ci_low, digits),
            high=format_change(size.ci_high, digits),
            runs=gap.runs,
            before=gap.before,
        ),
        colour,
        t("result.against_help"),
    )


def _name_baseline(baseline: str) -> str:
    return escape_markdown(shorten_hash(baseline)) or t("history.version_unknown")


def board_selection(row: RunRow) -> dict[str, str]:
    """The parameters of a leaderboard that has a row for the run, whether or not it is valid, and however many others
    there are: the run alone, unless it is among the newest."""
    is_counted = row.validity.counts
    newest = BoardQuery(row.region, rehearsal=row.rehearsal, include_invalid=not is_counted, sort="created_at")
    is_on_first_page = any(one.run_id == row.run_id for one in run_cached(core().warehouse.runs.list_rows, newest).rows)
    return {
        "region": region_key(row),
        "show": "runs",
        **({} if is_counted else {"invalid": "1"}),
        **({} if is_on_first_page else {"q": row.run_id}),
    }


def show_places(row: RunRow) -> None:
    """Links to the rank, to the configuration's runs and their history, and to the comparison with the baseline."""
    with st.container(horizontal=True, gap="small", key="run-links"):
        place = run_cached(core().warehouse.board.find_place, row.run_id)
        board = t("live.go_leaderboard")
        if place and place.row.rank:
            board = t("result.rank", rank=place.row.rank, ranked=f"{place.ranked:,}", board=board)
        link_page(navigation.LEADERBOARD, board, board_selection(row))
        if place:
            label = t("result.configuration", count=f"{place.total:,}")
            link_page(navigation.CONFIGURATION, label, {"run": row.run_id})
        if row.validity.counts:
            link_page(navigation.HISTORY, t("menu.history"), {"region": region_key(row), "group": Trend.of(row).id})
        verdict = _find_verdict(row)
        if verdict and (gap := verdict.gap_of(row.run_id)):
            label = t("result.compare", baseline=_name_baseline(gap.baseline))
            selection = {"ids": [gap.baseline_run_id, row.run_id], "by": "rows"}
            link_page(navigation.COMPARE, label, selection)
