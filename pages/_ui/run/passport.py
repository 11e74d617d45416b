"""What was captured on the nodes of a run: on how many, which of them differ, and every fact."""

from itertools import groupby

import streamlit as st

from aisbench_core.base.formats import MISSING
from aisbench_core.model import PASSPORT_GROUPS, Passport
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

MOST_NODES, MOST_FACTS = 8, 4  # that are named above the table
VISIBLE = 14


def show_passport(run_id: str) -> None:
    """Nodes that differ stand above all else, which is folded."""
    found = run_cached(core().warehouse.runs.find_passports, (run_id,)).get(run_id)
    if found is None:
        return
    if found.differences:
        st.warning("  \n".join(_describe_nodes(found)), icon=":material/difference:")
    with st.expander(t("passport.title", nodes=found.nodes, expected=found.expected), icon=":material/badge:"):
        order = {group: place for place, group in enumerate(PASSPORT_GROUPS)}
        names = sorted(found.facts, key=lambda name: (order.get(name.partition(".")[0], len(order)), name))
        rows = [{"fact": name, "value": found.facts[name]} for name in names]
        titles = {"fact": t("passport.fact"), "value": t("import.value")}
        show_table(rows, titles, t("passport.facts"), widths={"value": "large"}, visible=VISIBLE)


def _describe_nodes(found: Passport) -> list[str]:
    nodes = [(node, [*facts]) for node, facts in groupby(found.differences, key=lambda one: one.node)]
    lines = []
    for node, facts in nodes[:MOST_NODES]:
        named = [f"{one.name} {one.value or MISSING} ({one.usual or MISSING})" for one in facts[:MOST_FACTS]]
        text = "; ".join([*named, *([f"+ {len(facts) - MOST_FACTS}"] if len(facts) > MOST_FACTS else [])])
        lines.append(escape_markdown(t("passport.differs", node=node, host=facts[0].host or MISSING, facts=text)))
    more = len(nodes) - MOST_NODES
    return [*lines, *([t("passport.more", count=more)] if more > 0 else [])]
