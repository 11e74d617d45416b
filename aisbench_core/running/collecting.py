"""The last step of a run: turns what its job left behind into a record, in the run folder and in the warehouse."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from pydantic import ValidationError

from aisbench_core.base.errors import (
    AccessDenied,
    AisbenchError,
    AuthFailed,
    CloudError,
    CloudNotFound,
    CloudRejected,
    CloudUnavailable,
)
from aisbench_core.base.formats import format_size
from aisbench_core.base.messages import Message, join_parts
from aisbench_core.base.private_files import sync_path, write_whole
from aisbench_core.cloud.ports import Cloud, Connect, TrainingService
from aisbench_core.config.job_secrets import MASK, JobSecrets, mask_secrets
from aisbench_core.config.settings import Settings
from aisbench_core.domain.llm.chips import Chips, read_chips
from aisbench_core.domain.llm.llm_settings import read_llm
from aisbench_core.domain.passport.collecting import fetch_passports, read_passport
from aisbench_core.domain.progress.logged import LogMeasures
from aisbench_core.domain.results.card_samples import fetch_card_samples, read_card_samples, write_card_samples
from aisbench_core.domain.results.derived_metrics import Measured, derive_metrics
from aisbench_core.domain.results.job_events import cloud_events
from aisbench_core.domain.results.log_results import (
    LogWindow,
    find_other_steps,
    list_log_metrics,
    read_window,
    with_log_result,
)
from aisbench_core.domain.results.measured_block import (
    list_phased_keys,
    measure_power,
    with_phases,
    with_power,
    with_utilisation,
)
from aisbench_core.domain.results.progress import read_progress, seconds_in, target_message
from aisbench_core.domain.results.record import (
    dump_record,
    parse_outline,
    read_annotations,
    read_samples,
    read_stated,
    write_record,
)
from aisbench_core.domain.results.reported import (
    bound_metrics,
    fetch_reported,
    read_metrics,
    read_phases,
    read_step_times,
)
from aisbench_core.domain.results.result_files import collect_result
from aisbench_core.domain.results.train_result_info import mark_rehearsal
from aisbench_core.model import (
    CardSample,
    Clock,
    CollectedResult,
    Event,
    JobDetails,
    JobStatus,
    Level,
    PhaseSpan,
    Progress,
    Run,
    RunMetric,
    RunRecord,
    RunState,
    TrainResultInfo,
    WorkloadFacts,
)
from aisbench_core.running.progress.watch import ProgressWatch
from aisbench_core.running.run_files import read_facts
from aisbench_core.running.steps import fetch_logs, fetch_samples, fetch_summaries, watch_job
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders import run_paths
from aisbench_core.store.run_folders.resolved import read_resolved
from aisbench_core.store.run_folders.run_paths import RunFolder

T = TypeVar("T")

PARTS = 4
# Attempts after which a result no longer waits for logs, metrics and events that the cloud fails to give.
PATIENCE = 6

PROBLEMS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Collecting:
    """Collects a run. `record` stores it in the warehouse; doing so twice changes nothing.

    `begin_collecting` returns the record of an earlier time, or raises ResultError if what the launch wrote was changed
    since, `expect` notes what is about to be written into files, and `seal` seals the folder, or raises StaleRun if the
    system description was changed meanwhile.
    `diagnose` lets ascend-fd look at the logs of a failed run."""

    settings: Settings
    ledger: Ledger
    connect: Connect
    record: Callable[[RunRecord], None]
    begin_collecting: Callable[[str], bytes | None]
    expect: Callable[[str, Mapping[str, bytes]], None]
    seal: Callable[[Iterable[str]], None]
    clock: Clock
    secrets: JobSecrets
    progress: ProgressWatch
    diagnose: Callable[[RunFolder], None]

    def collect(self, run: Run, folder: RunFolder) -> Run:
        """Collect results, logs, metrics and events, and store the record; returns the run in its final state.

        Stopped and failed runs are collected, too, with whatever results there are."""
        end = _first_end(self.begin_collecting(run.run_id)) or self.clock()
        facts = read_facts(folder.launch)
        result, details, refusals = self._from_cloud(run, folder, end) if run.job_id else (None, JobDetails(), [])
        logs, window = self._measure_logs(run, folder, facts.workload), read_window(facts.workload.speed_parameters)
        if result is not None and window:
            result = with_log_result(result, logs, window, run.spec, facts.workload.throughput_unit)
            for message in find_other_steps(logs, window):
                self._note_warning(run, message)
        samples, cards = tuple(read_samples(folder.metrics)), tuple(read_card_samples(folder.cards))
        phases = read_phases(folder.reported)
        if result is not None:
            power = measure_power(cards, run.spec.node_count * run.spec.cards_per_node)
            result = self._add_phases(with_utilisation(with_power(result, power), samples), run, phases)
        self._note_target(run, folder, facts.workload.accuracy_target, len(details.attempts))
        ended = _end_run(run, result, refusals, self.clock())
        ended = replace(ended, detail=mask_secrets(ended.detail, self._secret_values(run)))
        if run.final_state is RunState.FAILED or ended.is_stopped_as_stalled:
            self._diagnose_run(run, folder)
        record = RunRecord(
            run=ended,
            workload=facts.workload,
            region=facts.region,
            rehearsal=facts.rehearsal or (result is not None and result.rehearsal),
            accelerator=facts.accelerator,
            result=result,
            samples=samples,
            events=tuple(
                sorted(
                    [*self.ledger.events(run.run_id), *cloud_events(run.run_id, details)], key=lambda event: event.at
                )
            ),
            launched=facts.launched,
            attempts=details.attempts,
            card_samples=cards,
            resolved=read_resolved(folder.resolved),
            passport=read_passport(folder.passport, run.spec),
        )
        record = replace(record, metrics=self._derive_metrics(record, folder, phases, logs))
        self.progress.update(run, folder, self.clock() if run.ended_at is None else run.ended_at)
        self.progress.forget(run.run_id)
        for log in folder.logs.glob("*.log"):
            sync_path(log)
        contents = {folder.record.name: dump_record(record)}
        if result is not None:
            block = mark_rehearsal(result.raw) if record.rehearsal else result.raw
            contents[folder.result.name] = block.encode()
        self.expect(run.run_id, contents)
        write_record(record, folder.record, folder.metrics, folder.events)
        if result is not None:
            write_whole(folder.result, contents[folder.result.name])
        self.seal([run.run_id])
        # Read only now: an edit that comes after the record was written stores the record again itself.
        self.record(replace(record, described=read_stated(folder.path), annotations=read_annotations(folder.path)))
        return ended

    def _add_phases(self, result: CollectedResult, run: Run, phases: Sequence[PhaseSpan]) -> CollectedResult:
        """The result with the times of phases; an event says which of the block's times are theirs."""
        phased = with_phases(result, run, phases)
        if keys := list_phased_keys(result, phased):
            message = Message("{keys} of the result: from the phases that a rank reported", keys=", ".join(keys))
            if str(message) not in {str(event.message) for event in self.ledger.events(run.run_id)}:
                self.ledger.note(Event(run.run_id, self.clock(), "follower", Level.INFO, message))
        return phased

    def _from_cloud(
        self, run: Run, folder: RunFolder, end: datetime
    ) -> tuple[CollectedResult | None, JobDetails, list[Message]]:
        """Everything that the cloud still has of the job; final refusals are returned as messages.

        A completed job's result is retried for as long as it cannot be read, and wrong keys or a wrong clock are
        always retried: a person can fix both. Logs, metrics and events that are refused, or fail PATIENCE times, end
        up as warnings."""
        cloud = self.connect(run.profile, run.spec.api)
        status = _get_status(cloud.training, run)
        secrets = self._secret_values(run)
        refusals: list[Message] = []
        warnings: list[Message] = []
        given_up = (CloudRejected, CloudUnavailable) if run.attempts >= PATIENCE else (CloudRejected,)
        final = () if run.final_state is RunState.COMPLETED else (CloudRejected,)
        result = _unless_refused(refusals, lambda: self._collect_result(cloud, run, folder, end), final)
        self._show_progress(run, 1)
        _unless_refused(warnings, lambda: fetch_logs(cloud, run, status, folder, secrets), given_up)
        self._show_progress(run, 2)
        _unless_refused(warnings, lambda: fetch_samples(cloud, status, folder), given_up)
        cards = _unless_refused(warnings, lambda: _card_samples(cloud, run), given_up)
        if cards:
            write_card_samples(cards, folder.cards)
        _unless_refused(warnings, lambda: _fetch_reported(cloud, run, folder, warnings, secrets), given_up)
        _unless_refused(warnings, lambda: _fetch_passports(cloud, run, folder, secrets), given_up)
        _unless_refused(warnings, lambda: self._fetch_summaries(cloud, run, folder, warnings), given_up)
        self._show_progress(run, 3)
        watch = watch_job(cloud, run, status, folder, secrets, self.clock())
        details = _unless_refused(warnings, lambda: watch.complete(status), given_up) or watch.read_stored()
        self._show_progress(run, PARTS)
        for warning in warnings:
            self._note_warning(run, Message("not collected: {reason}", reason=mask_secrets(warning, secrets)))
        return result, details, refusals

    def _measure_logs(self, run: Run, folder: RunFolder, workload: WorkloadFacts) -> list[LogMeasures | None]:
        """What the logs come to, of a job whose result is there, or that trains a language model."""
        window, llm = read_window(workload.speed_parameters), read_llm(workload.speed_parameters)
        if window is None and llm:
            window = LogWindow(llm.window.first, llm.window.last)
        return self.progress.measure_logs(run, folder, window) if window else []

    def _derive_metrics(
        self, record: RunRecord, folder: RunFolder, phases: Sequence[PhaseSpan], logs: Sequence[LogMeasures | None]
    ) -> tuple[RunMetric, ...]:
        """The metrics of a record, which has all else; those that a run cannot have are named in an event."""
        reported, refused = read_metrics(folder.reported)
        chips = self._read_chips(record.run)
        described = read_stated(folder.path)
        names = {metric.name for metric in reported}
        log = logs[0] if len(logs) == 1 else None  # those of several servers have no common value
        reported += [metric for metric in list_log_metrics(log) if metric.name not in names] if log else []
        measured = Measured(
            run=record.run,
            workload=record.workload,
            accelerator=record.accelerator,
            result=record.result,
            reported=reported,
            steps=read_step_times(folder.reported),
            phases=phases,
            samples=record.samples,
            card_samples=record.card_samples,
            events=record.events,
            attempts=record.attempts,
            chip=chips.choose_name(
                described.system.accelerator_model_name if described else "", record.run.spec.flavor
            ),
            chips=chips,
            log=log,
            progress=read_progress(folder.log(0)),
        )
        derived, failed = derive_metrics(measured)
        secrets = self._secret_values(record.run)
        safe = [metric for metric in derived if not _holds_secret(metric, secrets)]
        if len(safe) < len(derived):
            count = len(derived) - len(safe)
            refused.append(
                Message("{count} metrics have a secret in their name or unit, and are not stored", count=count)
            )
        metrics, problems = bound_metrics(safe, [*refused, *failed])
        for problem in problems:
            self._note_warning(record.run, mask_secrets(problem, secrets))
        return tuple(metrics)

    def _read_chips(self, run: Run) -> Chips:
        """The catalogue; without the lab's own file if that is wrong, which is no reason to lose a result."""
        try:
            return read_chips(self.settings.chips_path)
        except AisbenchError as error:
            self._note_warning(run, error.message)
            return read_chips()

    def _diagnose_run(self, run: Run, folder: RunFolder) -> None:
        """A run ends without ascend-fd, too, if that fails."""
        try:
            self.diagnose(folder)
        except AisbenchError as error:
            self._note_warning(run, mask_secrets(error.message, self._secret_values(run)))

    def _note_warning(self, run: Run, message: Message) -> None:
        self.ledger.note(Event(run.run_id, self.clock(), "follower", Level.WARNING, message))

    def _note_target(self, run: Run, folder: RunFolder, target: float | None, attempts: int) -> None:
        """Store once when the run reached its target: a restarted or resumed one did not do all of it in this time."""
        if target is None or attempts > 1 or run.spec.resume_from:
            return
        message = target_message(read_progress(folder.log(0)), target)
        if message and not any(seconds_in(event) is not None for event in self.ledger.events(run.run_id)):
            self.ledger.note(Event(run.run_id, self.clock(), "follower", Level.INFO, message))

    def _fetch_summaries(self, cloud: Cloud, run: Run, folder: RunFolder, warnings: list[Message]) -> None:
        most = self.settings.summaries_most_bytes
        left = fetch_summaries(cloud, run, folder, most, self._secret_values(run)).left
        if left:
            limit = Message("summaries_most_mb is {most}", most=self.settings.summaries_most_mb)
            warnings.append(Message("{size} of event files ({limit})", size=format_size(left), limit=limit))

    def _collect_result(self, cloud: Cloud, run: Run, folder: RunFolder, end: datetime) -> CollectedResult | None:
        info = TrainResultInfo(
            prepare_start_time=run.created_at,
            prepare_end_time=run.submitted_at,
            proc_start_time=run.started_at,
            proc_end_time=run.ended_at,
            total_start_time=run.created_at,
            total_end_time=end,
        )
        result, files = collect_result(cloud.objects, run_paths.output_path(run, cloud.profile), run.spec, info)
        secrets = self._secret_values(run)  # problems quote what a job wrote
        result = replace(result, problems=tuple(mask_secrets(problem, secrets) for problem in result.problems))
        if not result.rank_results and result.info.accuracy is None and run.final_state is not RunState.COMPLETED:
            return None
        write_whole(folder.result_files, files.dump(lambda text: mask_secrets(text, secrets)))
        return result

    def _secret_values(self, run: Run) -> list[str]:
        return self.secrets.available_values(run.profile, run.spec.secrets)

    def _show_progress(self, run: Run, done: int) -> None:
        self.ledger.set_progress(Progress(run.run_id, run.state, done, PARTS, "parts", self.clock()))


