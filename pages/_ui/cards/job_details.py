"""What the platform says about a run's job, on its page: the banner, the queue, its attempts, stages and tasks."""

from collections.abc import Iterable

import streamlit as st

from aisbench_core.base.errors import ResultError
from aisbench_core.base.formats import MISSING, format_duration, format_estimate
from aisbench_core.domain.liveness.alerts import alert_of
from aisbench_core.domain.liveness.stalls import ATTENTION_SECONDS, Watch, sign_of_life
from aisbench_core.domain.logs.lines import Line, LogLevel
from aisbench_core.domain.results.job_events import alert_message, describe_interruption, recovery_text
from aisbench_core.model import AlertKind, JobDetails, Run, RunState
from pages._ui.cards.log_lines import lines_html
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t


def job_details(run_id: str) -> JobDetails:
    """What is known of the run's job; nothing if its file is damaged, which hides nothing else of the run."""
    try:
        return core().files.job(run_id)
    except ResultError:
        return JobDetails()


def show_alert(run: Run, details: JobDetails) -> None:
    """A banner about a suspected hang or a restart. How a run failed is its detail, which has a banner already."""
    alert = alert_of(run, details, watch_of(run))
    if alert is None or alert.kind is AlertKind.ENDED:
        return
    sentence = f"{escape_markdown(t.message(alert_message(alert)))} · {format_time(alert.at)}"
    if alert.is_stall:
        st.error(sentence, icon=":material/pause_circle:")
    elif alert.kind is AlertKind.QUIET:
        st.warning(f"{sentence} \n\n{t('job.quiet_help')}", icon=":material/hourglass_bottom:")
    else:
        st.warning(sentence, icon=":material/restart_alt:")


def alert_kind(run: Run, details: JobDetails | None = None) -> AlertKind | None:
    """What the badge of `show_alert_badge` is about. `details`: those of its job, if they are read already."""
    if not run.is_polled:
        return None
    alert = alert_of(run, details or job_details(run.run_id), watch_of(run))
    return alert.kind if alert else None


def watch_of(run: Run) -> Watch | None:
    """What the stall guard knows of a run while it runs."""
    return ledger_answer(core().watches.get, run.run_id) if run.state is RunState.RUNNING else None


def describe_silence(run: Run) -> str:
    """For how long a job has given no sign of life, where that is worth a look though no alarm; empty otherwise."""
    watch, now = watch_of(run), core().clock()
    life = sign_of_life(watch, None) if watch else None
    if life is None or not life.is_observed(now) or not life.is_long(now):
        return ""
    age = round((now - life.at).total_seconds())
    return t("run_rows.silent", age=format_estimate(age)) if age >= ATTENTION_SECONDS else ""


def show_alert_badge(run: Run) -> None:
    """A word beside the state of a run whose job hangs, is unusually quiet or was restarted, for lists."""
    kind = alert_kind(run)
    if kind in (AlertKind.HANG, AlertKind.STALLED):
        st.badge(t("job.hangs"), icon=":material/pause_circle:", color="red")
    elif kind is AlertKind.QUIET:
        st.badge(t("job.quiet"), icon=":material/hourglass_bottom:", color="orange")
    elif kind:
        st.badge(t("job.restarted"), icon=":material/restart_alt:", color="orange")


def show_queue(run: Run, details: JobDetails) -> None:
    """Where a waiting job stands, and what it waits for."""
    if run.state is not RunState.QUEUED:
        return
    parts = []
    if details.queue:
        last = details.queue[-1]
        parts.append(
            t("job.position", position=last.position, waiting=last.waiting, pool=escape_markdown(run.spec.pool_id))
        )
    if details.waits_for:
        parts.append(escape_markdown(t.pick(details.waits_for.english, details.waits_for.chinese)))
    if parts:
        st.markdown(" · ".join(parts))


