"""Whether runs and rows reached the accuracy that their workload states: no number of one that missed stands alone."""

from collections.abc import Mapping

import streamlit as st

from aisbench_core.base.formats import format_percent
from aisbench_core.model import RunMetric
from aisbench_core.warehouse.values.boards import BoardRow
from aisbench_core.warehouse.values.compared import Peers
from aisbench_core.warehouse.values.runs import ACCURACY_CHECK, RunRow, TargetOutcome
from pages._ui.shell.words import t


def target_text(row: BoardRow | RunRow) -> str:
    """Of one run, or of how many runs of a row."""
    if isinstance(row, BoardRow):
        return outcome_text(row.target_outcome, row.missed, row.runs)
    return outcome_text(row.target_outcome)


def row_note(row: BoardRow) -> str:
    """What must not be overlooked beside the numbers of a row; empty where there is nothing."""
    notes = [target_text(row)] if row.target_outcome.is_missed else []
    notes += [t("board.scattered", cv=format_percent(row.cv))] if row.is_scattered else []
    return "; ".join(notes)


def peers_text(run: RunRow, peers: Peers) -> str:
    """Of the runs like a compared one."""
    runs = peers.summary.count if peers.summary else 0
    if not peers.missed:
        return target_text(run)
    return missed_text(peers.missed, runs)


def missed_text(missed: int, runs: int) -> str:
    """Of runs of which so many missed their target."""
    return outcome_text(TargetOutcome.MISSED if missed == runs else TargetOutcome.PARTLY_MISSED, missed, runs)


def outcome_text(outcome: TargetOutcome, missed: int = 0, runs: int = 0) -> str:
    return t(f"target.{outcome.name.lower()}", missed=missed, runs=runs)


def has_missed_loss(metrics: Mapping[str, RunMetric]) -> bool:
    """Whether a run's lowest loss is above the target of its workload."""
    lowest, target = metrics.get("lowest_loss"), metrics.get("loss_target")
    return lowest is not None and target is not None and lowest.value > target.value


def show_missed_target(row: RunRow) -> None:
    """Below the figures of a run that missed its target: what that means for its throughput; nothing for any other."""
    if row.accuracy is not None and row.target_outcome is TargetOutcome.MISSED:
        target = format_percent(row.accuracy_target)
        if row.accuracy_target is None or row.accuracy >= row.accuracy_target:  # the ruleset's check names its own
            stated = [check.expected for check in row.reasons if check.id == ACCURACY_CHECK]
            target = t.message(stated[0]) if stated else target
        st.error(
            t("target.run_missed", accuracy=format_percent(row.accuracy), target=target),
            icon=":material/trending_down:",
        )
