"""The jobs of a region that have not ended, whoever made them, and the question before one is stopped."""

import streamlit as st

from aisbench_core.model import RegionJob
from pages._ui.shell import navigation
from pages._ui.shell.core import WHO, core
from pages._ui.shell.errors import errors_shown, plain
from pages._ui.shell.formats import when
from pages._ui.shell.words import words

ANSWER = "jobs-answer"
"""What the region said: the profile, and its jobs."""

QUESTION = "jobs-stopping"
"""The profile and the job that a person is asked about."""


def show_region_jobs(text: str) -> None:
    """The region's jobs with `text` in their names; the region is asked when a person wants it, not on every visit."""
    t = words()
    with st.expander(t("jobs.title")):
        st.markdown(t("jobs.about"))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            names = sorted(core().regions.names(), key=lambda name: name != core().settings.profile)
            profile = st.selectbox(t("configure.profile"), names, key="jobs-profile", width=280)
            if profile and st.button(t("jobs.ask"), key="jobs-ask", icon=":material/cloud_sync:"):
                _ask(profile)
        asked, jobs = st.session_state.get(ANSWER, ("", ()))
        if profile and asked == profile:
            _show(profile, [job for job in jobs if text.lower() in job.status.name.lower()])


def ask_before_stopping_a_job() -> None:
    """The question that a Stop button raised, if it did; call it once a page."""
    asked = st.session_state.get(QUESTION)
    if asked:
        st.dialog(words()("jobs.stop_title"), on_dismiss=_forget)(_question)(*asked)


def _ask(profile: str) -> None:
    with errors_shown(), st.spinner(words()("jobs.asking")):
        st.session_state[ANSWER] = (profile, tuple(core().jobs.active(profile)))


def _show(profile: str, jobs: list[RegionJob]) -> None:
    t = words()
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
                    st.session_state[QUESTION] = (profile, job)


def _question(profile: str, job: RegionJob) -> None:
    t = words()
    with errors_shown():
        st.markdown(f"**{plain(job.status.name)}**")
        st.markdown(t("jobs.stop_run" if job.run else "jobs.stop_elsewhere"))
        if st.button(t("jobs.stop_yes"), key="stop-job-yes", type="primary", icon=":material/front_hand:"):
            core().jobs.stop(profile, job, WHO)
            _forget()
            _ask(profile)
            st.rerun()
        if st.button(t("runs.stop_no"), key="stop-job-no"):
            _forget()
            st.rerun()


def _forget() -> None:
    st.session_state.pop(QUESTION, None)
