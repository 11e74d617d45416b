"""Filters by parameters and numbers of runs, as the URL says: `?where=throughput:8000..`."""

from collections.abc import Sequence

import streamlit as st

from aisbench_core.base.errors import SpecError
from aisbench_core.warehouse.values.conditions import Condition, is_condition, parse_conditions
from pages._ui.shell import url
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.words import t

WHERE = "where"  # parameter of the URL
EXAMPLE = "throughput:8000.."


def choose_conditions(suggested: Sequence[str]) -> tuple[Condition, ...]:
    """What the URL names, as far as it can be read; what is wrong with the rest is said below the field."""
    named = list(dict.fromkeys(st.query_params.get_all(WHERE)))
    layout = {"help": t("where.help"), "placeholder": EXAMPLE}
    url.enter_options(WHERE, t("where.title"), [*dict.fromkeys((*named, *suggested))], resets=["page"], **layout)
    try:
        return parse_conditions(named)
    except SpecError as error:
        show_sentence(error)
        return parse_conditions(text for text in named if is_condition(text))


def show_conditions(conditions: Sequence[Condition]) -> None:
    """Each as a chip that removes it."""
    if conditions:
        with st.container(horizontal=True, key="active-conditions", gap="xsmall"):
            for number, condition in enumerate(conditions):
                text = str(condition)
                st.button(
                    escape_markdown(text), key=f"where-{number}", icon=":material/close:", help=t("where.remove"),
                    on_click=_remove_condition, args=(text,),
                )  # fmt: skip


@repeat_if_aborted
def _remove_condition(text: str) -> None:
    kept = [each for each in st.query_params.get_all(WHERE) if _name_of(each) != text]
    st.query_params.pop("page", None)
    if kept:
        st.query_params[WHERE] = kept
    else:
        st.query_params.pop(WHERE, None)


def _name_of(text: str) -> str:
    """As its chip names it."""
    return str(parse_conditions([text])[0]) if is_condition(text) else text
