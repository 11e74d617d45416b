"""The ranked results of inference: a table for each model, dataset and tool, and all of them as CSV."""

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from aisbench_core.base.formats import MISSING
from aisbench_core.warehouse.records.inference_results import csv_text
from aisbench_core.warehouse.values.inference import InferenceResult, StoredInference
from pages._ui.shell.core import actor, at_click, core, is_allowed
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

HARDWARE = ("accelerator", "cards", "precision", "batch", "concurrency", "requests", "failed")
MEASURED = ("requests_per_s", "latency_p50_ms", "latency_p90_ms", "latency_p99_ms")
OF_TOKENS = ("ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms")


def show_board(stored: Sequence[StoredInference]) -> None:
    """A table per benchmark; nothing but a sentence while there are none."""
    if not stored:
        st.info(t("inference.empty"), icon=":material/info:")
        return
    for _, of_benchmark in groupby(stored, key=lambda one: one.result.benchmark):
        _show_benchmark([*of_benchmark])
    st.download_button(
        t("inference.download"), at_click(_write_csv), "aisbench-inference.csv", "text/csv", key="inference-file",
        on_click="ignore", icon=":material/download:",
    )  # fmt: skip
    _show_removal(stored)


def _write_csv() -> str:
    return csv_text(core().warehouse.inference.list_ranked())


def _show_benchmark(stored: Sequence[StoredInference]) -> None:
    result = stored[0].result
    names = [escape_markdown(name) for name in (result.model or t("inference.no_model"), result.dataset) if name]
    st.subheader(" · ".join(names))
    st.caption(escape_markdown(result.tool.value))
    measured = [
        name for name in (*HARDWARE, *MEASURED, *OF_TOKENS) if any(_read_value(one, name) is not None for one in stored)
    ]
    titles = {
        "rank": t("inference.rank"),
        "throughput": t.with_unit(t("inference.throughput"), result.unit.value),
        **{name: t(f"inference.{name}") for name in measured},
        "stored_at": t("inference.stored_at"),
        "result_id": t("inference.result_id"),
    }
    rows = [_to_row(one, titles) for one in stored]
    show_table(rows, titles, t("inference.table", model=result.model, dataset=result.dataset))


def _read_value(one: StoredInference, name: str) -> object:
    value = getattr(one.result if name in InferenceResult.__dataclass_fields__ else one, name)
    return None if value == "" else value


def _to_row(one: StoredInference, titles: Sequence[str] | dict[str, str]) -> dict[str, object]:
    return {name: _read_value(one, name) for name in titles} | {"stored_at": format_time(one.stored_at)}


def _show_removal(stored: Sequence[StoredInference]) -> None:
    owned = {one.result_id: one for one in stored if is_allowed("InferenceResults.remove", one.stored_by)}
    if not owned:
        return
    with st.popover(t("inference.remove"), icon=":material/delete:"):
        names = {result_id: _name_result(one) for result_id, one in owned.items()}
        chosen = st.selectbox(
            t("inference.result_id"), [*owned], format_func=lambda each: names[each], key="inference-remove"
        )
        if st.button(t("inference.remove_one"), key="inference-remove-button", type="primary"):
            with errors_shown():
                core().warehouse.inference.remove(chosen, actor())
                st.rerun()


def _name_result(one: StoredInference) -> str:
    return f"{one.result_id} · {one.result.model or MISSING} · {one.result.source}"
