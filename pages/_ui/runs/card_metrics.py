"""What the reporter measured on a run's cards: a chart for each metric and node, and a summary of each card."""

import streamlit as st

from aisbench_core.domain.results.card_samples import NAMES, card_summaries
from aisbench_core.model import Run
from pages._ui.shell import charts, url, widgets
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

VISIBLE_CARDS = 8  # rows of the summary that are visible at a time


def show_card_metrics(run: Run) -> None:
    """The cards of a collected run; nothing if its script did not measure them."""
    with errors_shown():
        samples = core().files.card_samples(run.run_id)
        if not samples:
            return
        with st.expander(t("live.cards"), icon=":material/developer_board:"):
            nodes = sorted({sample.node for sample in samples})
            names = [name for name in NAMES if any(sample.name == name for sample in samples)]
            with st.container(horizontal=True):
                choice = widgets.session_choice("card-metric-of-run", names, names[0], t.sample)
                name = str(st.selectbox(t("live.card_metric"), width=320, **choice))
                node = nodes[0]
                if len(nodes) > 1:
                    node = url.choose_option(st.selectbox, "card_node", t("live.node"), nodes, width=220)
            chosen = [sample for sample in samples if sample.name == name and sample.node == node]
            charts.draw_chart(
                charts.cards_over_time(chosen, name), text=t("charts.card_metric", name=t.sample(name), node=node)
            )
            rows = [
                {
                    "node": card.node,
                    "card": card.card,
                    "readings": card.readings,
                    "core_use": _round_whole(card.core_use),
                    "memory_used": _round_whole(card.memory_used),
                    "memory_total": _round_whole(card.memory_total),
                    "power": _round_whole(card.power),
                    "temperature": _round_whole(card.temperature),
                }
                for card in card_summaries(samples)
            ]
            titles = {
                "node": t("live.node"), "card": t("live.card"), "readings": t("live.readings"),
                "core_use": t("live.core_use"), "memory_used": t("live.memory_used"),
                "memory_total": t("live.memory_total"), "power": t("live.power"), "temperature": t("live.temperature"),
            }  # fmt: skip
            show_table(rows, titles, t("live.cards"), visible=min(len(rows), VISIBLE_CARDS))


def _round_whole(value: float | None) -> int | None:
    return None if value is None else round(value)
