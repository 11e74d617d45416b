"""The throughput of a run without its first steps, where its ranks reported each: beside its result, never in place of
it."""

from contextlib import suppress

import streamlit as st

from aisbench_core.base.errors import DamagedLedger, RunNotFound
from aisbench_core.base.formats import format_number
from aisbench_core.domain.authoring.number_ranges import NumberRange
from aisbench_core.domain.results.later_steps import LaterSteps, find_steps, measure_later_steps
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.words import t

FIRST = "first_step"  # parameter of the URL


def show_later_steps(recorded: RunRow) -> None:
    """Read when it is unfolded; nothing where no step was reported."""
    if not _has_steps(recorded.run_id):
        return
    label, icon = t("later_steps.title"), ":material/content_cut:"
    folded = st.expander(label, icon=icon, expanded=FIRST in st.query_params, key="later-steps", on_change="rerun")
    if folded.open:
        with folded:
            _show_steps(recorded)


def _has_steps(run_id: str) -> bool:
    with suppress(RunNotFound, DamagedLedger):
        return core().files.has_step_times(run_id)
    return False


def _show_steps(recorded: RunRow) -> None:
    steps = core().files.step_times(recorded.run_id)
    found = find_steps(steps)
    if found is None:
        st.caption(t("later_steps.none"))
        return
    allowed = NumberRange(found[0], found[1], is_whole=True)
    entry = url.input_number(FIRST, t("later_steps.first"), found[0], allowed, width=220)
    later = None if entry.problem else measure_later_steps(steps, int(entry.value))
    if later:
        st.markdown(f"**{_format_rate(later, recorded)}**")
        st.caption(
            t(
                "later_steps.about", definition=later.definition, ranks=later.ranks,
                reported=format_number(recorded.throughput, t.unit(recorded.throughput_unit)),
            )
        )  # fmt: skip


def _format_rate(later: LaterSteps, recorded: RunRow) -> str:
    in_tokens = recorded.throughput_unit.startswith("tokens") or later.samples_per_s is None
    unit = "tokens/s" if in_tokens else recorded.throughput_unit
    return format_number(later.tokens_per_s if in_tokens else later.samples_per_s, t.unit(unit))
