"""The result of an ended run: its figures and where they stand, above the log; what is behind them, below it."""

from collections.abc import Iterator

import streamlit as st

from aisbench_core.model import Run, RunState
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.expected import show_expected_of_run
from pages._ui.llm.training import show_llm_training
from pages._ui.run.later_steps import show_later_steps
from pages._ui.run.passport import show_passport
from pages._ui.runs.goodput import show_goodput_of
from pages._ui.runs.named_metrics import show_metrics_of
from pages._ui.runs.ranks import show_ranks_of
from pages._ui.runs.reproduce import show_result
from pages._ui.runs.servers import show_servers_of
from pages._ui.runs.target import show_missed_target, target_text
from pages._ui.runs.tiles import show_places, show_tiles
from pages._ui.runs.validity import show_verdict_of
from pages._ui.shell.core import core
from pages._ui.shell.words import t


def show_run_outcome(run: Run, recorded: RunRow | None) -> None:
    """What was measured, and what stands in the way of its use."""
    if recorded is None:
        st.caption(t("live.not_recorded"))
        return
    if run.state is RunState.COMPLETED and recorded.throughput is None:
        st.markdown(t("run.no_result"))
    show_figures(recorded)


def show_figures(recorded: RunRow) -> None:
    """The figures of a run with a result, links to where it stands, and how a reproduction came out."""
    if recorded.throughput is not None:
        show_tiles(recorded)
        show_places(recorded)
        show_missed_target(recorded)
        if notes := [*_list_notes(recorded)]:
            st.caption(" · ".join(notes))
        show_expected_of_run(core().expectations.find_of_run(recorded))
    show_result(recorded)


def _list_notes(recorded: RunRow) -> Iterator[str]:
    if recorded.rehearsal:
        yield t("board.rehearsal")
    if recorded.accuracy is None:  # beside the accuracy, if there is one
        yield target_text(recorded)


def show_details(recorded: RunRow) -> None:
    """What is behind the figures: the verdict, and single servers and cards."""
    if recorded.throughput is None:
        show_places(recorded)
    show_goodput_of(recorded)
    show_llm_training({recorded.run_id: recorded.run_id})
    show_verdict_of(recorded)
    show_metrics_of(recorded)
    show_servers_of(recorded)
    show_ranks_of(recorded)
    show_passport(recorded.run_id)
    show_later_steps(recorded)
