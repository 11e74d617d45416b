"""Why a run failed: the platform's diagnosis, the job's attempts, its stages and tasks."""

from aisbench_core.running.progress.snapshots import RunSnapshot
from pages._ui.cards.job_details import show_diagnosis, show_job_attempts, show_job_stages


def show_causes(now: RunSnapshot) -> None:
    """What is known of the job's failures and restarts; nothing for a run without any."""
    show_diagnosis(now.details)
    show_job_attempts(now.details)
    show_job_stages(now.details)
