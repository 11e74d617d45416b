"""How runs trained a language model: rates, times of steps and MFU, each with what it was divided by."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import streamlit as st

from aisbench_core.base.formats import MISSING, format_number, format_percent
from aisbench_core.domain.llm.chips import Peak
from aisbench_core.domain.llm.flops import FORMULAS
from aisbench_core.domain.llm.llm_settings import LlmSettings
from aisbench_core.domain.llm.mfu import MfuReading, select_ranked
from aisbench_core.domain.llm.training import LlmTraining
from aisbench_core.model import Scalar
from pages._ui.runs.target import has_missed_loss
from pages._ui.shell.core import core, run_cached
from pages._ui.shell.errors import errors_shown, escape_markdown
from pages._ui.shell.tables import show_wrapped
from pages._ui.shell.words import t

DIGITS = 4  # significant ones, of rates and times

TO_TARGET = ("time_to_target_s", "epochs_to_target", "tokens_to_target")
TO_LOSS_TARGET = ("time_to_loss_target_s", "epochs_to_loss_target", "tokens_to_loss_target")
RATES = ("tokens_per_s", "tokens_per_s_per_card", "tokens_per_s_per_die", "nominal_tokens_per_s")
OTHERS = (
    *("step_p50_s", "step_p95_s", "step_p99_s", "step_mean_s", "reported_mfu", "memory_peak_mb", "communication_share"),
    *("checkpoint_save_s", "checkpoint_load_s", "checkpoint_blocked_s", *TO_TARGET),
    *("lowest_loss", "loss_target", *TO_LOSS_TARGET),
)

Row = dict[str, str]


def show_llm_training(names: Mapping[str, str]) -> None:
    """The section of the runs with these names; nothing where none of them trained a language model."""
    with errors_shown():
        trainings = run_cached(core().warehouse.runs.describe_trainings, tuple(names), core().read_chips())
        if not trainings:
            return
        is_alone = len(names) == 1
        if is_alone:  # below the fold of the section they would be overlooked
            _show_warnings(trainings, names)
        with st.expander(_title_section(trainings), icon=":material/token:"):
            if not is_alone:
                _show_warnings(trainings, names)
            titles = {"what": t("llm.figure"), **{run_id: names[run_id] for run_id in trainings}}
            if is_alone:
                titles = {run_id: title if run_id == "what" else t("llm.value") for run_id, title in titles.items()}
            show_wrapped(list(_list_figures(trainings)), titles, t("llm.title"))
            if rows := list(_list_conversions(trainings)):
                st.markdown(t("llm.conversion"))
                show_wrapped(rows, titles | {"what": t("llm.reading")}, t("llm.conversion_alt"))
                peaks = {reading.peak for training in trainings.values() for reading in training.readings}
                sources = sorted(f"{peak.tflops:g}: {peak.source}, {peak.date}" for peak in peaks)
                st.caption(escape_markdown(" · ".join(sources)))
            st.markdown(t("llm.settings"))
            show_wrapped(list(_list_settings(trainings)), titles | {"what": t("llm.setting")}, t("llm.settings_alt"))


def _title_section(trainings: Mapping[str, LlmTraining]) -> str:
    """What is folded in it; of one run with its rate and its first MFU."""
    parts = [t("llm.title")]
    for training in trainings.values() if len(trainings) == 1 else ():
        rate, formula = _show_rate(training, "tokens_per_s"), next(iter(FORMULAS))
        mfu = _show_mfu(training, formula)
        parts += [rate] * (rate != MISSING) + [f"MFU ({formula}) {mfu}"] * (mfu != MISSING)
    return " · ".join(map(escape_markdown, parts))


def _show_warnings(trainings: Mapping[str, LlmTraining], names: Mapping[str, str]) -> None:
    for run_id, training in trainings.items():
        if (excess := training.rate.excess) is not None:
            st.warning(t("llm.excess", run=names[run_id], excess=format_percent(excess)), icon=":material/warning:")
        if any(reading.mfu > 1 for reading in select_ranked(training.readings)):
            st.warning(t("llm.above_peak", run=names[run_id]), icon=":material/warning:")
        if training.why_no_mfu:
            st.info(t("llm.no_mfu", run=names[run_id], why=t.message(training.why_no_mfu)), icon=":material/info:")


def _list_figures(trainings: Mapping[str, LlmTraining]) -> Iterator[Row]:
    """Rows of which some run has a value."""
    shown: list[tuple[str, Callable[[LlmTraining], str]]] = [
        *((t(f"metric.{name}"), partial(_show_rate, name=name)) for name in RATES),
        (t("llm.window"), _show_window),
        *((f"MFU ({formula})", partial(_show_mfu, formula=formula)) for formula in FORMULAS),
        *((f"HFU ({formula})", partial(_show_hfu, formula=formula)) for formula in FORMULAS),
        (t("llm.peak"), _show_denominator),
        (t("metric.step_jitter"), _show_jitter),
        *((t(f"metric.{name}"), partial(_show_metric, name=name)) for name in OTHERS),
        (t("metric.loss_at_tokens"), _show_loss),
    ]
    for what, show in shown:
        values = {run_id: show(training) for run_id, training in trainings.items()}
        if any(value != MISSING for value in values.values()):
            yield {"what": what, **values}


def _list_conversions(trainings: Mapping[str, LlmTraining]) -> Iterator[Row]:
    """The same rates by every formula against every peak: what other tools print of them."""
    by_definition: dict[str, Row] = {}
    for run_id, training in trainings.items():
        for reading in training.readings:
            row = by_definition.setdefault(
                reading.definition,
                {"what": f"{reading.formula} · {_show_peak(reading.peak)}", **dict.fromkeys(trainings, MISSING)},
            )
            row[run_id] = format_percent(reading.mfu)
    yield from by_definition.values()


def _list_settings(trainings: Mapping[str, LlmTraining]) -> Iterator[Row]:
    for name in LlmSettings.model_fields:
        stated = {run_id: training.run.settings.get(name) for run_id, training in trainings.items()}
        yield {"what": name, **{run_id: _show_stated(value) for run_id, value in stated.items()}}
    shapes = {run_id: training.run.shape for run_id, training in trainings.items()}
    counts = {run_id: f"{shape.parameter_count:,}" if shape else None for run_id, shape in shapes.items()}
    yield {"what": t("llm.parameters"), **{run_id: _show_stated(count) for run_id, count in counts.items()}}


def _show_stated(value: Scalar | None) -> str:
    return t("llm.unknown") if value is None else str(value)


def _show_rate(training: LlmTraining, name: str) -> str:
    metric = training.metrics.get(name)
    if metric is None:
        return MISSING
    is_ours = metric.definition.startswith("tokens/")
    way = metric.definition.removeprefix("tokens/").partition("/")[0] if is_ours else "reported"
    counted = "" if name == "nominal_tokens_per_s" else f" ({t(f'llm.{way}')})"
    return f"{format_number(metric.value, metric.unit, DIGITS)}{counted}"


def _show_window(training: LlmTraining) -> str:
    """The steps that there were, and those that the manifest declares."""
    rate = training.metrics.get("tokens_per_s") or training.metrics.get("step_p50_s")
    if rate is None:
        return MISSING
    first, last = training.run.window.first, training.run.window.last
    declared = t("llm.to_the_end", first=first) if last is None else f"{first}–{last}"
    return t("llm.window_of", measured=rate.definition.rpartition("/")[2].replace("-", "–"), declared=declared)


def _show_mfu(training: LlmTraining, formula: str) -> str:
    reading = _choose_reading(training, formula)
    if reading is None:
        return MISSING
    return t("llm.of_peak", share=format_percent(reading.mfu), peak=format_number(reading.peak.tflops, "TFLOPS", 7))


def _show_hfu(training: LlmTraining, formula: str) -> str:
    """Where it is another number than MFU."""
    reading = _choose_reading(training, formula)
    if reading is None or reading.hfu is None or reading.hfu == reading.mfu:
        return MISSING
    return format_percent(reading.hfu)


def _choose_reading(training: LlmTraining, formula: str) -> MfuReading | None:
    return next((one for one in select_ranked(training.readings) if one.formula == formula), None)


def _show_peak(peak: Peak) -> str:
    return f"{format_number(peak.tflops, 'TFLOPS', 7)} ({t(f'llm.{peak.origin}')})"


def _show_denominator(training: LlmTraining) -> str:
    """The peak that counts, and where it comes from."""
    if not training.readings:
        return MISSING
    first = training.readings[0]
    return f"{_show_peak(first.peak)}, {first.precision}: {first.peak.source}, {first.peak.date}"


def _show_jitter(training: LlmTraining) -> str:
    metric = training.metrics.get("step_jitter")
    return MISSING if metric is None else format_percent(metric.value)


def _show_loss(training: LlmTraining) -> str:
    metric = training.metrics.get("loss_at_tokens")
    if metric is None:
        return MISSING
    _, _, way, tokens = metric.definition.split("/")
    loss = format_number(metric.value, digits=DIGITS)
    return t("llm.loss_after", loss=loss, tokens=f"{int(tokens):,}", way=t(f"llm.{way}"))


def _show_metric(training: LlmTraining, name: str) -> str:
    metric = training.metrics.get(name)
    if metric is None and name in TO_TARGET and training.missed_target:
        return t("llm.not_reached")
    if metric is None and name in TO_LOSS_TARGET and has_missed_loss(training.metrics):
        return t("llm.not_reached")
    return MISSING if metric is None else format_number(metric.value, metric.unit, DIGITS)
