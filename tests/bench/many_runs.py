"""Many plausible runs, always the same ones: what a busy lab would have after some years.

1,920 groups (12 models, 5 framework versions, 4 flavors, 4 shapes of 8 cards, 2 batch sizes), a run each minute, each
with its spec, the block as the training tool writes it, and 8 cards. 2 in 100 failed without a result, 1 in 100 has an
accuracy of 0, 2 in 100 a slow card. Samples and events are not among them: they grow with a run's length.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from aisbench_core.domain.results.train_result_info import render_block
from aisbench_core.model import (
    CollectedResult,
    RankResult,
    Run,
    RunRecord,
    RunSpec,
    RunState,
    TrainResultInfo,
    WorkloadFacts,
)
from tests import records as a

REGION = "cn-north-9"
CARDS = 8
MODELS = 12
VERSIONS = ("r1.8", "r1.9", "r1.10", "r2.0", "r2.1")
FLAVORS = ("kat1.8xlarge", "kat2.8xlarge", "p6.8xlarge", "snt9b.8xlarge")
NODES = (1, 2, 4, 8)
BATCHES = (32, 256)
PEOPLE = ("ann", "bob", "chen", "dora", "li", "wang")
LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
GROUPS = MODELS * len(VERSIONS) * len(FLAVORS) * len(NODES) * len(BATCHES)


def many_runs(count: int, first: int = 0) -> Iterator[RunRecord]:
    """So many records, from the `first` on."""
    groups = [_group(number) for number in range(GROUPS)]
    for number in range(first, first + count):
        luck = random.Random(number)
        spec, facts = groups[luck.randrange(GROUPS)]
        yield _record(number, luck, spec, facts)


def _group(number: int) -> tuple[RunSpec, WorkloadFacts]:
    number, model = divmod(number, MODELS)
    number, version = divmod(number, len(VERSIONS))
    number, flavor = divmod(number, len(FLAVORS))
    batch, nodes = divmod(number, len(NODES))
    workload = f"mindspore_model{model}"
    parameters = {"epoch_size": 90, "batch_size": BATCHES[batch], "learning_rate": 0.1, "loss_scale": 1024}
    spec = a.spec(
        workload=workload,
        framework_version=VERSIONS[version],
        flavor=f"modelarts.{FLAVORS[flavor]}",
        node_count=NODES[nodes],
        cards_per_node=CARDS // NODES[nodes],
        parameters=parameters,
        inputs=({"name": "data_url", "path": f"/bench-data/{workload}/train/"},),
        outputs=({"name": "train_url", "path": ""},),
        environments={"HCCL_CONNECT_TIMEOUT": "600"},
    )
    facts = WorkloadFacts(
        title=f"Model {model} on data set {model}",
        model=f"model{model}_v1.5",
        framework="mindspore",
        throughput_definition="build_then_all_int_s",
        throughput_unit="samples/s",
        dataset=f"dataset{model}",
        accuracy_target=0.759,
        accuracy_target_source="the workload's manual",
        speed_parameters=parameters,
    )
    return spec, facts


def _record(number: int, luck: random.Random, spec: RunSpec, facts: WorkloadFacts) -> RunRecord:
    at = a.T0 + timedelta(minutes=number)
    failed = luck.random() < 0.02
    return RunRecord(
        run=_run(number, luck, spec, at, RunState.FAILED if failed else RunState.COMPLETED),
        workload=facts,
        region=REGION,
        rehearsal=False,
        accelerator="Ascend",
        result=None if failed else _result(luck, at),
    )


def _run(number: int, luck: random.Random, spec: RunSpec, at: datetime, state: RunState) -> Run:
    run_id = f"r{at:%Y%m%d-%H%M%S}-{number:06x}"
    queued, lasted = luck.uniform(5, 500), luck.uniform(600, 6000)
    return Run(
        run_id=run_id,
        spec=spec,
        profile="beijing",
        state=state,
        created_at=at,
        created_by=luck.choice(PEOPLE),
        updated_at=at,
        next_step_at=at,
        job_name=f"{spec.workload}-{run_id}",
        job_id=f"{luck.getrandbits(128):032x}",
        phase="Completed",
        detail="the job failed: exit code 1" if state is RunState.FAILED else "",
        code_sha256="c0de" * 16,
        submitted_at=at + timedelta(seconds=20),
        started_at=at + timedelta(seconds=20 + int(queued)),
        ended_at=at + timedelta(seconds=20 + int(queued + lasted)),
        duration_s=round(lasted, 3),
    )


def _result(luck: random.Random, at: datetime) -> CollectedResult:
    speed = 500 + luck.randrange(4) * 100
    cards = [luck.gauss(speed, speed / 100) for _ in range(CARDS)]
    if luck.random() < 0.02:
        cards[3] *= 0.9
    total = sum(cards)
    info = TrainResultInfo(
        accuracy=0.0 if luck.random() < 0.01 else round(luck.gauss(0.77, 0.004), 4),
        throughput_ratio=total,
        average_power=round(luck.gauss(2400, 50), 1),
        max_power=round(luck.gauss(2900, 50), 1),
        prepare_start_time=at + timedelta(seconds=600),
        prepare_end_time=at + timedelta(seconds=630),
        proc_start_time=at + timedelta(seconds=630),
        proc_end_time=at + timedelta(seconds=1200),
        total_start_time=at + timedelta(seconds=600),
        total_end_time=at + timedelta(seconds=1201),
    )
    ranks = tuple(RankResult(0, rank, value) for rank, value in enumerate(cards))
    return CollectedResult(CARDS, ranks, info, render_block(info), dataset_sha256="da7a" * 16)
