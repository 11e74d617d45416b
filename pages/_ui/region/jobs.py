"""The active jobs of a region, whoever created them, and the question before one is stopped."""

from collections.abc import Callable

import streamlit as st

from aisbench_core.model import RegionJob
from pages._ui.region.answers import forget_answer, show_answer
from pages._ui.shell import navigation, url
from pages._ui.shell.core import actor, core, is_allowed
from pages._ui.shell.dialogs import Dialog
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.listing import choose_text
from pages._ui.shell.words import t

JOBS = 20  # of one page of the list
STOPPING = Dialog("jobs-stopping")  # about the profile and the job to stop


ShowClone = Callable[[str, RegionJob], None]


def show_region_jobs(profile: str, show_clone: ShowClone) -> None:
    """The region's jobs, page by page, with the text of the URL in their names. `show_clone` draws a job's button."""
    st.markdown(t("jobs.about"))
    listed = show_answer(core().jobs.active, profile)
    if listed is None:
        return
    text = choose_text(t("region.filter"), t("jobs.search")).lower()
    jobs = [job for job in listed if text in job.status.name.lower()]
    if not jobs:
        st.info(t("jobs.none"), icon=":material/bedtime:")
    pages = url.Pages("page", len(jobs), JOBS)
    for job in jobs[pages.offset : pages.offset + JOBS]:
        _show_job(profile, job, show_clone)
    pages.show()


def show_stop_job_dialog() -> None:
    """The question that a Stop button raised, if it did; call it once a page."""
    STOPPING.show(t("jobs.stop_title"), _confirm_stop)


def _show_job(profile: str, job: RegionJob, show_clone: ShowClone) -> None:
    status = job.status
    with st.container(border=True, key=f"job-{status.job_id}"):
        heading, actions = st.columns([5, 2], vertical_alignment="center")
        with heading:
            version = t("jobs.version", number=status.version) if status.version else ""
            st.markdown(f"**{escape_markdown(status.name)}** {version}")
            facts = (
                escape_markdown(status.phase),
                t("jobs.nodes", count=status.node_count),
                format_time(status.created_at),
            )
            st.caption(" · ".join(facts))
            if job.run:
                navigation.link_page(
                    navigation.LIVE, t("jobs.run", run=escape_markdown(job.run.run_id)), {"run": job.run.run_id}
                )
            else:
                st.caption(t("jobs.elsewhere"))
        with actions, st.container(horizontal=True, horizontal_alignment="right"):
            owner = job.run.created_by if job.run else ""
            show_clone(profile, job)
            if (
                job.can_stop
                and is_allowed("Jobs.stop", owner)
                and st.button(t("runs.stop"), key=f"stop-job-{status.job_id}")
            ):
                STOPPING.open((profile, job))


def _confirm_stop() -> None:
    profile, job = STOPPING.subject
    st.markdown(f"**{escape_markdown(job.status.name)}**")
    st.markdown(t("jobs.stop_run" if job.run else "jobs.stop_elsewhere"))
    if st.button(t("jobs.stop_yes"), key="stop-job-yes", type="primary", icon=":material/front_hand:"):
        core().jobs.stop(profile, job, actor())
        forget_answer(core().jobs.active, profile)
        STOPPING.leave()
    if st.button(t("runs.stop_no"), key="stop-job-no"):
        STOPPING.leave()
