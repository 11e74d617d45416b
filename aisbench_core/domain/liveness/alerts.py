"""The one thing that somebody who watches a run should know: from the platform, or from the stall guard.

Run page, lists, Home and command line all ask here, so none of them calls healthy what another one warns of."""

from aisbench_core.domain.liveness.stalls import Watch
from aisbench_core.model import AlertKind, JobAlert, JobDetails, Run, RunState


def alert_of(run: Run, details: JobDetails, watch: Watch | None) -> JobAlert | None:
    """The platform's suspicion of a hang, else a stall or an unusual silence, else what else happened to the job."""
    alert = details.alert(ended=run.state.is_terminal, failed=run.state is RunState.FAILED)
    if watch is None or run.state is not RunState.RUNNING or (alert is not None and alert.kind is AlertKind.HANG):
        return alert
    if watch.stalled_at is not None:
        return JobAlert(AlertKind.STALLED, watch.current.since, is_measured=watch.is_measured)
    is_restarting = alert is not None and alert.kind is AlertKind.RESTARTING  # that is why it is quiet
    if watch.is_unusual and not is_restarting:
        return JobAlert(AlertKind.QUIET, watch.current.since, is_measured=watch.is_measured)
    return alert
