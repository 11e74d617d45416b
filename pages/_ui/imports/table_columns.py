"""The meanings of tables' columns: guessed from their headers, corrected by a person, remembered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.exchange.readers.results import ColumnMeaning, Table
from pages._ui.shell.words import t

NOTHING = ""


def show_columns(tables: Sequence[Table]) -> dict[str, str]:
    """Each header with its first values and its meaning; returns what a person changed, once they apply it."""
    headers = {header: (table, index) for table in tables for index, header in enumerate(table.columns) if header}
    if not headers:
        return {}
    meanings = {header: str(table.mapping.get(header, NOTHING)) for header, (table, _) in headers.items()}
    title = t("import_results.columns", count=len(headers))
    with st.expander(title, expanded=not any(meanings.values())):
        st.markdown(t("import_results.columns_help"))
        rows = [
            {
                t("import_results.header"): header,
                t("import_results.meaning"): meanings[header],
                t("import_results.sample"): _format_sample(table, index),
            }
            for header, (table, index) in headers.items()
        ]
        choice = st.column_config.SelectboxColumn(options=[NOTHING, *ColumnMeaning])
        edited = st.data_editor(
            rows,
            hide_index=True,
            disabled=[t("import_results.header"), t("import_results.sample")],
            column_config={t("import_results.meaning"): choice},
            key="old-columns",
            alt=title,
        )
        if not st.button(t("import_results.apply"), key="old-apply", icon=":material/check:"):
            return {}
        chosen = {row[t("import_results.header")]: row[t("import_results.meaning")] or NOTHING for row in edited}
        return {header: meaning for header, meaning in chosen.items() if meaning != meanings[header]}


def apply_corrections(tables: Sequence[Table], changed: dict[str, str]) -> Iterator[Table]:
    """The same tables with a person's corrections."""
    for table in tables:
        mapping = {header: meaning for header, meaning in table.mapping.items() if header not in changed}
        for header, meaning in changed.items():
            if meaning and header in table.columns:
                mapping[header] = ColumnMeaning(meaning)
        yield replace(table, mapping=mapping)


def _format_sample(table: Table, index: int) -> str:
    return ", ".join(row[index] for row in table.sample if index < len(row) and row[index])
