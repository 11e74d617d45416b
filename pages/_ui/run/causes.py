"""Why a run failed: the platform's diagnosis, the job's attempts, its stages and tasks."""

from aisbench_core.model import Run
from pages._ui.runs.job_details import job_details, show_diagnosis, show_job_attempts, show_job_stages


def show_causes(run: Run) -> None:
    """What is known of the job's failures and restarts; nothing for a run without any."""
    details = job_details(run.run_id)
    show_diagnosis(details)
    show_job_attempts(details)
    show_job_stages(details)
