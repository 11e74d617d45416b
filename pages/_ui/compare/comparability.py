"""Whether runs may be compared, in sentences: which field differs, with which values, and why that matters."""

from collections.abc import Iterable, Iterator

import streamlit as st

from aisbench_core.formats import MISSING, clipped
from aisbench_core.model import Mode, Origin
from aisbench_core.warehouse.answers.compared import Comparability, Comparison, FieldValues
from pages._ui.shell.errors import plain
from pages._ui.shell.words import Words, words

SHOWN = {
    Comparability.COMPARABLE: st.success,
    Comparability.NORMALISED: st.warning,
    Comparability.NOT_COMPARABLE: st.error,
}

ALWAYS = ("throughput_definition", "mode", "dataset", "throughput_unit")
"""Fields that are named when they are equal, too: people ask for them first."""

VALUE_MOST = 120
"""Letters of a value in a sentence; the table below holds all of them."""

TELLING = ("batch", "warm")
"""Parts of the names of parameters that are named, too."""

KINDS = ("throughput_definition", "throughput_unit", "mode", "dataset", "region", "rehearsal", "synthetic_data")
"""Fields with a sentence of their own about why they matter; others share one."""


def show_comparability(comparison: Comparison) -> None:
    """The verdict, a sentence for each field behind it, and what is equal."""
    t = words()
    text = t(f"comparability.{comparison.verdict.name.lower()}", by=t.unit(comparison.normalise_by))
    reasons = "".join(f"\n- {reason}" for reason in _reasons(comparison, t))
    SHOWN[comparison.verdict](f"**{text}**\n{reasons}" if reasons else f"**{text}**")
    st.caption(_equal(comparison, t))
    if comparison.unknown:
        fields = ", ".join(plain(field_name(name, t)) for name in comparison.unknown)
        st.warning(t("compare.unknown", fields=fields), icon=":material/question_mark:")


def field_name(name: str, t: Words) -> str:
    """A field in words; of a parameter, its own name stays as it is."""
    group, _, own = name.partition(".")
    return t("field.parameter", name=own) if group == "parameters" and own else t.field(name)


def field_text(value: object, t: Words) -> str:
    """A field's value as a person reads it."""
    if isinstance(value, bool):
        return t("compare.true") if value else t("compare.false")
    if isinstance(value, Mode):
        return t(f"mode.{value}")
    if isinstance(value, Origin):
        return t(f"origin.{value}")
    return MISSING if value is None or value == "" else str(value)


def _reasons(comparison: Comparison, t: Words) -> Iterator[str]:
    known = {difference.field: difference for difference in (*comparison.differences, *comparison.same)}
    for name in comparison.reasons:
        values = _values(comparison, known.get(name), t)
        yield t("why.differs", field=plain(field_name(name, t)), values=values, why=t(f"why.{_kind(name)}"))


def _values(comparison: Comparison, field: FieldValues | None, t: Words) -> str:
    """Each value with the runs that have it, the baseline's first."""
    runs: dict[str, list[str]] = {}
    for run, value in zip(comparison.runs, field.values if field else (), strict=False):
        runs.setdefault(field_text(value, t), []).append(run.run_id)
    return "; ".join(
        t("why.value", value=plain(clipped(value, VALUE_MOST)), runs=plain(", ".join(ids)))
        for value, ids in runs.items()
    )


def _kind(name: str) -> str:
    if name in KINDS:
        return name
    if name in ("dataset_sha256", "node_count", "cards_per_node"):
        return "dataset" if name == "dataset_sha256" else "size"
    if not name.startswith("parameters."):
        return "question"
    return next((part for part in TELLING if part in name.lower()), "parameter")


def _equal(comparison: Comparison, t: Words) -> str:
    """The fields that people ask for first, as far as all runs agree; and that no parameter speaks of warm-up."""
    told = [
        f"{plain(field_name(each.field, t))}: {plain(clipped(field_text(each.values[0], t), VALUE_MOST))}"
        for each in comparison.same
        if each.field in ALWAYS or _telling(each.field)
    ]
    every = (each.field for each in (*comparison.same, *comparison.differences))
    silent = "" if _speaks_of_warming_up(every) else f" {t('why.no_warm')}"
    return t("why.equal", fields=" · ".join(told) or MISSING) + silent


def _telling(name: str) -> bool:
    return name.startswith("parameters.") and any(part in name.lower() for part in TELLING)


def _speaks_of_warming_up(names: Iterable[str]) -> bool:
    return any(_telling(name) and "warm" in name.lower() for name in names)
