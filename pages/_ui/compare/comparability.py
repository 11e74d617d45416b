"""Whether runs are comparable: a badge, and behind it which fields differ, with which values, and why that matters."""

from collections.abc import Iterator

import streamlit as st

from aisbench_core.base.formats import MISSING, clip_text
from aisbench_core.warehouse.values.compared import Comparability, ComparedBy, Comparison, FieldValues
from pages._ui.compare.names import names_of
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.spec_fields import field_name, field_text
from pages._ui.shell.words import t

BADGES = {
    Comparability.COMPARABLE: ("green", ":material/check_circle:"),
    Comparability.NORMALISED: ("orange", ":material/balance:"),
    Comparability.NOT_COMPARABLE: ("red", ":material/block:"),
}

# Fields that are also named where they are equal: people ask for them first.
ALWAYS = ("throughput_definition", "mode", "dataset", "throughput_unit")

MAX_LETTERS = 120  # letters of a value in a sentence; the table below holds all of them
DECISIVE = ("batch", "warm")  # parts of the names of parameters that are named like those of ALWAYS

# Fields with a text of their own about why they matter; others share one.
KINDS = ("throughput_definition", "throughput_unit", "mode", "dataset", "region", "rehearsal", "synthetic_data")


def show_comparability(comparison: Comparison) -> None:
    """The verdict as a badge that opens the fields behind it, and those that are equal in all runs."""
    colour, icon = BADGES[comparison.verdict]
    key, fields = comparison.verdict.name.lower(), ", ".join(map(field_name, comparison.unknown))
    names = names_of(comparison)
    unlike = [names[one.run_id] for one in comparison.verdicts if one.verdict is Comparability.NOT_COMPARABLE]
    if 0 < len(unlike) < len(comparison.runs) - 1:  # of the others the ratios are shown
        colour, icon, key = "orange", BADGES[Comparability.NOT_COMPARABLE][1], "partly"
    if comparison.unknown and comparison.verdict is not Comparability.NOT_COMPARABLE:
        colour, icon, key = "orange", ":material/question_mark:", "doubtful"
    label = t(
        f"comparability.{key}",
        by=t.unit(comparison.normalise_by),
        fields=escape_markdown(fields),
        runs=escape_markdown(clip_text(", ".join(unlike), MAX_LETTERS)),
    )
    with st.popover(f":{colour}[{label}]", icon=icon):
        if reasons := "\n".join(f"- {reason}" for reason in _list_reasons(comparison)):
            st.markdown(reasons)
        if comparison.unknown:
            st.markdown(t(_pick_doubt_key(comparison), fields=escape_markdown(fields)))
        _show_equal_fields(comparison)


def _pick_doubt_key(comparison: Comparison) -> str:
    if comparison.verdict is Comparability.NOT_COMPARABLE:
        return "compare.unknown_fields"
    return "compare.unknown_of_rows" if comparison.by is ComparedBy.ROWS else "compare.unknown"


def _show_equal_fields(comparison: Comparison) -> None:
    """The fields that people ask for first, where all runs agree; and a note where no parameter defines a warm-up."""
    texts = [
        ": ".join(map(escape_markdown, (field_name(field.field), clip_text(field_text(field.values[0]), MAX_LETTERS))))
        for field in comparison.same
        if field.field in ALWAYS or _is_decisive(field.field)
    ]
    names = [field.field for field in (*comparison.same, *comparison.differences)]
    has_warm_up = any(_is_decisive(name) and "warm" in name.lower() for name in names)
    no_warm_up = "" if has_warm_up else f" {t('why.no_warm')}"
    st.caption(t("why.equal", fields=" · ".join(texts) or MISSING) + no_warm_up)


def _list_reasons(comparison: Comparison) -> Iterator[str]:
    by_name = {field.field: field for field in (*comparison.differences, *comparison.same)}
    for name in comparison.reasons:
        values = _format_values(comparison, by_name.get(name))
        yield t(
            "why.differs", field=escape_markdown(field_name(name)), values=values, why=t(f"why.{_classify_field(name)}")
        )


def _format_values(comparison: Comparison, field: FieldValues | None) -> str:
    """Each value with the runs that have it, the baseline's first."""
    names = names_of(comparison)
    runs: dict[str, list[str]] = {}
    for run, value in zip(comparison.runs, field.values if field else (), strict=False):
        runs.setdefault(field_text(value), []).append(names[run.run_id])
    return "; ".join(
        t("why.value", value=escape_markdown(clip_text(value, MAX_LETTERS)), runs=escape_markdown(", ".join(ids)))
        for value, ids in runs.items()
    )


def _classify_field(name: str) -> str:
    if name in KINDS:
        return name
    if name in ("dataset_sha256", "node_count", "cards_per_node"):
        return "dataset" if name == "dataset_sha256" else "size"
    if not name.startswith("parameters."):
        return "configuration"
    return next((part for part in DECISIVE if part in name.lower()), "parameter")


def _is_decisive(name: str) -> bool:
    return name.startswith("parameters.") and any(part in name.lower() for part in DECISIVE)