def show_job_attempts(details: JobDetails) -> None:
    """The attempts of a job that was interrupted or failed, and the last lines that each of them wrote."""
    if not details.restarts and not any(attempt.reason for attempt in details.attempts):
        return
    with st.expander(t("job.attempts"), icon=":material/restart_alt:"):
        titles = {
            "attempt": t("job.attempt"),
            "started": t("job.started"),
            "lasted": t("job.lasted"),
            "because": t("job.because"),
            "recovery": t("job.recovery"),
        }
        show_table(list(_attempt_rows(details)), titles, t("job.attempts"), widths={"because": "large"})
        chinese = {event.message: event.chinese for event in details.events}
        for attempt in reversed(details.attempts):
            if not (attempt.last_words or attempt.last_event):
                continue
            title = t("job.last_words", number=attempt.number)
            st.markdown(f"**{title}**")
            if attempt.last_words:  # not as code: what draws that is larger than the rest of the page
                lines = [Line(0, 0, text, None, LogLevel.NONE, is_system=False) for text in attempt.last_words]
                st.html(lines_html(lines, title))
            if attempt.last_event:
                st.caption(escape_markdown(t.pick(attempt.last_event, chinese.get(attempt.last_event, ""))))


def show_diagnosis(details: JobDetails) -> None:
    """What the platform found in the log of a failed job, in its own words."""
    found = details.diagnosis
    if found is None:
        return
    with st.expander(t("job.diagnosis"), icon=":material/troubleshoot:"):
        if not found.faults:
            st.caption(t("job.no_fault" if found.is_complete else "job.diagnosing"))
            return
        level = t("job.level", level=escape_markdown(found.level)) if found.level else ""
        st.caption(" ".join(filter(None, (t("job.diagnosis_about"), level))))
        rows = [
            {
                "fault": fault.code or MISSING,
                "found": " · ".join(f"{name}: {text}" for name, text in fault.facts) or MISSING,
                "source": " · ".join(fault.sources) or MISSING,
            }
            for fault in found.faults
        ]
        titles = {"fault": t("job.fault"), "found": t("job.found"), "source": t("job.source")}
        show_table(rows, titles, t("job.diagnosis"), widths={"found": "large"})


def show_job_stages(details: JobDetails) -> None:
    """How long each stage took, and the nodes and exit codes of the tasks."""
    if not details.stages:
        return
    with st.expander(t("job.stages"), icon=":material/timeline:"):
        titles = {
            "attempt": t("job.attempt"),
            "stage": t("job.stage"),
            "started": t("job.started"),
            "lasted": t("job.lasted"),
            "last_step": t("job.last_step"),
        }
        show_table(list(_stage_rows(details)), titles, t("job.stages"), widths={"last_step": "large"})
        if any(attempt.tasks for attempt in details.attempts):
            titles = {
                "attempt": t("job.attempt"),
                "task": t("job.task"),
                "node": t("job.node"),
                "exit_code": t("job.exit_code"),
                "message": t("job.message"),
            }
            show_table(list(_task_rows(details)), titles, t("job.tasks"))


def _attempt_rows(details: JobDetails) -> Iterable[dict[str, str]]:
    for attempt in details.attempts:
        ended = attempt.ended_at
        because = t.message(describe_interruption(attempt)) if attempt.reason or attempt.fault else MISSING
        yield {
            "attempt": str(attempt.number),
            "started": format_time(attempt.started_at),
            "lasted": format_duration((ended - attempt.started_at).total_seconds()) if ended else MISSING,
            "because": because,
            "recovery": t.message(recovery_text(attempt)) or MISSING,
        }


def _stage_rows(details: JobDetails) -> Iterable[dict[str, str]]:
    for stage in details.stages:
        began, ended = stage.started_at, stage.ended_at
        last = stage.steps[-1] if stage.steps else None
        yield {
            "attempt": str(stage.attempt),
            "stage": t.pick(stage.english, stage.chinese),
            "started": format_time(began) if began else MISSING,
            "lasted": format_duration((ended - began).total_seconds()) if began and ended else MISSING,
            "last_step": t.pick(last.english, last.chinese) if last else MISSING,
        }


def _task_rows(details: JobDetails) -> Iterable[dict[str, str]]:
    for attempt in details.attempts:
        for task in attempt.tasks:
            yield {
                "attempt": str(attempt.number),
                "task": task.task,
                "node": task.host or MISSING,
                "exit_code": MISSING if task.exit_code is None else str(task.exit_code),
                "message": task.message or MISSING,
            }
