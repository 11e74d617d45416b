"""The charts of single cards: a heat map of nodes and cards, and the spread over the cards of several runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from aisbench_core.base.formats import format_number
from aisbench_core.warehouse.values.compared import RankCell, RankMap, RankSpread
from pages._ui.shell.charts import AXIS, BAR, LEGEND, Drawing, chart_of, get_text_colour
from pages._ui.shell.words import t

LIMIT = 0.1  # colours range from 10 % below the median card to 10 % above; what is beyond has the colour of the limit
CELL = 26  # height of a cell with its gap, in pixels
MIN_ROWS = 2  # fewer rows have no room for the title beside them
LABELLED = 12  # up to so many nodes, a cell is wide enough for its number
GRADIENT = LEGEND + 32  # room for a legend with a row of colours, which is higher than one of words
ROW_OF_NODES = 50  # cells of whole nodes stand in rows of so many
MARK = "▼"  # marks a straggler for those who see no colours


def heat_map(ranks: RankMap, unit: str) -> Drawing:
    """Each card against the run's median card; nodes to the right, cards downwards, stragglers marked.

    Of many cards, each cell is a node or several, by the median of its cards, in rows of ROW_OF_NODES."""
    values = [_to_cell(cell, ranks, index) for index, cell in enumerate(ranks.cells)]
    rows = len({value["y"] for value in values})
    x = alt.X("x:O", title=t("ranks.node") if ranks.by_card else None, axis=alt.Axis(labelOverlap=True, labelAngle=0))
    y = alt.Y("y:O", title=t("ranks.card") if ranks.by_card else t("ranks.from_node"))
    scale = alt.Scale(scheme="blueorange", reverse=True, domain=[-LIMIT, LIMIT], domainMid=0, clamp=True)
    legend = alt.Legend(orient="bottom", format="+.0%", gradientLength=260, titleLimit=400)
    colour = alt.Color("s:Q", title=t("ranks.beside"), scale=scale, legend=legend)
    base = chart_of(values).encode(x=x, y=y)
    cells = base.mark_rect(stroke="white", strokeWidth=0.5).encode(color=colour, tooltip=_build_tips(ranks, unit))
    layers = [cells]
    if ranks.by_card and ranks.spread.nodes <= LABELLED:
        layers.append(base.mark_text(color="black").encode(text=alt.Text("l:N")))
    elif any("m" in value for value in values):
        layers.append(
            base.mark_text(color="black", fontSize=11).transform_filter("datum.m").encode(text=alt.Text("m:N"))
        )
    return alt.layer(*layers, height=max(rows, MIN_ROWS) * CELL + AXIS + GRADIENT)


def spread_boxes(spreads: Mapping[str, RankSpread], unit: str) -> Drawing:
    """For each run the middle half of its cards as a box with the median; a line from slowest to fastest."""
    values = [
        {
            "run": run_id,
            "low": spread.lowest,
            "q": spread.lower_quartile,
            "mid": spread.median,
            "r": spread.upper_quartile,
            "high": spread.highest,
            "cards": spread.ranks,
            "slow": spread.stragglers,
        }
        for run_id, spread in spreads.items()
    ]
    y = alt.Y("run:N", title=None, sort=list(spreads), axis=alt.Axis(labelLimit=240))
    title = t("charts.per_card", unit=unit)
    tips = [
        alt.Tooltip("run:N", title=t("charts.run")),
        *(
            alt.Tooltip(f"{field}:Q", title=t(f"ranks.{name}"), format=",.5~g")
            for field, name in (("low", "lowest"), ("mid", "median"), ("high", "highest"))
        ),
        alt.Tooltip("cards:Q", title=t("ranks.cards")),
        alt.Tooltip("slow:Q", title=t("ranks.stragglers")),
    ]
    base = chart_of(values).encode(y=y)
    x = alt.X("low:Q", title=title, scale=alt.Scale(zero=False, padding=16), axis=alt.Axis(labelBound=True))
    whiskers = base.mark_rule(strokeWidth=2, color=get_text_colour()).encode(x=x, x2=alt.X2("high:Q"))
    boxes = base.mark_bar(size=16, opacity=0.8).encode(
        x=alt.X("q:Q"), x2=alt.X2("r:Q"), color=alt.Color("run:N", legend=None, sort=list(spreads)), tooltip=tips
    )
    medians = base.mark_tick(thickness=3, size=20, color=get_text_colour()).encode(x=alt.X("mid:Q"))
    return alt.layer(whiskers, boxes, medians, height=len(values) * BAR + AXIS)


def _to_cell(cell: RankCell, ranks: RankMap, index: int) -> dict[str, Any]:
    # Keys are short because there may be 1,500 cells, and all of them go to the browser each time.
    share = round(cell.throughput / ranks.spread.median - 1, 4)
    value: dict[str, Any] = {"v": float(f"{cell.throughput:.5g}"), "s": share}
    if ranks.by_card:
        label = format_number(cell.throughput)
        value |= {"x": cell.node, "y": cell.card}
        if ranks.spread.nodes <= LABELLED:
            value["l"] = f"{MARK} {label}" if cell.stragglers else label
    else:
        nodes = str(cell.node) if cell.node == cell.last_node else f"{cell.node}–{cell.last_node}"
        first = ranks.cells[index - index % ROW_OF_NODES].node
        value |= {"x": index % ROW_OF_NODES, "y": first, "n": nodes, "w": float(f"{cell.lowest:.5g}")}
        value |= {"k": cell.stragglers} if cell.stragglers else {}
    return value | ({"m": MARK} if cell.stragglers else {})


def _build_tips(ranks: RankMap, unit: str) -> Sequence[Any]:
    value = alt.Tooltip("v:Q", title=t("charts.per_card", unit=unit), format=",.5~g")
    beside = alt.Tooltip("s:Q", title=t("ranks.beside"), format="+.1%")
    if ranks.by_card:
        return [alt.Tooltip("x:O", title=t("ranks.node")), alt.Tooltip("y:O", title=t("ranks.card")), value, beside]
    return [
        alt.Tooltip("n:N", title=t("ranks.node")),
        value,
        beside,
        alt.Tooltip("w:Q", title=t("ranks.lowest"), format=",.5~g"),
        alt.Tooltip("k:Q", title=t("ranks.stragglers")),
    ]
