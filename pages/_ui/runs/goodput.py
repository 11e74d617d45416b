"""What time was spent on, as one bar: of a run, or of all runs of a configuration."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import streamlit as st

from aisbench_core.base.formats import format_duration, format_number, format_percent
from aisbench_core.domain.goodput.account import TimeAccount
from aisbench_core.domain.goodput.spans import TimeCause
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.charts import AXIS, BAR, LEGEND, chart_of, colour_scale, draw_chart
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.words import t

# Training in the accent; what is lost in the ramp of the versions, which all eyes tell apart, and its lighter sisters.
COLOURS = {
    TimeCause.TRAINING: "#0b6b98",
    TimeCause.EVALUATION: "#5aa9cf",
    TimeCause.QUEUE: "#8a8f98",
    TimeCause.START: "#a19601",
    TimeCause.COMPILE: "#8f7728",
    TimeCause.DATA: "#7c35f9",
    TimeCause.CHECKPOINT: "#b48cf2",
    TimeCause.RESTART: "#e70067",
    TimeCause.ROLLED_BACK: "#c900af",
    TimeCause.STALLED: "#d1495b",
    TimeCause.END: "#b9bdc4",
}


def show_goodput_of(run: RunRow) -> None:
    """The time of a run; nothing where its script reports neither phases nor steps."""
    _show_account(run_cached(core().warehouse.runs.account_run, run.run_id))


def show_goodput_of_row(run: RunRow) -> None:
    """The time of all runs of this run's configuration."""
    _show_account(run_cached(core().warehouse.board.account_row, run.run_id))


def _show_account(account: TimeAccount | None) -> None:
    if account is None:
        return
    st.header(t("goodput.title", share=format_percent(account.goodput)))
    shares = [
        f"{t(f'goodput.{cause.value}')} {format_duration(seconds)}"
        for cause, seconds in sorted(account.parts.items(), key=lambda part: -part[1])
    ]
    draw_chart(_draw_bar(account), text=f"{t('goodput.alt')}: {', '.join(shares)}", height=BAR + AXIS + LEGEND + 24)
    st.caption(" · ".join(_list_facts(account)))


def _draw_bar(account: TimeAccount) -> Any:
    parts = list(_list_parts(account))
    colours = {str(part["cause"]): str(part["colour"]) for part in parts}
    return (
        chart_of(parts)
        .mark_bar(height=BAR - 10)
        .encode(
            x=alt.X(
                "minutes:Q",
                title=t("goodput.minutes"),
                stack=True,
                scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=10),
            ),
            color=alt.Color(
                "cause:N",
                title=None,
                scale=colour_scale(colours),
                sort=[*colours],
                legend=alt.Legend(orient="bottom", columns=3, symbolOpacity=1),
            ),
            order=alt.Order("number:Q"),
            tooltip=[
                alt.Tooltip("cause:N", title=t("goodput.cause")),
                alt.Tooltip("time:N", title=t("goodput.time")),
                alt.Tooltip("share:N", title=t("goodput.share")),
            ],
        )
        .properties(height=BAR)
    )


def _list_parts(account: TimeAccount) -> Iterator[Mapping[str, object]]:
    for number, (cause, seconds) in enumerate(account.parts.items()):
        yield {
            "number": number,
            "cause": t(f"goodput.{cause.value}"),
            "minutes": seconds / 60,
            "time": format_duration(seconds),
            "share": format_percent(seconds / account.wall_s),
            "colour": COLOURS[cause],
        }


def _list_facts(account: TimeAccount) -> Iterator[str]:
    if account.runs > 1:
        yield t("goodput.runs", count=account.runs)
    yield t("goodput.wall", time=format_duration(account.wall_s))
    yield t("goodput.interruptions", count=account.interruptions)
    if account.unknown_rollbacks:
        yield t("goodput.no_numbers", runs=account.unknown_rollbacks)
    if account.runs > 1 and account.interruption_rate is not None:  # of one run it says hardly anything
        rate, lower, upper = (format_number(value, digits=3) for value in account.interruption_rate)
        yield t("goodput.rate", rate=rate, lower=lower, upper=upper)
