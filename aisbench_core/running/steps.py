"""One idempotent function per state of a run. Each takes a run and returns its next value; nothing is stored here.

The process may die after any line, so a repeated step must have the same effect as one.
"""

import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from aisbench_core.base.errors import CloudRejected, CloudUnavailable, ConfigError, JobGone, JobNameTaken, StaleRun
from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Message, join_parts, message_of
from aisbench_core.cloud.ports import Cloud, Connect
from aisbench_core.config.job_secrets import JobSecrets, mask_secrets, masked_errors
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.liveness.slow_cards import card_rates
from aisbench_core.domain.preflight.offline import check_offline
from aisbench_core.domain.results.job_events import alert_message
from aisbench_core.domain.results.record import write_samples
from aisbench_core.domain.summaries.fetching import FetchedEvents, fetch_event_files
from aisbench_core.model import (
    AlertKind,
    Clock,
    Event,
    JobAlert,
    JobDetails,
    JobStatus,
    Level,
    MetricSample,
    NewsKind,
    Notice,
    Phase,
    Progress,
    Run,
    RunState,
    StopCause,
    TaskStatus,
)
from aisbench_core.running import logs
from aisbench_core.running.code import CodeManifest, files_beside, read_code, upload_code
from aisbench_core.running.job_watch import JobWatch
from aisbench_core.running.progress.watch import ProgressWatch
from aisbench_core.running.published_code import sent_code
from aisbench_core.running.resolving.service import Resolver, Sealing, store_resolved
from aisbench_core.running.resuming import copy_left, left_files
from aisbench_core.running.stall_guard import StallGuard, find_stop_cause
from aisbench_core.running.step_files import fetch_steps, latest_steps, reports_steps, write_rates
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.run_paths import RunFolder

SAMPLE_SECONDS = 60.0
SETTLE_SECONDS = 10.0  # so long a created job may take to appear in the cloud's list

# Most jobs write no event files: as long as there are none, they are looked for after 5 minutes, then every 15.
UNSEEN_FACTOR = 20

