"""Health: where this console runs things, whether the cloud answers, who follows, and how much is stored."""

import streamlit as st

from pages._ui.configure.launch import choose_profile
from pages._ui.shell.core import core
from pages._ui.shell.health import (
    show_cloud,
    show_console,
    show_follower_health,
    show_manifests,
    show_profile_health,
    show_sizes,
)
from pages._ui.shell.words import words

t = words()
st.title(t("health.title"))
show_console()
show_manifests()
profile = choose_profile()
with st.spinner(t("health.asking")):
    health = core().health(profile or "")
show_follower_health(health)
if profile:
    show_cloud(health, profile)
show_sizes(health)
if profile:
    show_profile_health(profile)
