"""The one thing that somebody who watches a run should know: from the platform, or from the stall guard."""

from aisbench_core.liveness.stalls import Watch
from aisbench_core.model import AlertKind, JobAlert, JobDetails, Run, RunState


def alert_of(run: Run, details: JobDetails, watch: Watch | None) -> JobAlert | None:
    """The platform's suspicion of a hang, else a stall that was found here, else what else happened to the job."""
    alert = details.alert(ended=run.state.is_terminal, failed=run.state is RunState.FAILED)
    is_stalled = run.state is RunState.RUNNING and watch is not None and watch.stalled_at is not None
    if watch is None or not is_stalled or (alert is not None and alert.kind is AlertKind.HANG):
        return alert
    return JobAlert(AlertKind.STALLED, watch.current.since, is_measured=watch.is_measured)
