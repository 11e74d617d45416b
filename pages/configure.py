"""New run: a draft as a form or as YAML, its preflight findings, its cost, and the launch."""

import streamlit as st

from pages._ui.configure import clones, draft_list, drafts, form, jump, launch, upstream_export, upstream_import
from pages._ui.configure.findings import show_all
from pages._ui.series.form import link_to_form
from pages._ui.shell import url
from pages._ui.shell.status import create_heading
from pages._ui.shell.words import t

drafts.reopen_last()
create_heading().title(t("configure.title"))

draft_list.show_drafts()
difference = st.container()
left, right = st.columns([2, 1], gap="large")
with right:
    profile = launch.choose_profile()
draft = drafts.read_draft()
draft_list.watch_draft()
with difference:
    clones.show_difference(draft, profile)
with left:
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
        views = {"form": t("configure.view_form"), "yaml": t("configure.view_yaml")}
        view = url.choose_option(st.radio, "view", t("configure.view"), views, views.__getitem__, horizontal=True)
        upstream_import.show_import()
    fields = form.read_form(draft, profile)
    if view == "yaml":
        form.show_yaml(draft)
    elif fields:
        form.show_draft_form(fields)
with right:
    if fields and profile:
        of_region = () if fields.refused else launch.found_in_region(fields.spec, profile)
        show_all([*fields.findings, *of_region], drafts.fix, jump.jump_to, unchecked=fields.flavors_missing)
        launch.show_cost(fields, profile)
        launch.show_launch(fields, profile)
        link_to_form(profile)
        if not fields.refused:
            upstream_export.show_upstream_export(fields.spec, profile)
jump.show_jump()