WRITE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of all states. `leaving` is set when the follower is about to end.
    `slow_share`: the share of the median card's throughput below which the ruleset calls a card a straggler.
    `resolving`: a context in which what the spec's names stand for is written, and sealed."""

    settings: Settings
    ledger: Ledger
    workloads: Workloads
    connect: Connect
    clock: Clock
    secrets: JobSecrets
    leaving: threading.Event
    progress: ProgressWatch
    log_pace: logs.LogPace
    details_pace: logs.LogPace
    summaries_pace: logs.LogPace
    stalls: StallGuard
    slow_share: Callable[[], float | None]
    resolving: Sealing
    sampled_at: dict[str, datetime] = field(default_factory=dict)
    announced: dict[str, JobAlert] = field(default_factory=dict)

    def folder(self, run: Run) -> RunFolder:
        """The run's folder on this machine."""
        return RunFolder(self.settings.runs_dir / run.run_id)

    def mask_text(self, run: Run, text: Message) -> Message:
        """The text with the run's secrets masked: clouds echo requests, and logs what jobs print."""
        names = run.spec.secrets
        return mask_secrets(text, self.secrets.available_values(run.profile, names)) if names else text

    def errors_masked(self, run: Run) -> AbstractContextManager[None]:
        """A context whose errors have the run's secrets masked."""
        return masked_errors(self.secrets.available_values(run.profile, run.spec.secrets))

    def prepare(self, run: Run) -> Run:
        """Repeat preflight, hash the code, and create the directories that the job writes to."""
        cloud = self.connect(run.profile, run.spec.api)
        if errors := self._list_errors(run, cloud):
            return fail_run(run, join_parts("; ", errors))
        if run.spec.code_dir:
            run = replace(run, code_sha256=self._get_code(run).sha256)
        for channel in run_paths.list_outputs(run, cloud.profile):
            cloud.objects.make_directory(channel.path)
        cloud.objects.make_directory(run_paths.log_path(run, cloud.profile))
        return run.to(RunState.UPLOADING, detail="")

    def _list_errors(self, run: Run, cloud: Cloud) -> list[Message]:
        """What preflight finds; nothing where workload and code are those of the machine that launched the run."""
        if sent_code(self.folder(run)):
            return []
        found = check_offline(run.spec, cloud.profile, self.workloads, secrets=self.secrets, find_run=self.ledger.find)
        return [join_parts(": ", [each.field, each.message]) for each in found if each.level is Level.ERROR]

    def expire(self, run: Run) -> Run:
        """End a launch that nobody approved in time."""
        return _stop_run(run, Message("nobody approved it in time"))

    def upload(self, run: Run) -> Run:
        """Upload the code as it is now, which may be newer than in `prepare`."""
        cloud = self.connect(run.profile, run.spec.api)
        if run.spec.code_dir:
            code = self._get_code(run)
            run = replace(run, code_sha256=code.sha256)
            directory = run_paths.code_path(run.spec, run.code_sha256, cloud.profile)
            show, shared = self._show_progress(run, "files"), run_paths.shared_path(cloud.profile)
            upload_code(cloud.objects, code, directory, shared, show)
        resumed = self._take_over(run) if run.spec.resume_from else None
        if run.spec.resume_from and not resumed:
            return fail_run(run, Message("run {run} left no files in its outputs", run=run.spec.resume_from))
        try:
            self.secrets.values(run.profile, run.spec.secrets)
        except ConfigError as error:
            return fail_run(run, error.sentence)  # up to here there cannot be a job
        self._resolve_names(run, cloud)
        # Stored before the job is created: after a crash it says that there may be one.
        ahead = cloud.clock_ahead()
        seconds = None if ahead is None else (ahead - self.ledger.clock_ahead()).total_seconds()
        return run.to(RunState.SUBMITTING, submitted_at=self.clock(), detail=resumed or "", region_ahead_s=seconds)

    def _resolve_names(self, run: Run, cloud: Cloud) -> None:
        """Store what the spec's names stand for now: data, configuration files, image, and code of an algorithm."""
        show, folder = self._show_progress(run, "objects"), self.folder(run)
        resolver = Resolver(cloud, self.clock, lambda done: show(done, 0))  # how many are there is known at the end
        for level, said in store_resolved(resolver.resolve(run, folder), folder, self.resolving):
            self.ledger.note(Event(run.run_id, self.clock(), "follower", level, said))

    def _take_over(self, run: Run) -> Message | None:
        """Copy what the earlier run left into this run's outputs; returns what was copied, None if there is nothing."""
        cloud, earlier = self.connect(run.profile, run.spec.api), self.ledger.get(run.spec.resume_from)
        left = left_files(cloud.objects, run, earlier, cloud.profile)
        directories = {channel.path for channel in run_paths.list_outputs(run, cloud.profile)}
        if not left:
            return None
        copy_left(cloud.objects, left, directories, self._show_progress(run, "files"))
        copied = format_size(sum(one.stat.size for one in left))
        return Message(
            "files copied from run {run} into its outputs: {count} ({size})",
            run=earlier.run_id,
            count=len(left),
            size=copied,
        )

    def _get_code(self, run: Run) -> CodeManifest:
        if sent := sent_code(self.folder(run)):
            return sent
        workload = self.workloads.get(run.spec.workload)
        beside = files_beside(run.spec, self.folder(run).pre_start, workload.passport_files)
        return read_code(run.spec, workload, beside, self.settings.shared_code)

    def submit(self, run: Run) -> Run:
        """Create the job, unless an earlier attempt whose response was lost did."""
        cloud = self.connect(run.profile, run.spec.api)
        job = cloud.training.find(run.job_name)
        return _to_queued(run, job) if job else self._create_job(cloud, run)

    def poll(self, run: Run, status: JobStatus | None) -> Run:
        """Apply the job's status; `status` is None when the cloud's list does not contain the job."""
        cloud = self.connect(run.profile, run.spec.api)
        if status is None or status.has_ended:
            status = self._find_job(cloud, run)
        if status is None:
            detail = Message("job {job_id} is gone: it was deleted in the cloud", job_id=run.job_id)
            return fail_run(run, detail, phase="")
        if not status.has_ended and (cause := self._watch_job(cloud, run, status)):
            return run.to_stopping(cause, self.clock())
        return self._apply_status(run, status)

    def stop(self, run: Run) -> Run:
        """Stop the job until the cloud confirms; a job that ended by itself meanwhile keeps its own outcome."""
        if run.submitted_at is None:
            return _stop_run(run, Message("stopped before a job was created"))
        cloud = self.connect(run.profile, run.spec.api)
        status = self._find_job(cloud, run)
        if status is None:
            return self._nothing_to_stop(run)
        run = replace(run, job_id=status.job_id)
        if status.has_ended:
            return self._apply_status(run, cloud.training.detail(status.job_id))
        if status.phase != Phase.TERMINATING:
            cloud.training.stop(status.job_id)
        return self._postpone_step(replace(run, phase=status.phase), self.settings.poll_seconds)

    def _create_job(self, cloud: Cloud, run: Run) -> Run:
        secrets = self.secrets.values(run.profile, run.spec.secrets)
        try:
            with masked_errors(secrets.values()):
                job = cloud.training.create(run_paths.job_request(run, cloud.profile, secrets))
        except JobNameTaken as error:
            # The name contains the run's id, so this is the job of an attempt whose response was lost.
            raise CloudUnavailable(
                Message("the job exists already, but the list does not show it yet"), operation=error.operation
            ) from error
        except CloudRejected as error:
            return fail_run(run, error.sentence)  # an explicit refusal, so there is no job
        return _to_queued(run, job)

    def _find_job(self, cloud: Cloud, run: Run) -> JobStatus | None:
        if not run.job_id:
            return cloud.training.find(run.job_name)
        try:
            return cloud.training.detail(run.job_id)
        except JobGone:  # only the service's own code: a plain 404 may be a wrong address, while the job costs money
            return None

    def _nothing_to_stop(self, run: Run) -> Run:
        """A job that was never seen may still appear; one that was seen is gone."""
        if not run.job_id and self.clock() - run.updated_at < timedelta(seconds=SETTLE_SECONDS):
            return self._postpone_step(run, SETTLE_SECONDS)
        return _stop_run(run, Message("stopped; the cloud holds no job of it"))

    def _postpone_step(self, run: Run, seconds: float) -> Run:
        return replace(run, next_step_at=self.clock() + timedelta(seconds=seconds))

    def _apply_status(self, run: Run, status: JobStatus) -> Run:
        """The run with the job's status applied; equal to `run` if nothing has changed."""
        run = replace(run, phase=status.phase, started_at=run.started_at or status.started_at)
        if status.has_ended:
            return self._end_run(run, status)
        waits = status.phase in (Phase.CREATING, Phase.PENDING)
        return run.to(RunState.QUEUED if waits else RunState.RUNNING, detail=message_of(status.message))

    def _end_run(self, run: Run, status: JobStatus) -> Run:
        ended = self.clock()
        self.log_pace.forget(run.run_id)
        self.details_pace.forget(run.run_id)
        self.summaries_pace.forget(run.run_id)
        self.sampled_at.pop(run.run_id, None)
        self.announced.pop(run.run_id, None)
        if run.started_at and status.duration_s is not None:
            ended = run.started_at + timedelta(seconds=status.duration_s)
        run = replace(run, ended_at=ended, duration_s=status.duration_s)
        run = run.to(RunState.COLLECTING, final_state=_derive_outcome(run, status), detail=_why_ended(run, status))
        self.stalls.end(run, self.folder(run), self.clock())
        return run

    def _watch_job(self, cloud: Cloud, run: Run, status: JobStatus) -> StopCause | None:
        """Fetch what the platform says about the job, additions to logs and event files, and metrics once a minute.

        Returns why the run is to be stopped now, if it is. A refusal is ignored here: collecting fetches all of it
        again, and reports it."""
        now = self.clock()
        secrets = self.secrets.available_values(run.profile, run.spec.secrets)
        if self.details_pace.is_due(run.run_id, now):
            self._announce_alert(run, watch_job(cloud, run, status, self.folder(run), secrets, now).poll(status))
            self.details_pace.start_pause(run.run_id, now, grew=True)  # a hang comes without any sign before it
        if not status.started_at:
            return None
        if self.summaries_pace.is_due(run.run_id, now):
            with suppress(CloudRejected):
                self._fetch_summaries(cloud, run, secrets, now)
        sampled_at = self.sampled_at.get(run.run_id)
        if sampled_at is None or now - sampled_at >= timedelta(seconds=SAMPLE_SECONDS):
            with suppress(CloudRejected):
                self.stalls.note_samples(run, self.folder(run), fetch_samples(cloud, status, self.folder(run)))
                self._compare_cards(cloud, run, now)
            self.sampled_at[run.run_id] = now
        if self.log_pace.is_due(run.run_id, now) or self.stalls.is_due(run, now):
            with suppress(CloudRejected):
                fetched = fetch_logs(cloud, run, status, self.folder(run), secrets)
                self.log_pace.start_pause(run.run_id, now, grew=fetched.grew)
                if fetched.grew and (progress := self.progress.update(run, self.folder(run), now)):
                    self.ledger.set_progress(progress)
                watch = self.stalls.observe(cloud, run, status, self.folder(run), fetched.size, now)
                return find_stop_cause(run, watch)
        return None

    def _fetch_summaries(self, cloud: Cloud, run: Run, secrets: Collection[str], now: datetime) -> None:
        fetched = fetch_summaries(cloud, run, self.folder(run), self.settings.summaries_most_bytes, secrets)
        factor = 2 if fetched.files else UNSEEN_FACTOR
        self.summaries_pace.start_pause(run.run_id, now, grew=fetched.grew, factor=factor)

    def _compare_cards(self, cloud: Cloud, run: Run, now: datetime) -> None:
        """Which cards have been slower than the others, of a job that reports its steps."""
        folder = self.folder(run)
        if not reports_steps(folder):
            return
        fetch_steps(cloud.objects, run_paths.output_path(run, cloud.profile), run.spec.node_count, folder)
        rates = card_rates(latest_steps(folder), self.slow_share())
        write_rates(rates, folder)
        self.stalls.report_slow(run, folder, rates, now)

    def _announce_alert(self, run: Run, details: JobDetails) -> None:
        alert = details.alert(ended=False, failed=False)
        if alert is None or self.announced.get(run.run_id) == alert:
            return
        # Announced again by the next follower; what was told once is not told again.
        self.announced[run.run_id] = alert
        if alert.kind is AlertKind.HANG and self.stalls.is_stalled(run, self.folder(run)):
            return  # people know already
        kind = NewsKind.STALLED if alert.is_stall else NewsKind.ALERT
        notice_id = f"{alert.kind}:{run.run_id}:{alert.at.isoformat()}"
        self.ledger.announce(Notice(notice_id, run.run_id, kind, alert.at, alert_message(alert)))

    def _show_progress(self, run: Run, unit: str) -> Callable[[int, int], None]:
        """Store progress a few times a second; abandon the step when a person stops the run or the follower ends."""
        last = [datetime.min.replace(tzinfo=self.clock().tzinfo)]
        guard = threading.Lock()

        def show(done: int, total: int) -> None:
            with guard:
                now = self.clock()
                if (done < total or not total) and now - last[0] < timedelta(seconds=WRITE_SECONDS):
                    return
                last[0] = now
            if self.leaving.is_set() or self.ledger.get(run.run_id).state is not run.state:
                raise StaleRun(Message("run {run_id} was given up by this follower", run_id=run.run_id))
            self.ledger.set_progress(Progress(run.run_id, run.state, done, total, unit, now))

        return show


