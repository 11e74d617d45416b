"""New run: a draft as a form or as YAML, and beside it what would be launched, its findings and its cost."""

import streamlit as st

from aisbench_core.domain.authoring.specfile import explain_error
from pages._ui.configure import clones, draft_list, drafts, form, jump, launch, summary, upstream_export, yaml_view
from pages._ui.configure.upstream_import import show_import, show_import_button
from pages._ui.series.form import link_to_form
from pages._ui.shell.core import profile_in_url
from pages._ui.shell.words import t

drafts.reopen_last()
heading = st.container(horizontal=True, vertical_alignment="center")
heading.title(t("configure.title"), anchor=False)
draft_list.show_deleted()
difference = st.container()
left, right = st.columns([2, 1], gap="large")
profile = profile_in_url()
draft = drafts.read_draft()
fields, problem = form.read_form(draft, profile)


def show_upstream_files() -> None:
    """The way from and to the files of ais-bench-stubs, in the menu of drafts."""
    show_import_button()
    if fields and profile and not fields.refused:
        upstream_export.show_upstream_export(fields.spec, profile)
        upstream_export.show_other_exports(fields.spec, profile)


with heading:
    yaml_view.show_switch()
    draft_list.show_drafts(show_upstream_files)
show_import()
draft_list.watch_draft()
with difference:
    clones.show_difference(draft, profile)
found = [*(fields.findings if fields else ()), *(explain_error(problem) if problem else ())]
if fields and profile and not fields.refused:
    found += launch.found_in_region(fields.spec, profile)
text = draft.text if yaml_view.is_shown() or not fields else ""
with left:
    if problem:
        form.show_way_out()
    if fields and not text:
        form.show_draft_form(fields)
    else:
        yaml_view.show_yaml(draft, summary.mark_lines(draft, found))
with right:
    launch.choose_profile()
    summary.show_summary(fields, text, profile, found, link_to_form)
jump.show_jump(text)
