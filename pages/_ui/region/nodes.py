"""Nodes of a region that were slow in their last runs, for whoever looks after a pool."""

import streamlit as st

from aisbench_core.base.formats import format_percent
from aisbench_core.warehouse.answers.ranks import LAST_RUNS, WINDOW
from pages._ui.shell.core import core
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def show_nodes(profile: str) -> None:
    """A row for each of them, the most often slow ones first, with what it did in each of these runs."""
    chosen = core().regions.profile(profile)
    found = core().warehouse.cards.list_slow_nodes(chosen.region, rehearsal=chosen.rehearsal, now=core().clock())
    days = WINDOW.days
    if not found:
        st.info(t("nodes.none", days=days), icon=":material/check:")
        return
    rows = [
        {
            "node": node.host,
            "slow": t("nodes.slow_of", slow=node.slow, runs=node.runs),
            "shares": " · ".join(map(format_percent, node.shares)),
            "differs": node.differs,
            "last": format_time(node.last_at, "%Y-%m-%d %H:%M"),
            "newest": node.run_ids[0],
        }
        for node in found
    ]
    titles = {
        "node": t("nodes.node"), "slow": t("nodes.slow"), "shares": t("nodes.shares"), "differs": t("nodes.differs"),
        "last": t("nodes.last"), "newest": t("nodes.newest"),
    }  # fmt: skip
    show_table(rows, titles, t("region.nodes"))
    st.caption(t("nodes.legend", runs=LAST_RUNS, days=days))
