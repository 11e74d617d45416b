"""The console's one Core, opened for the first session and kept until the server ends."""

import streamlit as st

from aisbench_core.wiring import Core, open_core

WHO = "console"
"""Who acts, as runs and events record it: the console has no sign-in, so it cannot tell people apart."""


@st.cache_resource(show_spinner=False)
def core() -> Core:
    """What every page asks."""
    return open_core()
