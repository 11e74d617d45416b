"""Whether a run, or a plan, is normal: the band that its chip, workload and size usually reach."""

import streamlit as st

from aisbench_core.warehouse.values.expected import ExpectedSpeed, Normality
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.words import t

ICONS = {
    Normality.BELOW: ":orange[:material/arrow_downward:]",
    Normality.WITHIN: ":green[:material/check:]",
    Normality.ABOVE: ":blue[:material/arrow_upward:]",
    Normality.UNKNOWN: ":material/speed:",
}


def show_expected(found: ExpectedSpeed | None) -> None:
    """A line for the band, and one for claims; nothing where nothing could be asked."""
    if found is None:
        return
    st.caption(f"{ICONS[found.normality]} {escape_markdown(t.message(found.sentence))}", help=t("run.expected_help"))
    if found.claims:
        st.caption(escape_markdown(t.message(found.claims)))
