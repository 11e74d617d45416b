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
            {"header": header, "meaning": meanings[header], "sample": _format_sample(table, index)}
            for header, (table, index) in headers.items()
        ]
        columns = {
            "header": st.column_config.TextColumn(t("import_results.header"), disabled=True),
            "meaning": st.column_config.SelectboxColumn(t("import_results.meaning"), options=[NOTHING, *ColumnMeaning]),
            "sample": st.column_config.TextColumn(t("import_results.sample"), disabled=True),
        }
        edited = st.data_editor(
            rows,
            hide_index=True,
            column_config=columns,
            key="old-columns",
            alt=title,
        )
        if not st.button(t("import_results.apply"), key="old-apply", icon=":material/check:"):
            return {}
        chosen = {row["header"]: row["meaning"] or NOTHING for row in edited}
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
