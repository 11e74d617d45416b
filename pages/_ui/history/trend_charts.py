"""The charts of the History page: every run as a dot, over levels or versions with their intervals."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import altair as alt

from aisbench_core.base.formats import MISSING, clip_text, shorten_hash
from aisbench_core.warehouse.values.histories import (
    TARGET_MISSED,
    Change,
    History,
    HistoryRun,
    MetricHistory,
    RunLevel,
    VersionField,
)
from pages._ui.history.choice import name_metric
from pages._ui.shell.charts import (
    SHAPES,
    Drawing,
    build_colour_ramp,
    chart_of,
    colour_scale,
    if_any,
    shape_of,
    shape_scale,
    version_scale,
    version_shapes,
)
from pages._ui.shell.words import t

GREY = "#7a8699"
WORSE, BETTER = "#d1433c", "#1d8a5f"
HEIGHT = 320  # with the choices and the verdict it ends above the fold of a window of 900 pixels

MAX_LABELS = 12  # labels of more boundaries would overlap; the lines and their tooltips stay
LABEL = 22  # letters of a boundary's label: longer ones would leave the chart at its lower end


def over_time(history: History, metric: MetricHistory, ink: str) -> Drawing:
    """Runs over time; a level's band is the 95 % interval of its mean, dashed lines are first runs of versions."""
    bands = [_to_band_row(metric.levels, index) for index in range(len(metric.levels))]
    x = alt.X("from:T", title=None, axis=alt.Axis(labelOverlap=True, format=_choose_time_format(history)))
    y = alt.Y("value:Q", title=_format_title(metric), scale=alt.Scale(zero=False, padding=12), axis=_build_axis())
    layers = [
        *if_any([band for band in bands if band["low"] is not None], _draw_interval),
        *if_any(
            bands,
            lambda base: base.mark_rule(color=GREY, strokeWidth=2).encode(x=x, x2=alt.X2("to:T"), y=alt.Y("mean:Q")),
        ),
        *_draw_boundaries(history, ink),
        *if_any([_to_change_row(change) for change in metric.changes], _draw_changes),
        _draw_dots(history, metric, ink).encode(x=alt.X("at:T", title=None), y=y),
    ]
    return alt.layer(*layers, height=HEIGHT)


def over_versions(history: History, metric: MetricHistory, ink: str) -> Drawing:
    """Runs by version, in the order of first runs; a bar spans the 95 % interval of the mean, a tick is the mean."""
    order = [*_labels_of_versions(history, metric)]
    x = alt.X("version:N", title=t.field(history.field), sort=order, axis=alt.Axis(labelLimit=200, labelAngle=0))
    y = alt.Y("value:Q", title=_format_title(metric), scale=alt.Scale(zero=False, padding=12), axis=_build_axis())
    values = [
        {
            "version": shorten_hash(version.label),
            "mean": version.summary.mean,
            "low": version.summary.ci_low,
            "high": version.summary.ci_high,
        }
        for version in metric.versions
    ]
    spread = [value for value in values if value["low"] is not None]
    layers = [
        *if_any(spread, lambda base: _draw_spread(base).encode(x=x)),
        *if_any(values, lambda base: base.mark_tick(color=GREY, thickness=3, size=48).encode(x=x, y=alt.Y("mean:Q"))),
        _draw_dots(history, metric, ink).encode(x=x, y=y),
    ]
    return alt.layer(*layers, height=HEIGHT)


def _build_axis() -> alt.Axis:
    return alt.Axis(format=",.6~r")  # of a single run, the axis has its value: 5,615.35, not 5,615.346654


def _draw_interval(base: Drawing) -> Drawing:
    return base.mark_rect(color=GREY, opacity=0.22).encode(
        x=alt.X("from:T"), x2=alt.X2("to:T"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
    )


def _draw_spread(base: Drawing) -> Drawing:
    return base.mark_bar(color=GREY, opacity=0.3, size=34).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))


def _draw_dots(history: History, metric: MetricHistory, ink: str) -> Drawing:
    """One dot per run that counts, pale if it is not compared; those of the baseline have a ring."""
    baseline = frozenset(history.verdict.baseline_run_ids)
    values = [
        {
            "run": run.run_id,
            "at": run.at.isoformat(),
            "version": shorten_hash(run.version(history.field)),
            "whole": run.version(history.field),
            "value": run.drawn[metric.name],
            "by": run.created_by,
            "pale": metric.name not in run.values,
            "remark": reason_text(run, metric.name) or MISSING,
            "ring": 2 if run.run_id in baseline else 0,
        }
        for run in history.runs
        if metric.name in run.drawn
    ]
    legend = alt.Legend(orient="bottom", columns=6, symbolLimit=24, symbolStrokeWidth=0, symbolOpacity=1)
    versions: dict[str, Any] = {"title": t.field(history.field), "legend": legend}
    shapes = _build_shape_scale(history, metric)
    return (
        chart_of(values)
        .mark_point(filled=True, size=80, stroke=ink)
        .encode(
            opacity=alt.OpacityValue(0.8, condition={"test": "datum.pale", "value": 0.3}),
            strokeWidth=alt.StrokeWidth("ring:Q", scale=None),
            color=alt.Color("version:N", scale=_build_colour_scale(history, metric), **versions),
            shape=alt.Shape("version:N", scale=shapes, **versions) if shapes else alt.ShapeValue(SHAPES[0]),
            tooltip=[
                alt.Tooltip("run:N", title=t("charts.run")),
                alt.Tooltip("whole:N", title=t.field(history.field)),
                alt.Tooltip("value:Q", title=_format_title(metric), format=",.6~r"),
                alt.Tooltip("at:T", title=t("history.at"), format="%Y-%m-%d %H:%M"),
                alt.Tooltip("by:N", title=t("board.by")),
                alt.Tooltip("remark:N", title=t("board.reason")),
            ],
        )
    )


