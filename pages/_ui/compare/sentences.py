"""What a comparison comes to, in sentences to send on, with a button that copies them."""

import streamlit as st

from aisbench_core.base.formats import nodes_and_cards
from aisbench_core.domain.statistics.sentences import Side, difference_sentence
from aisbench_core.warehouse.values.boards import describe_hardware
from aisbench_core.warehouse.values.compared import Comparison
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell.words import t


def show_sentences(comparison: Comparison) -> None:
    """One for each group that can be compared with the first; nothing where a side has a single run."""
    baseline, base = comparison.runs[0], comparison.peers[0].summary
    sentences = []
    for run, peers in zip(comparison.runs[1:], comparison.peers[1:], strict=True):
        if peers.difference and peers.summary and base:
            sides = _to_side(run, peers.summary.count), _to_side(baseline, base.count)
            sentences.append(t.message(difference_sentence(peers.difference, *sides, comparison.normalise_by)))
    if sentences:
        st.code("\n".join(sentences), language=None, wrap_lines=True)  # it brings a button that copies


def _to_side(row: RunRow, runs: int) -> Side:
    version = " ".join(part for part in (row.model, row.framework, row.framework_version) if part)
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    return Side(row.run_id, version, f"{size} {describe_hardware(row)}".strip(), runs)
