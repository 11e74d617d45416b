"""Health: whether the cloud answers, whether a follower is running, and how much is stored."""

import streamlit as st

from pages._ui import health
from pages._ui.configure.launch import choose_profile
from pages._ui.shell.core import core
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

create_heading().title(t("health.title"))
health.show_console()
health.show_admin_links()
health.show_manifests()
profile = choose_profile()
with st.spinner(t("health.asking")):
    report = core().health.check(profile)
health.show_follower_health(report)
if profile:
    health.show_cloud(report, profile)
health.show_sizes(report)
health.show_evidence()
if profile:
    health.show_profile_health(profile)
health.show_versions()
