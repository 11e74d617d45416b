"""What the columns of tables mean: guessed from their headers, corrected by a person, remembered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st

from aisbench_core.history.found import ColumnMeaning, Table
from aisbench_core.importing.chosen import Preview
from pages._ui.shell.words import Words, words

NOTHING = ""


def show(tables: Sequence[Table]) -> dict[str, str]:
    """Each header with its first values and its meaning; gives what a person changed, once they say so."""
    t = words()
    headers = {header: (table, place) for table in tables for place, header in enumerate(table.columns) if header}
    if not headers:
        return {}
    known = {header: str(table.mapping.get(header, NOTHING)) for header, (table, _) in headers.items()}
    with st.expander(t("import_results.columns", count=len(headers)), expanded=not any(known.values())):
        st.markdown(t("import_results.columns_help"))
        rows = [
            {
                t("import_results.header"): header,
                t("import_results.meaning"): known[header],
                t("import_results.sample"): _sample(*headers[header]),
            }
            for header in headers
        ]
        edited = st.data_editor(
            rows,
            hide_index=True,
            disabled=[t("import_results.header"), t("import_results.sample")],
            column_config={
                t("import_results.meaning"): st.column_config.SelectboxColumn(options=[NOTHING, *ColumnMeaning])
            },
            key="old-columns",
            alt=t("import_results.columns", count=len(headers)),
        )
        if not st.button(t("import_results.apply"), key="old-apply", icon=":material/check:"):
            return {}
        said = {row[t("import_results.header")]: row[t("import_results.meaning")] or NOTHING for row in edited}
        return {header: meaning for header, meaning in said.items() if meaning != known[header]}


def corrected(tables: Sequence[Table], changed: dict[str, str]) -> Iterator[Table]:
    """The same tables with what a person said of them."""
    for table in tables:
        mapping = {header: column for header, column in table.mapping.items() if header not in changed}
        own = {
            header: ColumnMeaning(column) for header, column in changed.items() if column and header in table.columns
        }
        yield replace(table, mapping=mapping | own)


def _sample(table: Table, place: int) -> str:
    return ", ".join(row[place] for row in table.sample if place < len(row) and row[place])


def not_counted(preview: Preview, t: Words) -> str:
    """Where a result will not count, and why."""
    failed = (t("board.check", id=c.id, expected=t.said(c.expected), found=t.said(c.found)) for c in preview.failed)
    return "; ".join([*map(t.said, preview.not_counted), *failed])


def doubts_width(previews: Sequence[Preview]) -> Literal["small", "large"]:
    """Doubts stand where they are seen without scrolling; where there are none, in little room."""
    return "large" if any(preview.found.problems for preview in previews) else "small"