def _first_end(record: bytes | None) -> datetime | None:
    """When the run was first collected: collecting again days later must not lengthen its total time."""
    if record is None:
        return None
    try:
        outline = parse_outline(record)
    except ValidationError:  # a damaged record is a reason to collect again, not an obstacle
        return None
    return outline.result.info.total_end_time if outline.result else None


def _get_status(training: TrainingService, run: Run) -> JobStatus:
    """The job's status; if the cloud has deleted the job, the status that the run implies."""
    try:
        return training.detail(run.job_id)
    except CloudNotFound:
        nodes = run.spec.node_count
        tasks = tuple(f"worker-{node}" for node in range(nodes))
        return JobStatus(run.job_id, run.job_name, run.phase, started_at=run.started_at, tasks=tasks, node_count=nodes)


def _unless_refused(
    refusals: list[Message], request: Callable[[], T], refused: tuple[type[CloudError], ...]
) -> T | None:
    """What a request returns; None if it was refused, with the reason added to `refusals`."""
    try:
        return request()
    except refused as error:
        if isinstance(error, AuthFailed) and not isinstance(error, AccessDenied):
            raise
        refusals.append(error.sentence)
        return None


def _fetch_reported(
    cloud: Cloud, run: Run, folder: RunFolder, warnings: list[Message], secrets: Collection[str]
) -> None:
    output_path = run_paths.output_path(run, cloud.profile)
    left = fetch_reported(
        cloud.objects, output_path, run.spec.node_count, folder.reported, lambda text: mask_secrets(text, secrets)
    )
    if left:
        warnings.append(Message("{number} files of ranks with metrics, phases or steps: too large", number=left))


