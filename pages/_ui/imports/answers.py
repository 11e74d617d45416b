"""Step 2 of an import: what holds for all results, the answers that they need most first."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from aisbench_core.domain.authoring.specfile import NUMBERS
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers, Provenance
from aisbench_core.exchange.readers.units import UNITS
from aisbench_core.model import Mode
from pages._ui.imports.reading import CORRECTIONS
from pages._ui.shell import numbers, widgets
from pages._ui.shell.core import core
from pages._ui.shell.words import t

EACH_ROW = 4  # fields side by side


def choose_answers(needed: tuple[str, ...]) -> Choices | None:
    """What a person answers for all results; single ones are changed by themselves. None while a number is refused."""
    first = [name for name in needed if name in _FIELDS][:EACH_ROW] or ["throughput_definition"]
    entries = _show_fields(first)
    with st.expander(t("import_results.all"), icon=":material/tune:"):
        entries |= _show_fields([name for name in _FIELDS if name not in first])
    counts = [entry for entry in entries.values() if isinstance(entry, numbers.NumberEntry)]
    for entry in counts:
        numbers.show_refusal(entry.problem)
    if any(entry.problem for entry in counts):
        return None
    profile = entries.pop("where")
    answers = {name: _value_of(entry) for name, entry in entries.items()}
    where = core().imports.where(profile) if profile else Provenance()
    return Choices(where, ImportAnswers(**answers), dict(st.session_state.get(CORRECTIONS, {})))


def _value_of(entry: Any) -> Any:
    """What is entered; of a number None if it is left open."""
    if not isinstance(entry, numbers.NumberEntry):
        return entry
    return None if entry.value is None else int(entry.value)


def _show_fields(names: list[str]) -> dict[str, Any]:
    """The fields side by side, and what is entered in them."""
    entries = {}
    for start in range(0, len(names), EACH_ROW):
        row = names[start : start + EACH_ROW]
        for column, name in zip(st.columns(EACH_ROW), row, strict=False):
            with column:
                entries[name] = _FIELDS[name]()
    return entries


def _choose_profile() -> str:
    nowhere = t("import_results.nowhere")
    profiles = ["", *core().regions.names()]
    choice = widgets.session_choice("old-where", profiles, "", lambda name: name or nowhere)
    return st.selectbox(t("import_results.where"), help=t("import_results.where_help"), **choice) or ""


def _choose_workload() -> str:
    unset, workloads = t("import.from_file"), ["", *(workload.name for workload in core().workloads.all())]
    choice = widgets.session_choice("old-load", workloads, "", lambda name: name or unset)
    return st.selectbox(t("field.workload"), **choice) or ""


def _choose_mode() -> Mode | None:
    unset = t("import.from_file")
    choice = widgets.session_choice("old-mode", ["", *Mode], "", lambda mode: t(f"mode.{mode}") if mode else unset)
    mode = st.selectbox(t("field.mode"), **choice)
    return Mode(mode) if mode else None


def _choose_definition() -> str:
    names = {name for workload in core().workloads.all() for name in workload.definitions}
    label, help_text = t("field.throughput_definition"), t("import_results.definition")
    return _choose_or_type(label, sorted(names), key="old-definition", help=help_text)


def _choose_unit() -> str:
    return _choose_or_type(t.field("throughput_unit"), UNITS, key="old-unit")


def _choose_or_type(label: str, options: Any, **arguments: Any) -> str:
    unset = t("import.from_file")
    value = st.selectbox(label, options, None, placeholder=unset, accept_new_options=True, **arguments)
    return (value or "").strip()


def _type_model() -> str:
    return st.text_input(t("field.model"), key="old-model", placeholder=t("import.from_file")).strip()


def _type_version() -> str:
    return st.text_input(t("field.framework_version"), key="old-version", placeholder=t("import.from_file")).strip()


def _type_count(field: str, key: str) -> numbers.NumberEntry[None]:
    """How many nodes or cards; None if nothing is entered."""
    label, unset = t(f"field.{field}"), t("import.from_file")
    text = numbers.show_number_field(label, NUMBERS[field], key=key, placeholder=unset)
    return numbers.read_entry(text, None, NUMBERS[field])


_FIELDS: dict[str, Callable[[], Any]] = {
    "throughput_definition": _choose_definition,
    "unit": _choose_unit,
    "node_count": lambda: _type_count("node_count", "old-nodes"),
    "cards_per_node": lambda: _type_count("cards_per_node", "old-cards"),
    "mode": _choose_mode,
    "where": _choose_profile,
    "workload": _choose_workload,
    "model": _type_model,
    "framework_version": _type_version,
}
"""How each answer is asked for."""