def fetch_logs(cloud: Cloud, run: Run, status: JobStatus, folder: RunFolder, secrets: Collection[str]) -> logs.Fetched:
    """Bring the logs of all nodes up to date, with these values masked."""
    directory = run_paths.log_path(run, cloud.profile)
    return logs.fetch(cloud.objects, cloud.training.log_paths(status, directory), directory, folder, secrets)


def fetch_summaries(cloud: Cloud, run: Run, folder: RunFolder, most: int, secrets: Collection[str]) -> FetchedEvents:
    """Bring the event files in the run's outputs up to date, at most `most` bytes."""
    return fetch_event_files(cloud.objects, run_paths.list_outputs(run, cloud.profile), folder.summaries, most, secrets)


def watch_job(
    cloud: Cloud, run: Run, status: JobStatus, folder: RunFolder, secrets: Collection[str], now: datetime
) -> JobWatch:
    """What polls the events, stages and attempts of a run's job into its folder."""
    fetch = partial(fetch_logs, cloud, run, status, folder, secrets)
    return JobWatch(cloud.training, folder, run.spec.pool_id, secrets, fetch, now)


def fetch_samples(cloud: Cloud, status: JobStatus, folder: RunFolder) -> list[MetricSample]:
    """Store all metric samples of all nodes that the cloud has so far, and return them."""
    if status.started_at is None:
        return []
    tasks = [task for task in status.tasks if task.startswith("worker-")]
    samples = [one for task in tasks for one in cloud.training.metrics(status.job_id, task, status.started_at)]
    if samples:
        write_samples(samples, folder.metrics)
    return samples


