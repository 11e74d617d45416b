"""The tree of runs that a run came from, and that came from it."""

import streamlit as st

from aisbench_core.base.formats import format_number
from aisbench_core.model import Run
from aisbench_core.running.lineages import LineageNode
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.cards.run_cards import run_titles
from pages._ui.runs.validity import recorded_by_id
from pages._ui.shell import navigation
from pages._ui.shell.core import core
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.words import t

INDENT = "\N{NO-BREAK SPACE}" * 4


def show_lineage(run: Run) -> None:
    """Folded; nothing for a run that came from no other, and from which no other came."""
    with errors_shown():
        tree = core().lineages.read_tree(run.run_id)
        if len(tree.nodes) < 2:  # the run itself is one
            return
        titles = run_titles([node.run for node in tree.nodes if node.run])
        rows = recorded_by_id([node.run_id for node in tree.nodes])
        with st.expander(t("lineage.title", count=len(tree.nodes) + tree.left_out), icon=":material/account_tree:"):
            with st.container(gap="xxsmall", key="lineage"):
                for node in tree.nodes:
                    _show_node(node, titles.get(node.run_id, node.run_id), rows.get(node.run_id), run.run_id)
            if run.series_id:
                navigation.link_page(
                    navigation.SERIES, t("series.of_run", cell=run.series_index), {"series": run.series_id}
                )
            if tree.left_out:
                st.caption(t("lineage.left_out", count=tree.left_out))


def _show_node(node: LineageNode, title: str, row: RunRow | None, shown: str) -> None:
    state = node.run.state if node.run else row.state if row else ""
    measured = row is not None and row.throughput is not None
    facts = (
        t(f"lineage.{node.kind}") if node.kind else "",
        t(f"state.{state}") if state else "",
        f"{format_number(row.throughput)} {t.unit(row.throughput_unit)}" if row and measured else "",
    )
    mark = "→ " if node.run_id == shown else ""
    said = escape_markdown(" · ".join(filter(None, facts)))  # before the title, which a narrow window cuts off
    label = f"{INDENT * node.depth}{mark}{said} :small[{escape_markdown(title)}]"
    navigation.link_page(navigation.LIVE, label, {"run": node.run_id})
