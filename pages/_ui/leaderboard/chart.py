"""The leaderboard's chart: medians as bars, single runs as dots, 95 % intervals, and the best run of each row."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from aisbench_core.base.formats import clip_text
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import RunDot
from pages._ui.leaderboard.columns import rank_text
from pages._ui.runs.target import row_note, target_text
from pages._ui.shell.charts import (
    AXIS,
    BAR,
    LEGEND,
    Drawing,
    chart_of,
    get_text_colour,
    if_any,
    row_name,
    version_scale,
)
from pages._ui.shell.words import t

MAX_STRETCH = 1.5  # how far the axis reaches beyond the fastest run, for intervals that end there


def draw_bars(rows: Sequence[BoardRow], dots: Mapping[str, Sequence[RunDot]], parameters: Mapping[str, str]) -> Drawing:
    """Rows with a median, each with its 95 % interval where there is one, its single runs, and a triangle at the best.

    `dots` are by a row's latest run; `parameters` distinguish configurations that look alike, by fingerprint."""
    unit = rows[0].throughput_unit
    titles = {row.latest_run_id: row_name(row, parameters.get(row.fingerprint, "")) for row in rows}
    names = _name_rows(rows, titles)
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=420))
    x = alt.X(
        "value:Q", title=t("charts.throughput", unit=unit), axis=alt.Axis(labelBound=True), scale=_build_scale(rows)
    )
    medians = [_to_bar(row, names[row.latest_run_id], titles[row.latest_run_id]) for row in rows]
    runs = [
        {"name": names[row.latest_run_id], "value": dot.throughput, "run": dot.run_id}
        for row in rows
        for dot in dots.get(row.latest_run_id, ())
    ]
    best = [
        {"name": names[row.latest_run_id], "value": row.best, "run": row.best_run_id}
        for row in rows
        if row.best is not None
    ]
    legend = alt.Legend(orient="bottom", columns=3, symbolOpacity=1)
    scale = version_scale((_format_version(row), row.framework_version) for row in rows)
    colour = alt.Color("version:N", title=t("charts.version"), legend=legend, scale=scale)
    layers = [
        chart_of(medians).mark_bar().encode(x=x, y=y, color=colour, tooltip=_bar_tips(unit)),
        *if_any([bar for bar in medians if bar["low"] is not None], lambda base: _draw_intervals(base.encode(y=y))),
        *if_any(runs, lambda base: _draw_dots(base, unit).encode(x=x, y=y)),
        *if_any(best, lambda base: _draw_best(base, unit).encode(x=x, y=y)),
    ]
    return alt.layer(*layers, height=len(rows) * BAR + AXIS + LEGEND)


def _build_scale(rows: Sequence[BoardRow]) -> alt.Scale:
    """Two runs that differ a lot have an interval so wide that all bars would be points: it ends with the axis."""
    largest = max(max(row.throughput or 0.0, row.best or 0.0) for row in rows)
    ends = max(row.ci_high or 0.0 for row in rows)
    return alt.Scale(domainMax=MAX_STRETCH * largest, clamp=True) if ends > MAX_STRETCH * largest else alt.Scale()


def _name_rows(rows: Sequence[BoardRow], titles: Mapping[str, str]) -> dict[str, str]:
    """Each row's rank and title. A bar of its own needs a name of its own: rows that look alike name a run, too."""
    names: dict[str, str] = {}
    for row in rows:
        title = titles[row.latest_run_id]
        name = f"{row.rank}. {title}" if row.rank else title
        name = " · ".join(filter(None, (name, row_note(row))))
        names[row.latest_run_id] = f"{name} · {row.latest_run_id}" if name in names.values() else name
    return names


def _to_bar(row: BoardRow, name: str, title: str) -> dict[str, Any]:
    return {
        "name": name,
        "whole": title,
        "value": row.throughput,
        "low": row.ci_low,
        "high": row.ci_high,
        "version": _format_version(row),
        "runs": row.runs,
        "rank": rank_text(row),
        "target": target_text(row),
    }


def _format_version(row: BoardRow) -> str:
    return clip_text(f"{row.framework} {row.framework_version}")


def _draw_intervals(base: Drawing) -> Drawing:
    """Black with a white edge is seen on bars and beside them, in light and dark."""
    base = base.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    return base.mark_rule(strokeWidth=4, color="white") + base.mark_rule(strokeWidth=2, color="black")


def _draw_dots(base: Drawing, unit: str) -> Drawing:
    mark = base.mark_circle(size=26, opacity=0.8, color=get_text_colour(), stroke="white", strokeWidth=0.5)
    return mark.encode(tooltip=_run_tips(unit))


def _draw_best(base: Drawing, unit: str) -> Drawing:
    mark = base.mark_point(shape="triangle-right", filled=True, size=70, dx=9, color=get_text_colour(), opacity=1)
    return mark.encode(tooltip=_run_tips(unit))


def _bar_tips(unit: str) -> list[Any]:
    return [
        alt.Tooltip("whole:N", title=t("charts.what")),
        alt.Tooltip("rank:N", title=t("board.rank")),
        alt.Tooltip("value:Q", title=t("board.median", unit=unit), format=",.5~g"),
        alt.Tooltip("low:Q", title=t("board.low", unit=unit), format=",.5~g"),
        alt.Tooltip("high:Q", title=t("board.high", unit=unit), format=",.5~g"),
        alt.Tooltip("runs:Q", title=t("board.runs")),
        alt.Tooltip("target:N", title=t("board.target")),
    ]


def _run_tips(unit: str) -> list[Any]:
    value = alt.Tooltip("value:Q", title=t("charts.throughput", unit=unit), format=",.5~g")
    return [alt.Tooltip("run:N", title=t("charts.run")), value]
