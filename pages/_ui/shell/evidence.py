"""The button that writes signed evidence of what is on screen."""

from collections.abc import Callable, Sequence
from io import BytesIO

import streamlit as st

from pages._ui.shell.core import actor, at_click, core, right_to
from pages._ui.shell.words import t

WAIT_SECONDS = 30.0  # of a pressed button, for an operation of the same person to end


def show_bundle_button(names: Callable[[], Sequence[str]], key: str, *, is_disabled: bool = False) -> None:
    """Write a bundle of these runs, or of a series, when it is pressed."""

    def write_content() -> bytes:
        target = BytesIO()
        with core().operations.count_operation(actor().name, WAIT_SECONDS):
            core().bundles.write(names(), target, actor())
        return target.getvalue()

    may_sign = right_to("Bundles.write")
    st.download_button(
        t("evidence.download"),
        data=at_click(write_content),
        file_name=f"evidence-{core().clock():%Y%m%d-%H%M%S}.zip",
        mime="application/zip",
        key=f"evidence-{key}",
        disabled=is_disabled or not may_sign.is_given,
        on_click="ignore",
        icon=":material/verified:",
        help=may_sign.help_text or t("evidence.help"),
    )