def reason_text(run: HistoryRun, metric: str) -> str:
    """Why a number does not count: a sentence of ours, or the ids of the checks that failed."""
    reason = run.left_out.get(metric, "") or (TARGET_MISSED if run.has_missed else "")
    key = f"history.{reason.replace(' ', '_')}"
    return t(key) if t.knows(key) else t.message(reason)


def _build_colour_scale(history: History, metric: MetricHistory) -> alt.Scale:
    """Of framework versions those that they have on every page; of images and code, in the order of first runs."""
    labels = _labels_of_versions(history, metric)
    if history.field is VersionField.FRAMEWORK:
        return version_scale(labels.items())
    return colour_scale(build_colour_ramp([*labels]))


def _build_shape_scale(history: History, metric: MetricHistory) -> alt.Scale | None:
    """Beside the colours, which begin anew after the sixth version."""
    labels = _labels_of_versions(history, metric)
    if history.field is VersionField.FRAMEWORK:
        return version_shapes(labels.items())
    return shape_scale(shape_of([*labels]))


def _labels_of_versions(history: History, metric: MetricHistory) -> dict[str, str]:
    """The versions of all dots, by what is shown of them, in the order of first runs."""
    versions = (run.version(history.field) for run in history.runs if metric.name in run.drawn)
    return {shorten_hash(version): version for version in versions if version}


def _draw_boundaries(history: History, ink: str) -> list[Drawing]:
    values = [
        {
            "at": boundary.at.isoformat(),
            "field": t.field(boundary.field),
            "value": boundary.value,
            "run": boundary.run_id,
            "is_labelled": boundary.field is not VersionField.CODE,  # a hash says nothing to a person
        }
        for boundary in history.boundaries
    ]
    if not values:
        return []
    tips = [
        alt.Tooltip("field:N", title=t("compare.field")),
        alt.Tooltip("value:N", title=t("board.version")),
        alt.Tooltip("run:N", title=t("charts.run")),
    ]
    lines = chart_of(values).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=alt.X("at:T"), tooltip=tips)
    texts = _list_labels(values)
    if not texts or len(texts) > MAX_LABELS:
        return [lines]
    texts = _with_room(texts, history)
    labels = chart_of(texts).mark_text(angle=270, align="right", baseline="bottom", dx=-4, dy=-3, color=ink)
    top = alt.YValue(0)  # type: ignore[no-untyped-call]
    return [lines, labels.encode(x=alt.X("at:T"), y=top, text=alt.Text("label:N"))]


def _list_labels(values: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One for each run with something new: the first news, cut to fit into the chart, and how many more there are.

    The line's tooltip has all of them."""
    news: dict[str, list[Mapping[str, Any]]] = {}
    for value in values:
        if value["is_labelled"]:
            news.setdefault(value["run"], []).append(value)
    return [
        {
            "at": first["at"],
            "label": clip_text(shorten_hash(first["value"]), LABEL) + (f" +{len(more)}" if more else ""),
        }
        for first, *more in news.values()
    ]


def _with_room(labels: Sequence[dict[str, Any]], history: History) -> list[dict[str, Any]]:
    """Those that do not overlap the label before them; in the order of time."""
    times = [run.at for run in history.runs]
    room = (max(times) - min(times)) / MAX_LABELS / 2
    shown: list[dict[str, Any]] = []
    for label in labels:
        if not shown or datetime.fromisoformat(label["at"]) - datetime.fromisoformat(shown[-1]["at"]) >= room:
            shown.append(label)
    return shown


def _to_change_row(change: Change) -> dict[str, Any]:
    return {
        "at": change.at.isoformat(),
        "mean": change.after.mean,
        "change": change.change,
        "p": change.p_value,
        "run": change.run_id,
        "worse": change.worse,
        "falls": change.after.mean < change.before.mean,
    }


def _draw_changes(base: Drawing) -> Drawing:
    """Triangles that point the way of the numbers; their colour says whether that is worse, grey that neither is."""
    return base.mark_point(filled=True, size=220, stroke="white", strokeWidth=1, opacity=1).encode(
        x=alt.X("at:T"),
        y=alt.Y("mean:Q"),
        shape=alt.ShapeValue("triangle-up", condition={"test": "datum.falls", "value": "triangle-down"}),
        color=alt.ColorValue(
            GREY,
            condition=[
                {"test": "datum.worse === true", "value": WORSE},
                {"test": "datum.worse === false", "value": BETTER},
            ],
        ),
        tooltip=[
            alt.Tooltip("run:N", title=t("history.since")),
            alt.Tooltip("change:Q", title=t("history.change"), format="+.2%"),
            alt.Tooltip("p:Q", title="p", format=".2~g"),
        ],
    )


def _to_band_row(levels: tuple[RunLevel, ...], index: int) -> dict[str, Any]:
    """A level reaches to the first run of the next one."""
    level = levels[index]
    end = levels[index + 1].first_at if index + 1 < len(levels) else level.last_at
    summary = level.summary
    span = {"from": level.first_at.isoformat(), "to": end.isoformat()}
    return {**span, "mean": summary.mean, "low": summary.ci_low, "high": summary.ci_high}


def _choose_time_format(history: History) -> str:
    """Days, in a format for every language; with hours where all runs are of a few days."""
    times = [run.at for run in history.runs]
    return "%m-%d %H:%M" if max(times) - min(times) < timedelta(days=4) else "%Y-%m-%d"


def _format_title(metric: MetricHistory) -> str:
    return t.with_unit(name_metric(metric.name), metric.unit)
