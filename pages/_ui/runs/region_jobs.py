"""The active jobs of a region, whoever created them, and the question before one is stopped."""

import streamlit as st

from aisbench_core.model import RegionJob
from pages._ui.shell import navigation
from pages._ui.shell.core import actor, core
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import t

JOBS = "jobs-answer"  # where the session has the profile whose region was asked last, and its jobs
STOPPING = Dialog("jobs-stopping")  # about the profile and the job to stop


def show_region_jobs(text: str) -> None:
    """The region's jobs with `text` in their names. The region is asked at a click, as an answer may take seconds."""
    with st.expander(t("jobs.title")):
        st.markdown(t("jobs.about"))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            names = sorted(core().regions.names(), key=lambda name: name != core().settings.profile)
            profile = st.selectbox(t("configure.profile"), names, key="jobs-profile", width=280)
            if profile and st.button(t("jobs.ask"), key="jobs-ask", icon=":material/cloud_sync:"):
                _list_jobs(profile)
        listed, jobs = st.session_state.get(JOBS, ("", ()))
        if profile and listed == profile:
            _show(profile, [job for job in jobs if text.lower() in job.status.name.lower()])


def show_stop_job_dialog() -> None:
    """The question that a Stop button raised, if it did; call it once a page."""
    STOPPING.show(t("jobs.stop_title"), _confirm_stop)


def _list_jobs(profile: str) -> None:
    with errors_shown(), st.spinner(t("jobs.asking")):
        st.session_state[JOBS] = (profile, tuple(core().jobs.active(profile)))


def _show(profile: str, jobs: list[RegionJob]) -> None:
    if not jobs:
        st.info(t("jobs.none"), icon=":material/bedtime:")
    for job in jobs:
        status = job.status
        with st.container(border=True, key=f"job-{status.job_id}"):
            heading, actions = st.columns([5, 2], vertical_alignment="center")
            with heading:
                version = t("jobs.version", number=status.version) if status.version else ""
                st.markdown(f"**{plain(status.name)}** {version}")
                facts = (plain(status.phase), t("jobs.nodes", count=status.node_count), when(status.created_at))
                st.caption(" · ".join(facts))
                if job.run:
                    navigation.link(navigation.LIVE, t("jobs.run", run=plain(job.run.run_id)), {"run": job.run.run_id})
                else:
                    st.caption(t("jobs.elsewhere"))
            with actions, st.container(horizontal=True, horizontal_alignment="right"):
                if job.can_stop and st.button(t("runs.stop"), key=f"stop-job-{status.job_id}"):
                    STOPPING.open((profile, job))


def _confirm_stop() -> None:
    profile, job = STOPPING.subject
    st.markdown(f"**{plain(job.status.name)}**")
    st.markdown(t("jobs.stop_run" if job.run else "jobs.stop_elsewhere"))
    if st.button(t("jobs.stop_yes"), key="stop-job-yes", type="primary", icon=":material/front_hand:"):
        core().jobs.stop(profile, job, actor())
        _list_jobs(profile)
        STOPPING.leave()
    if st.button(t("runs.stop_no"), key="stop-job-no"):
        STOPPING.leave()
