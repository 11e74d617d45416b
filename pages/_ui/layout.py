"""Where things stand on all pages: no blank space above titles, and tiles side by side, on phones in pairs."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

SCRIPTS, TILES = "scripts", "tiles"  # keys of containers

# Streamlit's header, which lies above the title, needs 60 pixels; each script before it would push it down by 16 more.
# A window of less than 640 pixels has one column, and a number needs no line of its own.
_STYLE = f"""<style>
    [data-testid="stMainBlockContainer"] {{ padding-top: 4rem; }}
    [data-testid="stSidebarHeader"] {{ margin-bottom: 0; }}
    div:has(> .st-key-{SCRIPTS}) {{ position: absolute; width: 0; }}
    @media (max-width: 640px) {{
        .st-key-{TILES} [data-testid="stColumn"] {{ min-width: 9rem; }}
    }}
</style>"""


def install_layout() -> None:
    st.html(_STYLE)


def create_script_container() -> DeltaGenerator:
    """A container for what the browser runs: it takes no room."""
    return st.container(key=SCRIPTS)


def create_tiles(names: Sequence[str]) -> dict[str, DeltaGenerator]:
    """A column for each number at the top of a page, by its name; once on a page."""
    with st.container(key=TILES):
        return dict(zip(names, st.columns(len(names)), strict=True))
