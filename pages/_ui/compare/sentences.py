"""What a comparison comes to, in sentences to send on: by how much, how sure, from how many runs."""

from collections.abc import Iterator

import streamlit as st

from aisbench_core.formats import nodes_and_cards, signed
from aisbench_core.statistics.difference import MeanDifference
from aisbench_core.warehouse.answers.boards import hardware
from aisbench_core.warehouse.answers.compared import Comparison
from aisbench_core.warehouse.values import RunRow
from pages._ui.shell.words import t


def show_sentences(comparison: Comparison) -> None:
    """One for each group that can be compared with the first; nothing where a side has a single run."""
    sentences = list(_sentences(comparison))
    if sentences:
        st.code("\n".join(sentences), language=None, wrap_lines=True)  # it brings a button that copies


def _sentences(comparison: Comparison) -> Iterator[str]:
    baseline, base = comparison.runs[0], comparison.peers[0].summary
    for run, peers in zip(comparison.runs[1:], comparison.peers[1:], strict=True):
        if peers.difference is None or peers.summary is None or base is None:
            continue
        key, values = _size(peers.difference)
        yield t(
            f"compare.{key}",
            **values,
            **_names(run, baseline),
            per=t(f"compare.per_{comparison.normalise_by}") if comparison.normalise_by else "",
            runs=peers.summary.count,
            before=base.count,
        )


def _size(difference: MeanDifference) -> tuple[str, dict[str, str]]:
    """Slower, faster, or no difference shown: where the interval has both signs."""
    low, high = difference.ci_low, difference.ci_high
    if low <= 0 <= high:
        return "no_difference", {
            "change": signed(difference.change, 1),
            "interval": f"{signed(low, 1)} … {signed(high, 1)}",
        }
    near, far = sorted((abs(low), abs(high)))
    values = {"change": f"{100 * abs(difference.change):.1f} %", "interval": f"{100 * near:.1f}–{100 * far:.1f} %"}
    return "slower" if high < 0 else "faster", values


def _names(run: RunRow, baseline: RunRow) -> dict[str, str]:
    """What distinguishes the two: versions, or hardware; what they share is named once."""
    versions, systems = [[name(row) for row in (run, baseline)] for name in (_version, _hardware)]
    if systems[0] == systems[1]:
        on = t("compare.on_hardware", hardware=systems[0])
        names = versions if versions[0] != versions[1] else [row.run_id for row in (run, baseline)]
    else:
        on = ""
        names = [" · ".join(parts) for parts in zip(versions, systems, strict=True)]
    return {"candidate": names[0], "baseline": names[1], "on": on}


def _version(row: RunRow) -> str:
    return " ".join(part for part in (row.model, row.framework, row.framework_version) if part)


def _hardware(row: RunRow) -> str:
    return f"{nodes_and_cards(row.node_count, row.cards_per_node)} {hardware(row)}".strip()
