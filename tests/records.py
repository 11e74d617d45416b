"""Builders of run records for tests: a plausible finished run by default, anything else by keyword."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from aisbench_core.model import (
    Better,
    CardSample,
    CollectedResult,
    Event,
    Imported,
    JobTask,
    Level,
    MetricSample,
    Mode,
    RankResult,
    Run,
    RunAttempt,
    RunMetric,
    RunRecord,
    RunSpec,
    RunState,
    Scalar,
    TrainResultInfo,
    WorkloadFacts,
)

T0 = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
"""When the runs of tests begin."""

FACTS = WorkloadFacts(
    title="ResNet-50 on ImageNet",
    model="resnet50_v1.5",
    framework="mindspore",
    throughput_definition="build_then_all_int_s",
    throughput_unit="samples/s",
    dataset="imagenet2012",
    accuracy_target=0.759,
    accuracy_target_source="the workload's manual",
    speed_parameters={"epoch_size": 90, "batch_size": 256},
)

CARD_THROUGHPUT = 1000.0


def spec(**changes: object) -> RunSpec:
    """One node with 8 cards, unless told otherwise."""
    usual: dict[str, object] = {
        "workload": "mindspore_resnet",
        "framework_version": "r1.10",
        "parameters": {"epoch_size": 90, "batch_size": 256},
        "flavor": "modelarts.kat1.8xlarge",
        "engine_name": "Ascend-Powered-Engine",
        "engine_version": "mindspore_1.10.0-cann_6.0.1-py_3.7-euler_2.8.3-aarch64",
        "node_count": 1,
        "cards_per_node": 8,
    }
    return RunSpec.model_validate(usual | changes)


def run(run_id: str = "run-1", run_spec: RunSpec | None = None, **changes: object) -> Run:
    """A run that completed: 10 s in the queue, 600 s of work."""
    start = changes.pop("created_at", T0)
    if not isinstance(start, datetime):
        raise TypeError("created_at is a datetime")
    usual = Run(
        run_id=run_id,
        spec=run_spec or spec(),
        profile="beijing",
        state=RunState.COMPLETED,
        created_at=start,
        created_by="ann",
        updated_at=start + timedelta(seconds=700),
        next_step_at=start,
        job_name=f"bench-{run_id}",
        job_id=f"job-{run_id}",
        phase="Completed",
        code_sha256="c0de" * 16,
        submitted_at=start + timedelta(seconds=30),
        started_at=start + timedelta(seconds=40),
        ended_at=start + timedelta(seconds=640),
        duration_s=600.0,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # a test names the fields it means


def cards(run_spec: RunSpec, throughputs: Sequence[float] = ()) -> tuple[RankResult, ...]:
    """One result per card; without `throughputs` each card does CARD_THROUGHPUT."""
    values = throughputs or [CARD_THROUGHPUT] * run_spec.card_count
    if run_spec.mode is Mode.CLUSTER:
        return tuple(RankResult(0, rank, value) for rank, value in enumerate(values))
    per_server = run_spec.cards_per_node
    return tuple(RankResult(index // per_server, index % per_server, value) for index, value in enumerate(values))


def result(run_spec: RunSpec, throughputs: Sequence[float] = (), **changes: object) -> CollectedResult:
    """A whole result with an accuracy of 0.76 and nothing about power."""
    found = cards(run_spec, throughputs)
    total = sum(card.throughput for card in found) / (run_spec.node_count if run_spec.mode is not Mode.CLUSTER else 1)
    usual = CollectedResult(
        ranks_expected=run_spec.card_count,
        rank_results=found,
        info=TrainResultInfo(accuracy=0.76, throughput_ratio=total),
        raw=f'{{"accuracy": "0.76", "throughput_ratio": "{total}"}}',
    )
    return replace(usual, **changes)  # type: ignore[arg-type]  # a test names the fields it means


def record(
    run_id: str = "run-1",
    *,
    throughputs: Sequence[float] = (),
    accuracy: float | None = 0.76,
    state: RunState = RunState.COMPLETED,
    created_at: datetime = T0,
    created_by: str = "ann",
    region: str = "cn-north-9",
    rehearsal: bool = False,
    synthetic_data: bool = False,
    facts: WorkloadFacts = FACTS,
    speed_parameters: Mapping[str, Scalar] | None = None,
    samples: tuple[MetricSample, ...] = (),
    events: tuple[Event, ...] = (),
    with_result: bool = True,
    **asked: object,
) -> RunRecord:
    """A run's record. `throughputs` are the cards'; keywords that are not named here go into the spec."""
    run_spec = spec(**asked)
    found = result(run_spec, throughputs, synthetic_data=synthetic_data)
    return RunRecord(
        run=run(run_id, run_spec, state=state, created_at=created_at, created_by=created_by),
        workload=facts if speed_parameters is None else replace(facts, speed_parameters=speed_parameters),
        region=region,
        rehearsal=rehearsal,
        accelerator="Ascend",
        result=replace(found, info=replace(found.info, accuracy=accuracy)) if with_result else None,
        samples=samples,
        events=events,
    )


def imported(
    run_id: str = "imported-1",
    *,
    reported: float = 14_151.18,
    stated: tuple[str, ...] = ("framework_version", "mode", "node_count", "cards_per_node"),
    cards_heard: bool = False,
    **asked: object,
) -> RunRecord:
    """The record of an imported result: a reported throughput, no parameters, and no single cards unless asked for."""
    known = record(run_id, region="imported", **{"parameters": {}, "flavor": "", **asked})  # type: ignore[arg-type]
    if known.result is None:
        raise TypeError("an imported record has a result")
    info = replace(known.result.info, throughput_ratio=reported)
    ranks = known.result.rank_results if cards_heard else ()
    return replace(
        known,
        workload=replace(known.workload, speed_parameters=None),
        accelerator="",
        result=replace(known.result, info=info, rank_results=ranks),
        imported=Imported("logs/run1.log (1)", T0 + timedelta(days=1), stated, "not measured there: max_power"),
    )


def all_known(imported: RunRecord) -> RunRecord:
    """The imported record with its parameters and the hash of its data, without which it is compared with nothing."""
    if imported.imported is None or imported.result is None:
        raise TypeError("an imported record has a result")
    stated = replace(imported.imported, stated=(*imported.imported.stated, "parameters"))
    return replace(imported, imported=stated, result=replace(imported.result, dataset_sha256="d" * 64))


def records(totals: Sequence[float], prefix: str = "run", **changes: object) -> list[RunRecord]:
    """One record per total throughput, spread evenly over the cards, a minute apart."""
    count = spec(**{key: changes[key] for key in ("node_count", "cards_per_node") if key in changes}).card_count
    return [
        record(
            f"{prefix}-{index}",
            throughputs=[total / count] * count,
            created_at=T0 + timedelta(minutes=index),
            **changes,  # type: ignore[arg-type]  # the keywords of record()
        )
        for index, total in enumerate(totals)
    ]


def every_sort() -> list[RunRecord]:
    """Records for every view but that of series."""
    return [
        *records([8000, 8100, 8200, 8300, 8400], "one"),
        *records([15000, 15100], "two", node_count=2),
        *records([100], "rehearsed", rehearsal=True, region="lab"),
        *records([300, 500], "both", rehearsal=True),
        record("slow", throughputs=[1000.0] * 7 + [500.0], framework_version="r1.11"),
        record("broken", with_result=False, flavor="other"),
        record("single", mode=Mode.SINGLE_SERVER, node_count=2),
        imported(),
        replace(
            record(
                "told",
                samples=(MetricSample(T0, 0, "npuUtil", 93.5),),
                events=(Event("told", T0, "console", Level.INFO, "launched", "ann"),),
            ),
            card_samples=(CardSample(T0, 0, 3, "power", 93.6),),
            metrics=(RunMetric("tokens_per_joule", 3.25, "tokens/J", Better.HIGHER),),
            attempts=(RunAttempt(1, T0, last_words=("step 7",), tasks=(JobTask("worker-0", "10.0.0.1", "node-a"),)),),
        ),
    ]