def _fetch_passports(cloud: Cloud, run: Run, folder: RunFolder, secrets: Collection[str]) -> None:
    output_path, nodes = run_paths.output_path(run, cloud.profile), run.spec.node_count
    fetch_passports(cloud.objects, output_path, nodes, folder.passport, lambda text: mask_secrets(text, secrets))


def _holds_secret(metric: RunMetric, secrets: Collection[str]) -> bool:
    """Also where the file that it was read from was masked."""
    return any(MASK in mask_secrets(text, secrets) for text in (metric.name, metric.unit))


def _card_samples(cloud: Cloud, run: Run) -> list[CardSample]:
    return fetch_card_samples(cloud.objects, run_paths.output_path(run, cloud.profile), run.spec.node_count)


def _end_run(run: Run, result: CollectedResult | None, refusals: list[Message], now: datetime) -> Run:
    problems = [*refusals, *(result.problems if result else ())]
    run = replace(run, ended_at=run.ended_at or now, attempts=0)
    if run.final_state is RunState.COMPLETED and problems:
        count = len(problems) - PROBLEMS_SHOWN
        more = [Message("and {count} more", count=count)] if count > 0 else []
        shown = join_parts("; ", [*problems[:PROBLEMS_SHOWN], *more])
        return run.to(RunState.FAILED, detail=Message("the job completed, but {problems}", problems=shown))
    return run.to(run.final_state or RunState.FAILED)
