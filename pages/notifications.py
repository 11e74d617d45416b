"""Notifications: channels, what they are told, and what was sent."""

import streamlit as st

from pages._ui.notifications.channels import show_channels
from pages._ui.notifications.deliveries import show_deliveries
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("notifications.title"))
st.markdown(t("notifications.what"))
show_channels()
show_deliveries()
