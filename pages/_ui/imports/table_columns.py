"""The meanings of tables' columns: guessed from their headers, corrected by a person, remembered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from aisbench_core.exchange.readers.results import PARAMETER, ColumnMeaning, Table
from pages._ui.shell import widgets
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

NOTHING = ""
CHOSEN = "old-chosen-columns"
CARDS = {
    ColumnMeaning.CARD_COUNT: "import_results.as_card_count",
    ColumnMeaning.CARDS_PER_NODE: "import_results.as_cards_per_node",
}
MAX_ASKED = 12  # columns with a choice beside them; the table of all columns has the others


def ask_about_columns(tables: Sequence[Table]) -> dict[str, str]:
    """The columns that are not understood, each with its values and a choice; returns what a person chose."""
    unknown = {header: table for table in tables for header in table.not_understood}
    doubtful = {header: table for table in tables if (header := table.doubtful_cards)}
    if doubtful:
        with st.container(border=True, key="import-cards", gap="xsmall"):
            st.subheader(t("import_results.doubtful_cards"))
            for header, table in doubtful.items():
                _ask_about_column(header, table, [NOTHING, *CARDS])
    if unknown:
        _ask_about_unknown(unknown)
    chosen: dict[str, str] = st.session_state.pop(CHOSEN, {})
    return {header: meaning for header, meaning in chosen.items() if header in unknown or header in doubtful}


def _ask_about_unknown(unknown: Mapping[str, Table]) -> None:
    defaults = {header: table.mapping[header] for header, table in unknown.items()}
    with st.container(border=True, key="import-unknown", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(t("import_results.unknown", count=len(unknown)))
            keep, ignore = t("import_results.keep_parameters"), t("import_results.ignore_columns")
            st.button(keep, key="old-keep-columns", on_click=_choose_columns, args=(defaults,))
            ignored = dict.fromkeys(defaults, NOTHING)
            st.button(ignore, key="old-ignore-columns", on_click=_choose_columns, args=(ignored,))
        st.caption(t("import_results.unknown_help"))
        for header, table in list(unknown.items())[:MAX_ASKED]:
            default = table.mapping[header]
            _ask_about_column(header, table, [default, NOTHING, *ColumnMeaning])
        if len(unknown) > MAX_ASKED:
            st.caption(t("import_results.more_unknown", count=len(unknown) - MAX_ASKED))


def _ask_about_column(header: str, table: Table, options: Sequence[str]) -> None:
    """The first option is what happens to it now."""
    name, values, choice = st.columns([3, 4, 4], vertical_alignment="center")
    name.markdown(f"**{escape_markdown(header)}**")
    values.caption(escape_markdown(_format_sample(table, table.columns.index(header))))
    store = partial(_choose_column, header)
    arguments = widgets.single_choice(f"old-column-{header}", options, options[0], store, _name_meaning)
    label = t("import_results.meaning_of", header=header)
    choice.selectbox(label, label_visibility="collapsed", **arguments)


def _name_meaning(meaning: str) -> str:
    if meaning.startswith(PARAMETER):
        return t("import_results.as_parameter", name=meaning.removeprefix(PARAMETER))
    if meaning in CARDS:
        return t(CARDS[ColumnMeaning(meaning)])
    return str(meaning) or t("import_results.ignored")


def _choose_column(header: str, meaning: str) -> None:
    _choose_columns({header: str(meaning)})


@repeat_if_aborted
def _choose_columns(meanings: Mapping[str, str]) -> None:
    st.session_state[CHOSEN] = dict(meanings)


def show_columns(tables: Sequence[Table]) -> dict[str, str]:
    """Each header with its first values and its meaning; returns what a person changed, once they apply it."""
    headers = {header: (table, index) for table in tables for index, header in enumerate(table.columns) if header}
    if not headers:
        return {}
    meanings = {header: str(table.mapping.get(header, NOTHING)) for header, (table, _) in headers.items()}
    title = t("import_results.columns", count=len(headers))
    parameters = dict.fromkeys(meaning for meaning in meanings.values() if meaning.startswith(PARAMETER))
    with st.expander(title, expanded=not any(meanings.values())):
        st.markdown(t("import_results.columns_help"))
        rows = [
            {"header": header, "meaning": meanings[header], "sample": _format_sample(table, index)}
            for header, (table, index) in headers.items()
        ]
        columns = {
            "header": st.column_config.TextColumn(t("import_results.header"), disabled=True),
            "meaning": st.column_config.SelectboxColumn(
                t("import_results.meaning"), options=[NOTHING, *parameters, *ColumnMeaning]
            ),
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


def apply_corrections(tables: Sequence[Table], changed: Mapping[str, str]) -> Iterator[Table]:
    """The same tables with a person's corrections."""
    for table in tables:
        mapping = {header: meaning for header, meaning in table.mapping.items() if header not in changed}
        mapping |= {header: meaning for header, meaning in changed.items() if meaning and header in table.columns}
        unknown = tuple(header for header in table.not_understood if header not in changed)
        doubtful = "" if table.doubtful_cards in changed else table.doubtful_cards
        yield replace(table, mapping=mapping, not_understood=unknown, doubtful_cards=doubtful)


def _format_sample(table: Table, index: int) -> str:
    return ", ".join(row[index] for row in table.sample if index < len(row) and row[index])
