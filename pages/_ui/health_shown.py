"""The Health page's parts."""

import platform
from importlib.metadata import version

import streamlit as st

from pages._ui.errors import plain
from pages._ui.words import words

LIBRARIES = ("aisbench-console", "streamlit", "duckdb", "huaweicloudsdkmodelarts", "esdk-obs-python")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def show_console() -> None:
    """Where the console listens; beyond this machine, what that means is said plainly."""
    t = words()
    address = st.get_option("server.address") or "0.0.0.0"  # noqa: S104  # Streamlit's own default, which we report
    port = st.get_option("server.port")
    if address not in LOOPBACK:
        st.error(t("health.open", address=plain(str(address)), port=port), icon=":material/lock_open:")
    else:
        st.markdown(t("health.listens", address=plain(str(address)), port=port))
    st.caption(" · ".join([*(f"{name} {version(name)}" for name in LIBRARIES), f"Python {platform.python_version()}"]))