def _to_queued(run: Run, job: JobStatus) -> Run:
    return run.to(RunState.QUEUED, job_id=job.job_id, phase=job.phase, detail="")


def fail_run(run: Run, why: Message, **changes: object) -> Run:
    """The run on its way to FAILED (it is collected first), with the reason."""
    return run.to(RunState.COLLECTING, final_state=RunState.FAILED, detail=why, **changes)


def _stop_run(run: Run, why: Message) -> Run:
    return run.to(RunState.COLLECTING, final_state=RunState.STOPPED, detail=why)


def _derive_outcome(run: Run, status: JobStatus) -> RunState:
    if status.succeeded:
        return RunState.COMPLETED
    stopped = run.state is RunState.STOPPING or status.phase == Phase.TERMINATED
    return RunState.STOPPED if stopped else RunState.FAILED


def _why_ended(run: Run, status: JobStatus) -> str:
    if status.succeeded:
        return ""
    tasks = [_describe_exit(task) for task in status.task_statuses if task.exit_code]
    ended: str = Message("the job ended as {phase}", phase=status.phase)
    if run.state is RunState.STOPPING:
        ended = run.stop_cause.sentence if run.stop_cause else Message("stopped")
    return join_parts("; ", [ended, *([status.message] if status.message else tasks)])


def _describe_exit(task: TaskStatus) -> Message:
    code = Message("{task} ended with exit code {code}", task=task.task, code=task.exit_code)
    return join_parts(": ", [code, task.message]) if task.message else code
