"""Room for what Streamlit has yet to load: until then it draws a box of 40 pixels, and all below would move."""

import streamlit as st

WIDGET = '<style>body .st-key-{key} [data-testid="stSkeleton"] {{ height: {pixels}px; }}</style>'
CHART = "<style>body .st-key-{key} {{ min-height: {pixels}px; }}</style>"  # it is empty between its box and its picture


def keep_room_of_widget(key: str, pixels: int) -> None:
    st.html(WIDGET.format(key=key, pixels=pixels))


def keep_room_of_chart(key: str, pixels: int) -> None:
    """Of a chart in a container with this key."""
    st.html(CHART.format(key=key, pixels=pixels))
