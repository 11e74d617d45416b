"""The demo history: the button that adds it, at any time, and the one that removes it."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from aisbench_core.exchange.importing.choices import DEMO_REGION
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.errors import errors_shown
from pages._ui.shell.words import t


def show_demo_offer(label: str, kind: Literal["secondary", "tertiary"]) -> None:
    """The offer to look around with generated results; a tertiary one looks like a link."""
    if not is_allowed("ResultImport.add_demo"):
        return
    if st.button(label, key="demo-add", type=kind, icon=":material/auto_graph:", help=t("home.demo_help")):
        with errors_shown():
            with st.spinner(t("home.demo_adding"), show_time=True):
                core().imports.add_demo(actor())
            st.query_params["region"] = f"{DEMO_REGION}~rehearsal"
            st.rerun()


def show_later_offer(regions: Sequence[RegionFacts]) -> None:
    """At the end of a page with results, unless the demo is among them."""
    if DEMO_REGION not in {region.region for region in regions}:
        show_demo_offer(t("home.demo_later"), "tertiary")


def show_demo_notice(region: RegionFacts) -> None:
    """That these results are generated, and the button that removes them."""
    if region.region == DEMO_REGION:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(t("home.demo_notice"), icon=":material/auto_graph:")
            if is_allowed("ResultImport.remove_demo"):
                st.button(t("home.demo_remove"), key="demo-remove", icon=":material/delete:", on_click=_remove_demo)


@repeat_if_aborted
def _remove_demo() -> None:
    with errors_shown():
        core().imports.remove_demo(actor())
    st.query_params.pop("region", None)
