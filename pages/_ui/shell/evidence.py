"""The button that writes signed evidence of what is on screen."""

from collections.abc import Callable, Sequence
from io import BytesIO

import streamlit as st

from pages._ui.shell.core import actor, at_click, core, is_allowed
from pages._ui.shell.words import t

WAIT_SECONDS = 30.0  # of a pressed button, for an operation of the same person to end


def show_bundle_button(names: Callable[[], Sequence[str]], key: str, *, is_disabled: bool = False) -> None:
    """Write a bundle of these runs, or of a series, when it is pressed; nothing for whoever may not sign."""
    if not is_allowed("Bundles.write"):
        return

    def write_content() -> bytes:
        target = BytesIO()
        with core().operations.count_operation(actor().name, WAIT_SECONDS):
            core().bundles.write(names(), target, actor())
        return target.getvalue()

    st.download_button(
        t("evidence.download"),
        data=at_click(write_content),
        file_name=f"evidence-{core().clock():%Y%m%d-%H%M%S}.zip",
        mime="application/zip",
        key=f"evidence-{key}",
        disabled=is_disabled,
        on_click="ignore",
        icon=":material/verified:",
        help=t("evidence.help"),
    )
