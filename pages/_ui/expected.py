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


def show_expected_of_run(found: ExpectedSpeed | None) -> None:
    """A line for the band, whose tooltip says what it rests on, and one for claims; nothing where nothing was asked."""
    if found:
        sentence = t("run.expected_help", sentence=t.message(found.sentence))
        st.caption(f"{ICONS[found.normality]} {escape_markdown(t.message(found.summary))}", help=sentence)
        _show_claims(found)


def show_expected_of_plan(found: ExpectedSpeed | None) -> None:
    """A line for the band, and one for claims; nothing before the first run of this kind."""
    if found and (found.own_runs or found.trusted_runs):
        st.caption(f"{ICONS[found.normality]} {escape_markdown(t.message(found.sentence))}")
    if found:
        _show_claims(found)


def _show_claims(found: ExpectedSpeed) -> None:
    if found.claims:
        st.caption(escape_markdown(t.message(found.claims)))
