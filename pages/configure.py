"""Configure: a workload's manifest as a form or as YAML, what preflight says, what it costs, and the launch."""

import streamlit as st

from pages._ui.configure import clones, drafts, launch, upstream_export, upstream_import
from pages._ui.configure.draft_views import read_form, show_draft_form, show_yaml
from pages._ui.configure.launch import choose_profile, show_cost
from pages._ui.series.form import link_to_form
from pages._ui.shell import address, navigation
from pages._ui.shell.findings import show_all
from pages._ui.shell.words import words

t = words()
drafts.open_again()
st.title(t("configure.title"))

difference = st.container()
if drafts.draft_name() != drafts.MINE:
    navigation.link(navigation.CONFIGURE, t("configure.own_draft"), {"draft": drafts.MINE})
writing, judging = st.columns([2, 1], gap="large")
with judging:
    profile = choose_profile()
draft = drafts.read_draft()
with difference:
    clones.show_difference(draft, profile)
with writing:
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        view = st.radio(
            t("configure.view"),
            horizontal=True,
            **address.option("view", ["form", "yaml"], "form", lambda each: t(f"configure.view_{each}")),
        )
        upstream_import.show_import()
    form = read_form(draft, profile)
    if view == "yaml":
        show_yaml(draft)
    elif form:
        show_draft_form(form)
with judging:
    if form and profile:
        show_all(form.findings, drafts.mend, unchecked=form.flavors_missing)
        show_cost(form.filled, profile)
        launch.show_launch(form, profile)
        link_to_form(profile)
        upstream_export.show_upstream_export(form.spec, profile)
